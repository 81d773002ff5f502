//! A future that wakes itself is polled again at once, and what nobody waits for is done behind it.
//!
//! hyper reads a body only once somebody asks for it, and who asks is the answer that the same task
//! works on: with each piece of a body the task wakes itself while it runs. A scheduler takes that for
//! a task that makes way. It puts the task at the end of its queue and wakes another thread for it,
//! which costs a request two changes of threads before its policy has begun. A task of its own for a few microseconds of work costs
//! as much, and moves the connection's next request to another thread.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Bodies up to this are judged by the thread that read them: other requests of that thread wait for
/// some ten milliseconds at most, and mostly for less than one, since an agent's request holds little
/// that is new. On the way to another core, whose caches hold nothing of the body, more is lost.
pub const INLINE_BODY: usize = 1024 * 1024;

/// Polls in a row, at most. A future that is never done with itself makes way after them.
const POLLS: usize = 8;

/// Nobody polls: a wake goes to the task.
const AT_REST: u8 = 0;
/// It is polled.
const POLLED: u8 = 1;
/// It is polled, and was woken meanwhile.
const WOKEN: u8 = 2;

/// A future whose wakes during a poll are answered by another poll of the same thread.
pub(crate) struct InPlace<F> {
    future: F,
    wakes: Arc<Wakes>,
    waker: Waker,
}

type Work = Box<dyn FnOnce()>;

thread_local! {
    /// What is to be done behind the poll that this thread is in; `None` where it is in none.
    static BEHIND: RefCell<Option<Vec<Work>>> = const { RefCell::new(None) };
}

/// Does some work when the `InPlace` that this thread polls has no more to do: what it wrote has left by then. At once where
/// it polls none.
pub fn behind(work: impl FnOnce() + 'static) {
    let mut work = Some(work);
    BEHIND.with_borrow_mut(|behind| {
        if let Some(behind) = behind {
            behind.extend(work.take().map(|work| Box::new(work) as Work));
        }
    });
    if let Some(work) = work {
        work();
    }
}

struct Wakes {
    state: AtomicU8,
    task: AtomicWaker,
}

impl<F> InPlace<F> {
    pub(crate) fn new(future: F) -> Self {
        let wakes = Arc::new(Wakes { state: AtomicU8::new(AT_REST), task: AtomicWaker::new() });
        let waker = Waker::from(Arc::clone(&wakes));
        InPlace { future, wakes, waker }
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let polled = self.state.compare_exchange(POLLED, WOKEN, SeqCst, SeqCst);
        if polled == Err(AT_REST) {
            self.task.wake();
        }
    }
}

impl<F: Future + Unpin> Future for InPlace<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let InPlace { future, wakes, waker } = &mut *self;
        // Before the first poll: whatever wakes it after one reaches the task of now.
        wakes.task.register(context.waker());
        // What is behind a poll is done when that is over, even by a panic; what is behind a poll around it is kept.
        let _polling = scopeguard::guard(BEHIND.replace(Some(Vec::new())), |around| {
            BEHIND.replace(around).into_iter().flatten().for_each(|work| work());
        });
        for _ in 0..POLLS {
            wakes.state.store(POLLED, SeqCst);
            let polled = Pin::new(&mut *future).poll(&mut Context::from_waker(waker));
            let woken = wakes.state.swap(AT_REST, SeqCst) == WOKEN;
            if polled.is_ready() || !woken {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    /// Polls once; returns what came of it, and how often the task was woken.
    fn poll<F: Future + Unpin>(future: &mut InPlace<F>) -> (Poll<F::Output>, Arc<Counted>) {
        let task = Arc::new(Counted::default());
        let polled = Pin::new(future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(&task))));
        (polled, task)
    }

    #[test]
    fn a_future_that_wakes_itself_is_done_in_one_poll_of_its_task() {
        let mut left = POLLS - 1;
        let mut future = InPlace::new(poll_fn(|context| {
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }));
        let (polled, task) = poll(&mut future);
        assert_eq!((polled, task.0.load(SeqCst)), (Poll::Ready(()), 0));
    }

    #[test]
    fn a_future_that_is_never_done_with_itself_makes_way() {
        let mut polls = 0;
        let mut future = InPlace::new(poll_fn(|context| {
            polls += 1;
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        let (polled, task) = poll(&mut future);
        assert_eq!((polled, task.0.load(SeqCst)), (Poll::Pending, 1));
        drop(future);
        assert_eq!(polls, POLLS);
    }

    #[test]
    fn what_is_behind_a_poll_is_done_when_it_has_no_more_to_do_and_elsewhere_at_once() {
        let done = Arc::new(Counted::default());
        let work = || {
            let done = Arc::clone(&done);
            behind(move || done.wake());
        };
        let mut polls = 0;
        let mut future = InPlace::new(poll_fn(|context| {
            polls += 1;
            work();
            assert_eq!(done.0.load(SeqCst), 0);
            if polls < 2 {
                context.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        }));
        let (polled, _) = poll(&mut future);
        drop(future);
        assert_eq!((polled, polls, done.0.load(SeqCst)), (Poll::Pending, 2, 2));
        work();
        assert_eq!(done.0.load(SeqCst), 3);
    }

    #[test]
    fn what_is_behind_a_poll_outlasts_a_poll_within_it() {
        let done = Arc::new(Counted::default());
        let mut outer = InPlace::new(poll_fn(|_| {
            let done = Arc::clone(&done);
            behind(move || done.wake());
            poll(&mut InPlace::new(std::future::ready(()))).0
        }));
        let (polled, _) = poll(&mut outer);
        drop(outer);
        assert_eq!((polled, done.0.load(SeqCst)), (Poll::Ready(()), 1));
    }

    #[test]
    fn a_wake_from_elsewhere_reaches_the_task_that_polled_last() {
        let mut kept = None;
        let mut future = InPlace::new(poll_fn(|context| {
            kept = Some(context.waker().clone());
            Poll::<()>::Pending
        }));
        let (_, before) = poll(&mut future);
        let (polled, task) = poll(&mut future);
        drop(future);
        assert_eq!((polled, task.0.load(SeqCst)), (Poll::Pending, 0));
        kept.expect("it was polled").wake();
        assert_eq!((before.0.load(SeqCst), task.0.load(SeqCst)), (0, 1));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_is_lost_between_threads() {
        for _ in 0..2_000 {
            let (send, receive) = tokio::sync::oneshot::channel();
            let sender = tokio::spawn(async move { send.send(()) });
            InPlace::new(receive).await.unwrap();
            sender.await.unwrap().unwrap();
        }
    }
}

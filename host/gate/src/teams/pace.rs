//! The pace of runs: how many pieces of their work may stand before a request of anybody else.
//!
//! Whatever wakes a hundred runs at once (answers of a model, clients that come back) makes a hundred
//! pieces of work ready. As tasks of the runtime each of them would be done before the next hop of
//! a plain request. So a run that was woken waits for a turn, goes on by one piece, and keeps its turn until all
//! that is ready beside it has passed. A hop of a plain request waits behind one piece a turn, however many
//! runs there are.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, yield_now};

/// The turns of a gate's runs.
pub(crate) struct RunPace(Arc<Semaphore>);

impl RunPace {
    /// `width` is how many runs may be polled at a time.
    pub(crate) fn new(width: usize) -> Self {
        RunPace(Arc::new(Semaphore::new(width.max(1))))
    }

    /// Does work piece by piece, among that of all others; `None` where it panicked. Dropping the
    /// future gives the work up.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        work: impl Future<Output = R> + Send + 'static,
    ) -> Option<R> {
        let mut run = JoinSet::new();
        run.spawn(by_turns(work, Arc::clone(&self.0)));
        run.join_next().await?.ok()
    }
}

/// Whether a run was woken since it went on last.
struct RunWakes {
    is_woken: AtomicBool,
    task: AtomicWaker,
}

impl Wake for RunWakes {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, SeqCst);
        self.task.wake();
    }
}

async fn by_turns<R>(work: impl Future<Output = R>, turns: Arc<Semaphore>) -> R {
    let mut work = pin!(work);
    let wakes = Arc::new(RunWakes { is_woken: AtomicBool::new(true), task: AtomicWaker::new() });
    let waker = Waker::from(Arc::clone(&wakes));
    loop {
        poll_fn(|context| {
            wakes.task.register(context.waker());
            if !wakes.is_woken.swap(false, SeqCst) {
                return Poll::Pending;
            }
            // A wake is only noted from now on: it would end the wait for all others below.
            wakes.task.take();
            Poll::Ready(())
        })
        .await;
        let _turn = turns.acquire().await.expect("the semaphore is never closed");
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::oneshot;

    use super::*;

    /// However many runs are ready, a hop of anything else waits behind one piece a turn.
    // S4-26
    #[tokio::test]
    async fn a_hop_waits_behind_one_piece_a_turn() {
        for width in [1, 2, 3] {
            let pace = Arc::new(RunPace::new(width));
            let pieces = Arc::new(AtomicUsize::new(0));
            let runs: Vec<_> = (0..100)
                .map(|_| {
                    let (pace, pieces) = (Arc::clone(&pace), Arc::clone(&pieces));
                    tokio::spawn(async move {
                        let work = async move {
                            for _ in 0..20 {
                                pieces.fetch_add(1, SeqCst);
                                again().await;
                            }
                        };
                        pace.run(work).await
                    })
                })
                .collect();
            // All of them are ready once they have been spawned.
            yield_now().await;
            let mut most = 0;
            while runs.iter().any(|run| !run.is_finished()) {
                let before = pieces.load(SeqCst);
                yield_now().await;
                most = most.max(pieces.load(SeqCst) - before);
            }
            assert_eq!((most, pieces.load(SeqCst)), (width, 2000));
            for run in runs {
                assert_eq!(run.await.unwrap(), Some(()));
            }
        }
    }

    /// Is ready again at once, as what ten answers wake is.
    async fn again() {
        let mut is_again = false;
        poll_fn(|context| {
            if std::mem::replace(&mut is_again, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_dropped() {
        let pace = Arc::new(RunPace::new(1));
        let (held, dropped) = oneshot::channel::<()>();
        let (begins, begun) = oneshot::channel();
        let work = async move {
            begins.send(()).unwrap();
            std::future::pending::<()>().await;
            drop(held);
        };
        let of = Arc::clone(&pace);
        let waits = tokio::spawn(async move { of.run(work).await });
        begun.await.unwrap();
        waits.abort();
        assert!(dropped.await.is_err());
    }

    #[tokio::test]
    async fn one_that_panics_is_its_own() {
        let pace = RunPace::new(1);
        let (said, hears) = oneshot::channel();
        let second = async move { hears.await.unwrap_or(0) };
        let panics = async move {
            drop(said);
            assert!(std::hint::black_box(false), "a run panics");
        };
        assert_eq!(tokio::join!(pace.run(panics), pace.run(second)), (None, Some(0)));
    }
}

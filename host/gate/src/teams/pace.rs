//! The pace of runs: how many pieces of their work may stand before a request of anybody else.
//!
//! Whatever wakes a hundred runs at once (answers of a model, clients that come back) makes a hundred
//! pieces of work ready. As tasks of the runtime each of them would be queued before the next hop of
//! a plain request. So runs are no tasks: a few lines are, and each polls one run, lets all others
//! pass, and polls the next. A hop of a plain request waits behind one piece a line, however many
//! runs there are.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::yield_now;

/// The lines of a gate. They end with it.
pub(crate) struct RunPace {
    /// How many runs may be polled at a time.
    width: usize,
    /// Begun with the first run: most gates have none.
    lines: OnceLock<Vec<UnboundedSender<Arc<Paced>>>>,
    next: AtomicUsize,
}

/// A run's future, and where it queues when something wakes it.
struct Paced {
    work: Mutex<Option<Work>>,
    line: UnboundedSender<Arc<Paced>>,
    is_queued: AtomicBool,
    /// Nobody waits for it any more.
    is_given_up: AtomicBool,
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A run whose result somebody waits for. It is given up when this is dropped.
struct Waited(Arc<Paced>);

impl RunPace {
    pub(crate) fn new(width: usize) -> Self {
        RunPace { width: width.max(1), lines: OnceLock::new(), next: AtomicUsize::new(0) }
    }

    /// Does work piece by piece, among that of all others; `None` where it panicked. Dropping the
    /// future gives the work up.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        work: impl Future<Output = R> + Send + 'static,
    ) -> Option<R> {
        let (done, result) = oneshot::channel();
        let work = async move {
            // Who gave it up hears nothing.
            let _ = done.send(work.await);
        };
        let paced = Arc::new(Paced {
            work: Mutex::new(Some(Box::pin(work))),
            line: self.line(),
            is_queued: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
        });
        Arc::clone(&paced).wake();
        let _waited = Waited(paced);
        result.await.ok()
    }

    fn line(&self) -> UnboundedSender<Arc<Paced>> {
        let lines = self.lines.get_or_init(|| {
            let line = || {
                let (line, queue) = unbounded_channel();
                tokio::spawn(go_on(queue));
                line
            };
            (0..self.width).map(|_| line()).collect()
        });
        lines[self.next.fetch_add(1, Relaxed) % lines.len()].clone()
    }
}

/// One line: a piece of one run, then whatever else is ready, then a piece of the next.
async fn go_on(mut queue: UnboundedReceiver<Arc<Paced>>) {
    while let Some(paced) = queue.recv().await {
        paced.poll();
        drop(paced);
        yield_now().await;
    }
}

impl Paced {
    fn poll(self: &Arc<Self>) {
        // What wakes it from now on queues it anew.
        self.is_queued.store(false, Release);
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(future) = work.as_mut().filter(|_| !self.is_given_up.load(Acquire)) else {
            *work = None;
            return;
        };
        let waker = Waker::from(Arc::clone(self));
        let mut context = Context::from_waker(&waker);
        // A run that panics is its own: its client hears of it, and the line goes on. What it leaves
        // behind is dropped and never looked at.
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
        if !matches!(polled, Ok(Poll::Pending)) {
            *work = None;
        }
    }
}

impl Wake for Paced {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, AcqRel) {
            let line = self.line.clone();
            if let Err(SendError(lost)) = line.send(self)
                && let Ok(mut work) = lost.work.try_lock()
            {
                // The runtime is gone, and nobody will go on with it.
                *work = None;
            }
        }
    }
}

impl Drop for Waited {
    fn drop(&mut self) {
        self.0.is_given_up.store(true, Release);
        Arc::clone(&self.0).wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;

    /// However many runs are ready, a hop of anything else waits behind one piece a line.
    // S4-26
    #[tokio::test]
    async fn a_hop_waits_behind_one_piece_a_line() {
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
        std::future::poll_fn(|context| {
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

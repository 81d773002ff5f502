//! Work that takes its time: on the blocking pool, or on the thread that has it as long as that is
//! quick, and as much at a time as may be.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use leafgate_contract::making_way;
use leafgate_tokenize::Counter;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

use super::Shared;
use crate::lock::lock;
use leafgate_http::Refusal;

/// So long after work was slow, work goes to the blocking pool without being tried.
const SLOW: Duration = Duration::from_secs(1);

impl Shared {
    /// Does work where it keeps nobody waiting: here, on this worker where plugins have a part in it, or elsewhere where it is large.
    pub(crate) async fn work<R: Send + 'static>(
        &self,
        is_large: bool,
        has_plugins: bool,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        match (is_large, has_plugins) {
            (true, _) => self.on_blocking_pool(work).await,
            (false, true) => self.on_worker(work).await,
            (false, false) => Ok(work()),
        }
    }

    /// Does work that is mostly quick, and where it is not makes way for others by itself
    /// ([`leafgate_contract::aside`]): on this worker, which another thread takes over then.
    /// To wake one for each request costs as much as the work.
    async fn on_worker<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        // Only there is another thread to take over.
        let has_others = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
        let was_slow = lock(&self.last_slow).is_some_and(|last| last.elapsed() < SLOW);
        let turn = match has_others && !was_slow {
            true => Arc::clone(&self.judges).try_acquire_owned().ok(),
            false => None,
        };
        let Some(_turn) = turn else { return self.on_blocking_pool(work).await };
        let done =
            catch_unwind(AssertUnwindSafe(|| making_way(|wait| tokio::task::block_in_place(wait), work)));
        let (result, made_way) = done.map_err(|_| failed())?;
        if made_way {
            *lock(&self.last_slow) = Some(Instant::now());
        }
        Ok(result)
    }

    /// Does work on the blocking pool, as much at a time as the limits say.
    pub(crate) async fn on_blocking_pool<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        in_turn(&self.judges, work).await
    }

    /// Counts tokens on the blocking pool: however long it takes, no request waits for it.
    pub(crate) async fn counted<R: Send + 'static>(
        &self,
        count: impl FnOnce(&Counter) -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        let counter = Arc::clone(&self.counter);
        in_turn(&self.counts, move || count(&counter)).await
    }
}

/// Does work on the blocking pool when its turn has come.
async fn in_turn<R: Send + 'static>(
    turns: &Arc<Semaphore>,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Refusal> {
    let turn = Arc::clone(turns).acquire_owned().await.expect("the semaphore is never closed");
    let done = tokio::task::spawn_blocking(move || {
        let result = work();
        drop(turn);
        result
    });
    done.await.map_err(|_| failed())
}

/// What panicked says so by itself.
fn failed() -> Refusal {
    Refusal::internal("the gate failed at this request, so it did not leave")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use leafgate_contract::{NoPlugins, aside, is_needed};
    use leafgate_policy::{Policy, PolicySource};
    use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};

    use super::*;
    use crate::{GateConfig, UpstreamTarget};

    fn gate(judges: usize) -> Arc<Shared> {
        let keys = TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("test"));
        let policy = Arc::new(Policy::load(&PolicySource::None, &NoPlugins).unwrap());
        let mut config = GateConfig::new(UpstreamTarget::Echo);
        config.limits.judges = judges;
        Arc::new(Shared::new(config, keys, policy).unwrap())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_that_is_slow_makes_way_for_the_other_tasks_of_its_worker() {
        let gate = gate(1);
        let (release, released) = mpsc::channel();
        let (begins, begun) = tokio::sync::oneshot::channel();
        let shared = Arc::clone(&gate);
        let work = move || {
            begins.send(std::thread::current().id()).unwrap();
            let mut got = None;
            aside(&mut || got = released.recv_timeout(Duration::from_secs(60)).ok());
            got
        };
        let slow = tokio::spawn(async move { shared.on_worker(work).await.ok().flatten() });
        // The only worker has the work: this task runs since another thread took over.
        let other = tokio::spawn(async move {
            let worker = begun.await.unwrap();
            release.send(()).unwrap();
            worker
        });
        let worker = other.await.unwrap();
        assert_eq!(slow.await.unwrap(), Some(()), "somebody released it");
        assert!(lock(&gate.last_slow).is_some_and(|last| last.elapsed() < SLOW));
        let shared = Arc::clone(&gate);
        let next = tokio::spawn(async move { shared.on_worker(is_needed).await.ok() }).await.unwrap();
        assert_eq!(next, Some(false), "the next work is done by {worker:?} no more, but on the pool");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn quick_work_is_done_by_the_worker_and_slow_work_is_tried_again() {
        let gate = gate(1);
        let before = Instant::now().checked_sub(SLOW).unwrap();
        for _ in 0..2 {
            let shared = Arc::clone(&gate);
            let task = tokio::spawn(async move {
                let worker = std::thread::current().id();
                shared.on_worker(move || is_needed() && std::thread::current().id() == worker).await.ok()
            });
            assert_eq!(task.await.unwrap(), Some(true));
            *lock(&gate.last_slow) = Some(before);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_that_panics_is_refused_and_leaves_its_turn_to_the_next() {
        let gate = gate(1);
        for _ in 0..2 {
            let done = gate.on_worker(|| -> u8 { panic!("a test of panics") }).await;
            assert_eq!(done.map_err(|refusal| refusal.status), Err(http::StatusCode::INTERNAL_SERVER_ERROR));
        }
        assert!(gate.on_worker(|| ()).await.is_ok());
    }

    #[tokio::test]
    async fn work_is_done_on_the_pool_where_no_thread_could_take_over() {
        let done = gate(1).on_worker(is_needed).await;
        assert!(matches!(done, Ok(false)));
    }

    // S0-84
    #[tokio::test]
    async fn a_count_takes_no_place_from_requests() {
        let gate = gate(1);
        let (release, released) = mpsc::channel::<()>();
        let (begins, begun) = tokio::sync::oneshot::channel();
        let counting = Arc::clone(&gate);
        let count = tokio::spawn(async move {
            counting
                .counted(move |_| {
                    begins.send(()).unwrap();
                    released.recv().unwrap();
                })
                .await
        });
        begun.await.unwrap();
        // One that looks at a turn counts; the only place of a judge is free all the same.
        gate.on_blocking_pool(|| ()).await.unwrap();
        release.send(()).unwrap();
        count.await.unwrap().unwrap();
    }
}

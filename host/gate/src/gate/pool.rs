//! Work on the blocking pool, as much at a time as may be.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use leafgate_tokenize::Counter;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

use super::Shared;
use crate::refusal::Refusal;

impl Shared {
    /// Does work on the blocking pool, as much at a time as the limits say.
    pub(crate) async fn on_blocking_pool<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        in_turn(&self.judges, work).await
    }

    /// Does work in this thread, as much at a time as the limits say, while another thread does what
    /// else this one had to do: what was read last is still in its caches.
    pub(crate) async fn in_place<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        if Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread {
            return self.on_blocking_pool(work).await;
        }
        let _turn = self.judges.acquire().await.expect("the semaphore is never closed");
        let done = tokio::task::block_in_place(|| catch_unwind(AssertUnwindSafe(work)));
        done.map_err(|_| failed())
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

/// What panicked said so by itself.
fn failed() -> Refusal {
    Refusal::internal("the gate failed at this request, so it did not leave")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use leafgate_policy::plugin::NoPlugins;
    use leafgate_policy::{Policy, PolicySource};
    use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};

    use super::*;
    use crate::{Gate, GateConfig, UpstreamTarget};

    /// Returns a gate that judges one body at a time.
    fn gate_of_one() -> Gate {
        let keys = TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("test"));
        let policy = Arc::new(Policy::load(&PolicySource::None, &NoPlugins).unwrap());
        let mut config = GateConfig::new(UpstreamTarget::Echo);
        config.limits.judges = 1;
        Gate::new(config, keys, policy).unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_in_place_keeps_no_other_task_waiting() {
        let gate = gate_of_one();
        let (release, released) = mpsc::channel::<()>();
        let shared = Arc::clone(&gate.0);
        // The only worker of the runtime waits for what another task does.
        let work = tokio::spawn(async move {
            let other = tokio::spawn(async move { release.send(()).unwrap() });
            let done = shared.in_place(move || released.recv().unwrap()).await;
            other.await.unwrap();
            done
        });
        assert!(work.await.unwrap().is_ok());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_panics_in_place_refuses_its_request_alone() {
        let shared = Arc::clone(&gate_of_one().0);
        let work = tokio::spawn(async move {
            let failed = shared.in_place(|| panic!("a bug")).await;
            (failed.is_err(), shared.in_place(|| 1).await.is_ok())
        });
        assert_eq!(work.await.unwrap(), (true, true));
    }

    #[tokio::test]
    async fn a_count_takes_no_place_from_requests() {
        let gate = gate_of_one();
        let (release, released) = mpsc::channel::<()>();
        let (begins, begun) = tokio::sync::oneshot::channel();
        let counting = Arc::clone(&gate.0);
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
        gate.0.on_blocking_pool(|| ()).await.unwrap();
        release.send(()).unwrap();
        count.await.unwrap().unwrap();
    }
}

//! Work on the blocking pool, as much at a time as may be.

use std::sync::Arc;

use leafgate_tokenize::Counter;
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
    // What panicked there says so by itself.
    done.await.map_err(|_| Refusal::internal("the gate failed at this request, so it did not leave"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use leafgate_policy::plugin::NoPlugins;
    use leafgate_policy::{Policy, PolicySource};
    use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};

    use super::*;
    use crate::{Gate, GateConfig, UpstreamTarget};

    #[tokio::test]
    async fn a_count_takes_no_place_from_requests() {
        let keys = TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("test"));
        let policy = Arc::new(Policy::load(&PolicySource::None, &NoPlugins).unwrap());
        let mut config = GateConfig::new(UpstreamTarget::Echo);
        config.limits.judges = 1;
        let gate = Gate::new(config, keys, policy).unwrap();
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

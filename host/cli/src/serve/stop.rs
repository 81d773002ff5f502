//! The end of the process, told to everything that runs in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Set at the first Ctrl-C or SIGTERM.
pub(super) struct Stop {
    told: watch::Receiver<bool>,
    flag: Arc<AtomicBool>,
}

impl Stop {
    /// Begins to listen for signals.
    pub(super) fn on_signals() -> anyhow::Result<Stop> {
        let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
        let (tell, told) = watch::channel(false);
        let flag = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&flag);
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            set.store(true, Relaxed);
            // Nobody may listen any more.
            let _ = tell.send(true);
        });
        Ok(Stop { told, flag })
    }

    /// Ready once it is set.
    pub(super) fn told(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut told = self.told.clone();
        async move {
            // A lost sender means that the runtime ends, which is a reason to stop too.
            let _ = told.wait_for(|stop| *stop).await;
        }
    }

    /// The same for a thread that looks at it now and then.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

//! The stop of the process, signalled to everything that runs in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Set at the first Ctrl-C or SIGTERM.
pub(super) struct Stop {
    requested: watch::Receiver<bool>,
    flag: Arc<AtomicBool>,
}

impl Stop {
    /// Starts to listen for signals.
    pub(super) fn on_signals() -> anyhow::Result<Stop> {
        let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
        let (sender, requested) = watch::channel(false);
        let flag = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&flag);
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            set.store(true, Relaxed);
            // An error means that there is no receiver any more.
            let _ = sender.send(true);
        });
        Ok(Stop { requested, flag })
    }

    /// Ready once the stop is requested.
    pub(super) fn requested(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut requested = self.requested.clone();
        async move {
            // A lost sender means that the runtime ends, which is a reason to stop too.
            let _ = requested.wait_for(|stop| *stop).await;
        }
    }

    /// Returns the same as a flag, for a thread that polls.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

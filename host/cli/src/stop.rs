//! The stop of the process, signalled to everything that runs in it.

use std::sync::Arc;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Set at the first Ctrl-C or SIGTERM, or by hand.
#[derive(Clone)]
pub(crate) struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// A stop that no signal requests.
    pub(crate) fn by_hand() -> Stop {
        Stop(Arc::new(watch::Sender::new(false)))
    }

    /// Requests it.
    pub(crate) fn request(&self) {
        self.0.send_replace(true);
    }

    /// Starts to listen for signals.
    pub(crate) fn on_signals() -> anyhow::Result<Stop> {
        let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
        let stop = Stop::by_hand();
        let requested = stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            requested.request();
        });
        Ok(stop)
    }

    /// Ready once the stop is requested.
    pub(crate) fn requested(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut requested = self.0.subscribe();
        async move {
            // A lost sender means that the runtime ends, which is a reason to stop too.
            let _ = requested.wait_for(|stop| *stop).await;
        }
    }

    /// Returns whether it is, for a thread that polls.
    pub(crate) fn is_requested(&self) -> bool {
        *self.0.borrow()
    }
}

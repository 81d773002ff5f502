//! The stop of the process, signalled to everything that runs in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Set at the first Ctrl-C or SIGTERM, or by hand.
#[derive(Clone)]
pub(crate) struct Stop {
    sender: Arc<watch::Sender<bool>>,
    flag: Arc<AtomicBool>,
}

impl Stop {
    /// A stop that no signal requests.
    pub(crate) fn by_hand() -> Stop {
        Stop { sender: Arc::new(watch::Sender::new(false)), flag: Arc::default() }
    }

    /// Requests it.
    pub(crate) fn request(&self) {
        self.flag.store(true, Relaxed);
        self.sender.send_replace(true);
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
        let mut requested = self.sender.subscribe();
        async move {
            // A lost sender means that the runtime ends, which is a reason to stop too.
            let _ = requested.wait_for(|stop| *stop).await;
        }
    }

    /// Returns the same as a flag, for a thread that polls.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

//! How a plugin fares over many requests.

use std::time::Duration;

/// How a plugin fares, as far as its runner keeps count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Different texts on which it failed lately.
    pub faults: usize,
    /// Why it is not asked at the moment; `None` where it is.
    pub quarantine: Option<Quarantine>,
}

/// A plugin that failed too often. Its calls fail at once, so each of its rules does what its
/// `on_error` says; from time to time one call is let through, to see whether it answers again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// What went wrong last, in the runner's words, without any of the plugin's own.
    pub last_fault: String,
    /// How long it has been so.
    pub lasts: Duration,
    /// Until a call is let through; zero where the next one is.
    pub probe_in: Duration,
}

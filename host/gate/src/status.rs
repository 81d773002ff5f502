//! How the gate is: which policy serves, why newer files do not, and what became of the requests so far.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use leafgate_admin::{Counts, PolicyStatus};

use crate::refusal::Code;

/// Requests by how they ended. The numbers are independent, so each is exact and no two are read at one moment.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    forwarded: AtomicU64,
    blocked: AtomicU64,
    paused: AtomicU64,
    cancelled: AtomicU64,
    refused: AtomicU64,
}

impl Counters {
    /// A request is sent on.
    pub(crate) fn forwarded(&self) {
        self.forwarded.fetch_add(1, Relaxed);
    }

    /// A turn begins to wait.
    pub(crate) fn paused(&self) {
        self.paused.fetch_add(1, Relaxed);
    }

    /// A turn is given up.
    pub(crate) fn cancelled(&self) {
        self.cancelled.fetch_add(1, Relaxed);
    }

    /// The gate answers a request itself.
    pub(crate) fn refused(&self, code: Code) {
        match code {
            // A guard that could not run counts as one that said no.
            Code::Blocked | Code::Internal => &self.blocked,
            Code::Foreign | Code::Unsupported | Code::Malformed | Code::TooLarge | Code::Stalled => {
                &self.refused
            }
            // Counted already: as turns, or as forwarded.
            Code::Cancelled | Code::TimedOut | Code::Replaced | Code::Upstream | Code::Redirect => return,
        }
        .fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self) -> Counts {
        Counts {
            forwarded: self.forwarded.load(Relaxed),
            blocked: self.blocked.load(Relaxed),
            paused: self.paused.load(Relaxed),
            cancelled: self.cancelled.load(Relaxed),
            refused: self.refused.load(Relaxed),
        }
    }
}

/// The loads of the policy since the start.
#[derive(Debug)]
pub(crate) struct Loads(Mutex<PolicyStatus>);

impl Loads {
    /// The first load, from `source`.
    pub(crate) fn new(source: String, generation: String) -> Self {
        Loads(Mutex::new(PolicyStatus { source, generation, loads: 1, failed_loads: 0, refused: None }))
    }

    /// Another generation serves. `swap` puts it in its place, so that no status names one and no request meets another.
    pub(crate) fn loaded(&self, generation: String, swap: impl FnOnce()) -> PolicyStatus {
        self.change(|status| {
            swap();
            status.generation = generation;
            status.loads += 1;
            status.refused = None;
        })
    }

    /// Newer files do not serve, and why.
    pub(crate) fn refused(&self, diagnostics: String) -> PolicyStatus {
        self.change(|status| {
            status.failed_loads += 1;
            status.refused = Some(diagnostics);
        })
    }

    pub(crate) fn read(&self) -> PolicyStatus {
        self.change(|_| ())
    }

    fn change(&self, change: impl FnOnce(&mut PolicyStatus)) -> PolicyStatus {
        let mut status = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut status);
        status.clone()
    }
}

//! Tells other threads how long a step has been running.
//!
//! A disk can fail to answer and a compiler can fail to end. The thread that waits for them cannot
//! report that, so it stores the time at which the step began.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Shared by the thread that runs a step and the threads that read its time.
#[derive(Clone, Debug, Default)]
pub struct Busy(Arc<Mutex<Option<Instant>>>);

impl Busy {
    /// Runs a step, which counts as running until it returns or panics.
    pub fn run<R>(&self, step: impl FnOnce() -> R) -> R {
        *self.lock() = Some(Instant::now());
        let _done = scopeguard::guard((), |()| *self.lock() = None);
        step()
    }

    /// Returns how long the present step has been running, or `None` between steps.
    pub fn running_for(&self) -> Option<Duration> {
        self.lock().map(|began| began.elapsed())
    }

    /// The value is complete between any two statements, so a poisoned lock is safe to use.
    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_seen_while_it_runs_and_not_after() {
        let busy = Busy::default();
        assert_eq!(busy.running_for(), None);
        let seen = busy.clone();
        assert!(busy.run(move || seen.running_for().is_some()));
        assert_eq!(busy.running_for(), None);
    }
}

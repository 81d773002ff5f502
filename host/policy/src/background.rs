//! Threads of this process that give way to requests: who asks whether a core is idle does not count
//! them.

use std::sync::atomic::{AtomicUsize, Ordering};

static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// A thread of a low priority is at work, until this is dropped.
#[derive(Debug)]
pub struct Background(());

impl Background {
    /// Counts the present thread, which has set its own priority low.
    #[must_use]
    pub fn begin() -> Self {
        AT_WORK.fetch_add(1, Ordering::Relaxed);
        Background(())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns how many of them are at work.
pub(crate) fn at_work() -> usize {
    AT_WORK.load(Ordering::Relaxed)
}

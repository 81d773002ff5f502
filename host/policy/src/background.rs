//! Threads of this process that give way to requests: who asks whether a core is idle does not count
//! them.
//!
//! A low priority alone does not make them give way in time. A scheduler lets a thread have its slice,
//! which is some milliseconds, before the thread that was woken on its core: the second thread of a
//! search would begin when the first one has ended. So they also ask, between two small parts of their
//! work, whether a search has a use for their core.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long a thread that gives way rests before it asks again. Nobody wakes it, as that would cost the
/// request more than the rest costs the thread.
const REST: Duration = Duration::from_micros(100);

/// Rests in a row, at most: work in the background goes on beside any load.
const RESTS: usize = 20;

static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// Searches that have a second thread.
static SHARED: AtomicUsize = AtomicUsize::new(0);

/// A thread of a low priority is at work, until this is dropped.
#[derive(Debug)]
pub struct Background(());

impl Background {
    /// Counts the present thread, which has set its own priority low.
    pub fn begin() -> Self {
        AT_WORK.fetch_add(1, Ordering::Relaxed);
        Background(())
    }

    /// Rests while a search has a use for another core, for some milliseconds at most. To be called by such
    /// a thread between small parts of its work.
    pub fn give_way() {
        for _ in 0..RESTS {
            if SHARED.load(Ordering::Relaxed) == 0 {
                return;
            }
            std::thread::sleep(REST);
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A search has a second thread, until this is dropped.
pub(crate) struct SharedSearch(());

impl SharedSearch {
    pub(crate) fn begin() -> Self {
        SHARED.fetch_add(1, Ordering::Relaxed);
        SharedSearch(())
    }
}

impl Drop for SharedSearch {
    fn drop(&mut self) {
        SHARED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns how many of them are at work.
pub(crate) fn at_work() -> usize {
    AT_WORK.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gives_way_goes_on_beside_a_search_that_does_not_end() {
        let _search = SharedSearch::begin();
        Background::give_way();
        Background::give_way();
    }
}

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

/// Something is counted, until this is dropped.
#[derive(Debug)]
pub struct Background(&'static AtomicUsize);

impl Background {
    /// Counts the present thread, which has set its own priority low, as at work.
    pub fn begin() -> Self {
        Background::count(&AT_WORK)
    }

    /// Counts a search that has a second thread.
    pub(crate) fn begin_search() -> Self {
        Background::count(&SHARED)
    }

    fn count(of: &'static AtomicUsize) -> Self {
        of.fetch_add(1, Ordering::Relaxed);
        Background(of)
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
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns how many threads of a low priority are at work.
pub(crate) fn at_work() -> usize {
    AT_WORK.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gives_way_goes_on_beside_a_search_that_does_not_end() {
        let _search = Background::begin_search();
        Background::give_way();
        Background::give_way();
    }
}

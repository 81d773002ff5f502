//! A number of places, of which every running call of one plugin takes one.
//!
//! Without it a slow plugin runs in every thread that judges requests. With it the other threads wait for it no longer than their
//! own request may wait.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counts free places.
#[derive(Debug)]
pub(crate) struct Places {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a>(&'a Places);

impl Places {
    /// Makes places, at least one.
    pub(crate) fn new(count: usize) -> Self {
        Places { free: Mutex::new(count.max(1)), freed: Condvar::new() }
    }

    /// Takes a place, or returns `None` where none became free in time.
    pub(crate) fn take(&self, patience: Duration) -> Option<Place<'_>> {
        let free = self.lock();
        let waited = self.freed.wait_timeout_while(free, patience, |free| *free == 0);
        let (mut free, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
        if outcome.timed_out() && *free == 0 {
            return None;
        }
        *free -= 1;
        Some(Place(self))
    }

    /// The count is whole between any two statements, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.lock() += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_places_are_taken_than_there_are() {
        let places = Places::new(2);
        let first = places.take(Duration::ZERO).unwrap();
        let second = places.take(Duration::ZERO).unwrap();
        assert!(places.take(Duration::ZERO).is_none());
        drop(first);
        assert!(places.take(Duration::ZERO).is_some());
        drop(second);
        assert_eq!(*places.lock(), 2);
    }

    #[test]
    fn one_place_is_the_least() {
        assert!(Places::new(0).take(Duration::ZERO).is_some());
    }
}

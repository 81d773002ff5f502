//! Slots for the calls of one plugin: each running call takes one.
//!
//! Without it a slow plugin runs in every thread that judges requests. With it the other threads
//! wait for it no longer than their own request may wait.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counts free slots.
#[derive(Debug)]
pub(crate) struct CallSlots {
    free: Mutex<Free>,
    freed: Condvar,
}

#[derive(Debug)]
struct Free {
    slots: usize,
    /// Who waits for one.
    waiting: usize,
}

/// A slot that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct CallSlot<'a>(&'a CallSlots);

impl CallSlots {
    /// Makes slots, at least one.
    pub(crate) fn new(count: usize) -> Self {
        CallSlots { free: Mutex::new(Free { slots: count.max(1), waiting: 0 }), freed: Condvar::new() }
    }

    /// Takes a slot, or returns `None` where none became free in time.
    pub(crate) fn take(&self, patience: Duration) -> Option<CallSlot<'_>> {
        let mut free = self.lock();
        if free.slots == 0 {
            free.waiting += 1;
            let waited = self.freed.wait_timeout_while(free, patience, |free| free.slots == 0);
            (free, _) = waited.unwrap_or_else(PoisonError::into_inner);
            free.waiting -= 1;
        }
        free.slots = free.slots.checked_sub(1)?;
        Some(CallSlot(self))
    }

    /// The counts are whole between any two statements, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallSlot<'_> {
    fn drop(&mut self) {
        let mut free = self.0.lock();
        free.slots += 1;
        // Nobody is told who does not wait: each notice is a call of the kernel.
        if free.waiting > 0 {
            self.0.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_slots_are_taken_than_there_are() {
        let slots = CallSlots::new(2);
        let first = slots.take(Duration::ZERO).unwrap();
        let second = slots.take(Duration::ZERO).unwrap();
        assert!(slots.take(Duration::ZERO).is_none());
        drop(first);
        assert!(slots.take(Duration::ZERO).is_some());
        drop(second);
        assert_eq!(slots.lock().slots, 2);
    }

    #[test]
    fn one_slot_is_the_least() {
        assert!(CallSlots::new(0).take(Duration::ZERO).is_some());
    }
}

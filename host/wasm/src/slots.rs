//! Slots for the calls of one plugin, and for those of all together: each running call takes one of
//! each, in the order in which they were asked for.
//!
//! Without slots a slow plugin runs in every thread that judges requests. With them the other
//! threads wait for it no longer than their own request may wait; and none of them is overtaken, so
//! that a busy client does not starve another one.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::aside::waited_while;

/// Hands out slots.
#[derive(Debug)]
pub(crate) struct CallSlots {
    line: Mutex<WaitingLine>,
    moved: Condvar,
}

#[derive(Debug)]
struct WaitingLine {
    free: usize,
    /// The number of the next one who waits.
    next: u64,
    /// Who waits, longest first.
    waiting: VecDeque<u64>,
}

impl WaitingLine {
    fn is_turn_of(&self, number: u64) -> bool {
        self.free > 0 && self.waiting.front() == Some(&number)
    }
}

/// A slot that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct CallSlot<'a>(&'a CallSlots);

impl CallSlots {
    /// Makes slots, at least one.
    pub(crate) fn new(count: usize) -> Self {
        let line = WaitingLine { free: count.max(1), next: 0, waiting: VecDeque::new() };
        CallSlots { line: Mutex::new(line), moved: Condvar::new() }
    }

    /// Takes a slot, or returns `None` where its turn did not come in time.
    pub(crate) fn take(&self, patience: Duration) -> Option<CallSlot<'_>> {
        let mut line = self.lock();
        if line.free > 0 && line.waiting.is_empty() {
            line.free -= 1;
            return Some(CallSlot(self));
        }
        let number = line.next;
        line.next += 1;
        line.waiting.push_back(number);
        line = waited_while(&self.line, line, &self.moved, patience, |line| !line.is_turn_of(number));
        let served = line.is_turn_of(number);
        line.waiting.retain(|waiting| *waiting != number);
        line.free -= usize::from(served);
        // Two slots may have become free at once, and who gave up may have stood in front.
        if line.free > 0 && !line.waiting.is_empty() {
            self.moved.notify_all();
        }
        // Made only where it is taken: dropping a slot gives one back.
        served.then(|| CallSlot(self))
    }

    /// The line is whole between any two statements, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, WaitingLine> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallSlot<'_> {
    fn drop(&mut self) {
        let mut line = self.0.lock();
        line.free += 1;
        // Nobody is told who does not wait: each notice is a call of the kernel. All are told, since
        // nobody else knows whose turn it is.
        if !line.waiting.is_empty() {
            self.0.moved.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    /// How many are free, and how many wait.
    fn state(slots: &CallSlots) -> (usize, usize) {
        let line = slots.lock();
        (line.free, line.waiting.len())
    }

    /// Waits until so many stand in line.
    fn until_waiting(slots: &CallSlots, count: usize) {
        while state(slots).1 != count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn no_more_slots_are_taken_than_there_are() {
        let slots = CallSlots::new(2);
        let first = slots.take(Duration::ZERO).unwrap();
        let second = slots.take(Duration::ZERO).unwrap();
        assert!(slots.take(Duration::ZERO).is_none());
        drop(first);
        assert!(slots.take(Duration::ZERO).is_some());
        drop(second);
        assert_eq!(state(&slots), (2, 0));
    }

    #[test]
    fn one_slot_is_the_least() {
        assert!(CallSlots::new(0).take(Duration::ZERO).is_some());
    }

    #[test]
    fn whoever_waits_is_not_overtaken() {
        let slots = CallSlots::new(1);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let taken = slots.take(Duration::ZERO).unwrap();
            for number in 0..4 {
                let (slots, order) = (&slots, &order);
                scope.spawn(move || {
                    let _slot = slots.take(LONG).expect("every turn comes");
                    order.lock().unwrap().push(number);
                });
                until_waiting(slots, number + 1);
            }
            drop(taken);
            // However late the first of them wakes, its slot is not there for others.
            assert!(slots.take(Duration::ZERO).is_none() || order.lock().unwrap().len() == 4);
        });
        assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3]);
    }

    #[test]
    fn whoever_gives_up_holds_nobody_back() {
        let slots = CallSlots::new(1);
        std::thread::scope(|scope| {
            let taken = slots.take(Duration::ZERO).unwrap();
            let gives_up = scope.spawn(|| slots.take(Duration::from_millis(20)).is_none());
            assert!(gives_up.join().unwrap());
            scope.spawn(|| assert!(slots.take(LONG).is_some()));
            until_waiting(&slots, 1);
            assert!(slots.take(Duration::ZERO).is_none(), "behind the one who waits");
            drop(taken);
        });
        assert_eq!(state(&slots), (1, 0));
    }
}

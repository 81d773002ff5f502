//! How long a call may keep the thread that it runs on from others who need it.
//!
//! The thread makes way (`leafgate_contract::aside`) once a guest has run for a few ticks of
//! the clock, or a place has not become free for as long.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leafgate_contract::{aside, is_needed};
use wasmtime::UpdateDeadline;

use crate::clock::{Clock, TICK};

/// Ticks until a thread makes way. Requests of that thread wait no longer for a plugin than for a
/// large body.
const FIRST: u32 = 2;

/// How many times as long it is until it makes way again, where nobody took over.
const GROWS: u64 = 4;

/// What is left of a deadline, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TicksLeft {
    left: u64,
    slice: u64,
}

impl TicksLeft {
    /// Cuts a deadline. Returns it, and the ticks until it is looked at.
    pub(crate) fn of(deadline: Duration) -> (Self, u64) {
        let whole = Clock::ticks(deadline);
        let mut ticks = TicksLeft { left: whole, slice: if is_needed() { FIRST.into() } else { whole } };
        let first = ticks.next().unwrap_or(whole);
        (ticks, first)
    }

    /// Returns the ticks until it is looked at again; `None` where it is over.
    fn next(&mut self) -> Option<u64> {
        let next = self.slice.min(self.left);
        self.left -= next;
        self.slice = self.slice.saturating_mul(GROWS);
        (next > 0).then_some(next)
    }
}

/// What wasmtime does with a guest that has run for the ticks it had.
pub(crate) fn ran_on(ticks: &mut TicksLeft) -> UpdateDeadline {
    let Some(next) = ticks.next() else { return UpdateDeadline::Interrupt };
    if is_needed() {
        // Who takes over has to wake up first.
        aside(&mut || std::thread::sleep(TICK));
    }
    UpdateDeadline::Continue(next)
}

/// Waits as long as `waits` says and patience lasts. Whoever needs this thread is kept waiting for
/// a few ticks of that.
pub(crate) fn waited_while<'s, S>(
    state: &'s Mutex<S>,
    locked: MutexGuard<'s, S>,
    changed: &Condvar,
    patience: Duration,
    mut waits: impl FnMut(&mut S) -> bool,
) -> MutexGuard<'s, S> {
    let short = TICK * FIRST;
    let makes_way = is_needed() && patience > short;
    let first = if makes_way { short } else { patience };
    let (locked, first) =
        changed.wait_timeout_while(locked, first, &mut waits).unwrap_or_else(PoisonError::into_inner);
    if !makes_way || !first.timed_out() {
        return locked;
    }
    drop(locked);
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let mut waited = None;
    aside(&mut || {
        let rest = changed.wait_timeout_while(lock(), patience - short, &mut waits);
        waited = Some(rest.unwrap_or_else(PoisonError::into_inner).0);
    });
    waited.unwrap_or_else(lock)
}

#[cfg(test)]
mod tests {
    use leafgate_contract::making_way;

    use super::*;

    /// The stretches that a deadline of so many milliseconds is cut into.
    fn stretches(milliseconds: u64) -> Vec<u64> {
        let (mut ticks, first) = TicksLeft::of(Duration::from_millis(milliseconds));
        std::iter::once(first).chain(std::iter::from_fn(|| ticks.next())).collect()
    }

    #[test]
    fn a_deadline_is_cut_where_others_need_the_thread() {
        assert_eq!(stretches(99), [100]);
        let (cut, _) = making_way(|wait| wait(), || [stretches(99), stretches(1), stretches(0)]);
        assert_eq!(cut, [vec![2, 8, 32, 58], vec![2], vec![1]]);
    }

    #[test]
    fn a_long_wait_makes_way_and_a_short_one_does_not() {
        let (count, changed) = (Mutex::new(0), Condvar::new());
        let wait = |patience: Duration| {
            let locked = count.lock().unwrap();
            making_way(|wait| wait(), || *waited_while(&count, locked, &changed, patience, |_| true)).1
        };
        assert!(!wait(TICK));
        assert!(wait(4 * TICK));
    }

    #[test]
    fn what_changes_while_a_thread_makes_way_ends_its_wait() {
        fn change(wait: &mut dyn FnMut()) {
            *COUNT.lock().unwrap() += 1;
            wait();
        }
        static COUNT: Mutex<usize> = Mutex::new(0);
        let (long, changed) = (Duration::from_secs(600), Condvar::new());
        let (count, made_way) = making_way(change, || {
            *waited_while(&COUNT, COUNT.lock().unwrap(), &changed, long, |count| *count == 0)
        });
        assert_eq!((count, made_way), (1, true));
    }
}

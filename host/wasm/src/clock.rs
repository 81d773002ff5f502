//! Time and permits: the epoch ticker, and how many calls run at once.
//!
//! wasmtime interrupts a guest when the engine's epoch passes the deadline of its store. One thread
//! advances the epoch while calls are running and a little longer: an idle gate does not wake up a
//! thousand times a second, and a busy one does not wake the thread for every call. As many calls run at
//! once as the allocator's pools have room for.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::Engine;

use crate::slots::{CallSlot, CallSlots};

/// One tick. Deadlines are multiples of it, rounded up.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// Ticks without a running call until the ticker sleeps: the calls of one request, and of those
/// that follow closely, find it awake.
const LINGER: u32 = 50;

/// Advances the epoch of one engine until it is dropped.
pub(crate) struct Clock {
    shared: Arc<SharedClock>,
    slots: CallSlots,
    thread: Option<JoinHandle<()>>,
}

struct SharedClock {
    state: Mutex<ClockState>,
    /// A call began, or the clock is being dropped.
    wake: Condvar,
}

struct ClockState {
    running: usize,
    /// Whether the ticker waits for a call to begin.
    asleep: bool,
    stopped: bool,
}

/// One running call. The epoch advances at least as long as it lives.
pub(crate) struct CallPermit<'a> {
    clock: &'a SharedClock,
    _slot: CallSlot<'a>,
}

impl Clock {
    /// Starts the ticker, for at most `calls` calls at once.
    ///
    /// # Errors
    /// The operating system's, where it gives no thread.
    pub(crate) fn start(engine: Engine, calls: usize) -> std::io::Result<Self> {
        let shared = Arc::new(SharedClock {
            state: Mutex::new(ClockState { running: 0, asleep: false, stopped: false }),
            wake: Condvar::new(),
        });
        let ticker = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("leafgate-epoch".to_owned())
            .spawn(move || ticker.tick_while_needed(&engine))?;
        Ok(Clock { shared, slots: CallSlots::new(calls), thread: Some(thread) })
    }

    /// Waits until a call may run, and counts as one. Returns `None` where that takes too long.
    pub(crate) fn permit(&self, patience: Duration) -> Option<CallPermit<'_>> {
        let slot = self.slots.take(patience)?;
        let mut state = self.shared.lock();
        state.running += 1;
        // Nobody is told who does not wait: each notice is a call of the kernel.
        if state.asleep {
            self.shared.wake.notify_one();
        }
        Some(CallPermit { clock: &self.shared, _slot: slot })
    }

    /// How many ticks a deadline takes: one more than fits, since the current tick has already
    /// begun.
    pub(crate) fn ticks(deadline: Duration) -> u64 {
        let whole = deadline.as_nanos().div_ceil(TICK.as_nanos());
        u64::try_from(whole).unwrap_or(u64::MAX / 2).saturating_add(1)
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A ticker that panicked has nothing left to stop.
            let _ = thread.join();
        }
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        self.clock.lock().running -= 1;
    }
}

impl SharedClock {
    /// The count is whole between any two statements, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick_while_needed(&self, engine: &Engine) {
        let mut state = self.lock();
        let mut idle = 0;
        while !state.stopped {
            idle = if state.running == 0 { idle + 1 } else { 0 };
            if idle > LINGER {
                state.asleep = true;
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.asleep = false;
                idle = 0;
            } else {
                drop(state);
                std::thread::sleep(TICK);
                engine.increment_epoch();
                state = self.lock();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_rounded_up_to_ticks() {
        assert_eq!(Clock::ticks(Duration::ZERO), 1);
        assert_eq!(Clock::ticks(Duration::from_micros(1)), 2);
        assert_eq!(Clock::ticks(Duration::from_millis(250)), 251);
        assert!(Clock::ticks(Duration::MAX) < u64::MAX);
    }

    #[test]
    fn no_more_calls_run_than_allowed() {
        let clock = Clock::start(Engine::default(), 2).unwrap();
        let most = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _permit = clock.permit(Duration::from_secs(60)).expect("a call ends");
                        let running = clock.shared.lock().running;
                        most.fetch_max(running, std::sync::atomic::Ordering::Relaxed);
                    }
                });
            }
        });
        assert!((1..=2).contains(&most.into_inner()));
        assert_eq!(clock.shared.lock().running, 0);
    }
}

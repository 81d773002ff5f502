//! One line of log for a while, whatever happens how often.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Lets one event in a period pass, and counts those that it held back.
pub(crate) struct Throttle {
    period: Duration,
    state: Mutex<ThrottleState>,
}

#[derive(Default)]
struct ThrottleState {
    passed: Option<Instant>,
    held_back: u64,
}

impl Throttle {
    pub(crate) fn new(period: Duration) -> Self {
        Throttle { period, state: Mutex::default() }
    }

    /// Returns how many events there were since the last one that passed, this one included; `None` for one that is held back.
    pub(crate) fn pass(&self) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.held_back += 1;
        if state.passed.is_some_and(|passed| passed.elapsed() < self.period) {
            return None;
        }
        state.passed = Some(Instant::now());
        Some(std::mem::take(&mut state.held_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_event_in_a_period_passes_and_the_others_are_counted() {
        let throttle = Throttle::new(Duration::from_secs(60));
        let passed: Vec<_> = (0..1000).filter_map(|_| throttle.pass()).collect();
        assert_eq!(passed, [1]);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!([throttle.pass(), throttle.pass()], [Some(1000), None]);
    }
}

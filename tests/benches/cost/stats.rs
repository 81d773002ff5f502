//! Medians and high percentiles of what was timed.

use std::time::Duration;

/// Durations of one thing, measured again and again.
#[derive(Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn add(&mut self, duration: Duration) {
        self.0.push(duration);
    }

    /// The duration that this share of the samples does not exceed, in microseconds.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of a small count"
        )]
        let place = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
        sorted.get(place).map_or(0.0, |duration| duration.as_secs_f64() * 1e6)
    }

    pub(crate) fn median(&self) -> f64 {
        self.percentile(0.5)
    }
}

/// Microseconds for people.
pub(crate) fn shown(micros: f64) -> String {
    if micros < 1000.0 { format!("{micros:.0} µs") } else { format!("{:.2} ms", micros / 1000.0) }
}

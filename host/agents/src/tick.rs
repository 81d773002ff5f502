//! Time as a run knows it: passed in with every event, never read.

use std::time::Duration;

/// A moment, in milliseconds since a start that the caller chooses. It must not run backwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u64);

impl Tick {
    /// Returns the moment so many milliseconds after the start.
    pub const fn from_millis(millis: u64) -> Self {
        Tick(millis)
    }

    /// Returns the milliseconds since the start.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns the moment so much later, or the last representable one.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Tick(self.0.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Returns the time since an earlier moment, or zero.
    #[must_use]
    pub fn since(self, earlier: Tick) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

//! Time as the desk knows it: passed in with every event, never read.

use std::time::Duration;

/// A moment, in milliseconds since a start that the caller of the desk chooses. It must not run
/// backwards.
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

    /// Returns the time until a later moment, or zero if that has passed.
    #[must_use]
    pub fn until(self, later: Tick) -> Duration {
        Duration::from_millis(self.millis_until(later))
    }

    /// Returns the same in milliseconds.
    pub const fn millis_until(self, later: Tick) -> u64 {
        later.0.saturating_sub(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_without_end_ends_at_the_last_moment() {
        assert_eq!(Tick::from_millis(7).after(Duration::MAX), Tick::from_millis(u64::MAX));
    }

    #[test]
    fn a_moment_that_has_passed_is_no_wait() {
        assert_eq!(Tick::from_millis(7).until(Tick::from_millis(3)), Duration::ZERO);
    }
}

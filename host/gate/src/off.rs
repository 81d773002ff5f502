//! A gate that is switched off for a while, because a person said so: everything passes as it comes.
//!
//! It ends by itself, and no start begins with it. Requests that wait keep the policy that they began with.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leafgate_contract::NoPlugins;
use leafgate_policy::{Policy, PolicySource};

/// Longest time: who needs more starts a gate without a policy, and says so.
pub(crate) const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Until when nothing is looked at.
pub(crate) struct Off {
    began: Instant,
    /// Milliseconds since it began; 0 where the policy serves.
    until: AtomicU64,
    /// What judges meanwhile.
    nothing: Option<Arc<Policy>>,
}

impl Default for Off {
    fn default() -> Self {
        // A policy without files always loads. Were there none, the gate would stay on.
        let nothing = Policy::load(&PolicySource::None, &NoPlugins).ok().map(Arc::new);
        Off { began: Instant::now(), until: AtomicU64::new(0), nothing }
    }
}

impl Off {
    /// Switches off for a time, or on again after none.
    pub(crate) fn switch(&self, time: Duration) {
        let until = if time.is_zero() { 0 } else { self.now().saturating_add(millis(time.min(LONGEST))) };
        self.until.store(until, Ordering::Release);
    }

    /// Returns how long it is off yet.
    pub(crate) fn left(&self) -> Option<Duration> {
        let until = self.until.load(Ordering::Acquire);
        // Nearly always it is on, and that asks no clock.
        let left = if until == 0 { 0 } else { until.saturating_sub(self.now()) };
        (left > 0).then(|| Duration::from_millis(left))
    }

    /// Returns what judges instead of the policy.
    pub(crate) fn policy(&self) -> Option<Arc<Policy>> {
        self.left().and(self.nothing.clone())
    }

    fn now(&self) -> u64 {
        millis(self.began.elapsed())
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

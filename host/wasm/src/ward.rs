//! [`Ward`]: keeps count of a plugin's faults, and keeps it in quarantine where there are too many.
//!
//! A fault counts once for each text that causes it: one poisoned tool result comes back with every
//! turn of its conversation, and neither counts again nor is looked for again. Whose fault it was,
//! `blame` says.
//!
//! A plugin that failed on [`FAULTS`] different texts among its last [`AMONG`] calls is in
//! quarantine: its calls fail at once, and cost nothing. After a while one call is let through. If
//! that is answered, the plugin serves again; if not, it waits twice as long.
//!
//! Nothing here runs a plugin or reads a clock.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hashlink::LinkedHashSet;
use leafgate_contract::{Fault, Health, Quarantine};

/// Different texts on which a plugin may fail lately, less one.
pub(crate) const FAULTS: usize = 5;
/// Calls that are "lately". A plugin that fails on one text of a hundred still guards the others.
const AMONG: u64 = 100;
/// How long the first quarantine lasts; each further one twice as long as the one before.
const FIRST: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(3600);
/// Texts that are remembered as poisoned. Beyond it the oldest is forgotten, and may be found again.
const REMEMBERED: usize = 1024;

/// The count of one plugin. It outlives generations of the policy that leave the plugin as it is.
#[derive(Debug, Default)]
pub(crate) struct Ward {
    state: Mutex<WardState>,
    /// Texts are kept as keyed hashes.
    key: RandomState,
}

#[derive(Debug, Default)]
struct WardState {
    /// Calls that were answered or not, so far.
    calls: u64,
    /// When the latest different faults were, in calls.
    faults: VecDeque<u64>,
    /// Those on which it failed, the oldest first.
    poisoned: LinkedHashSet<u64>,
    held: Option<WardHold>,
    /// Quarantines in a row.
    times: u32,
    /// When the last of them ended, in calls.
    freed: u64,
    last_fault: String,
}

#[derive(Debug)]
struct WardHold {
    since: Instant,
    until: Instant,
    /// A call has been let through, and is under way.
    probing: bool,
}

/// One call that is let through. Dropped without a word, it has told nothing about the plugin.
#[derive(Debug)]
pub(crate) struct WardPass<'w> {
    ward: &'w Ward,
    probe: bool,
}

/// What changed because of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WardChange {
    /// Nothing that an operator must know.
    None,
    /// The plugin is in quarantine now, for so long.
    Held(Duration),
    /// It is no more.
    Freed,
}

impl Ward {
    /// Lets a call through.
    ///
    /// # Errors
    /// [`Fault::Quarantined`].
    pub(crate) fn admit(&self, now: Instant) -> Result<WardPass<'_>, Fault> {
        let mut state = self.lock();
        let probe = match &mut state.held {
            None => false,
            Some(held) if now >= held.until && !held.probing => {
                held.probing = true;
                true
            }
            Some(_) => return Err(Fault::Quarantined { faults: state.faults.len() }),
        };
        Ok(WardPass { ward: self, probe })
    }

    /// Returns true where a text is known to make the plugin fail.
    pub(crate) fn is_poisoned(&self, text: &str) -> bool {
        self.lock().poisoned.contains(&self.key.hash_one(text))
    }

    pub(crate) fn health(&self, now: Instant) -> Health {
        let state = self.lock();
        let quarantine = state.held.as_ref().map(|held| Quarantine {
            last_fault: state.last_fault.clone(),
            lasts: now.saturating_duration_since(held.since),
            probe_in: held.until.saturating_duration_since(now),
        });
        Health { faults: state.faults.len(), quarantine }
    }

    /// Lets the plugin serve again, as if it had never failed. Returns false where it did serve.
    pub(crate) fn release(&self) -> bool {
        let mut state = self.lock();
        let calls = state.calls;
        let before = std::mem::replace(&mut *state, WardState { calls, ..WardState::default() });
        before.held.is_some()
    }

    /// Numbers and maps are whole after any panic.
    fn lock(&self) -> MutexGuard<'_, WardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WardPass<'_> {
    /// The plugin answered.
    pub(crate) fn answered(self) -> WardChange {
        let mut state = self.ward.lock();
        state.calls += 1;
        state.forget();
        if !self.probe || state.held.take().is_none() {
            // An earlier quarantine is forgotten like an earlier fault.
            if state.calls - state.freed >= AMONG && state.faults.is_empty() {
                state.times = 0;
            }
            return WardChange::None;
        }
        state.faults.clear();
        state.freed = state.calls;
        WardChange::Freed
    }

    /// The plugin failed on this text, on which it had not failed before.
    pub(crate) fn failed_on(self, text: &str, fault: &Fault, now: Instant) -> WardChange {
        let hash = self.ward.key.hash_one(text);
        let mut state = self.ward.lock();
        state.calls += 1;
        state.poisoned.insert(hash);
        state.forget();
        let at = state.calls;
        state.faults.push_back(at);
        state.last_fault = fault.to_string();
        if !self.probe && (state.held.is_some() || state.faults.len() < FAULTS) {
            return WardChange::None;
        }
        let time = FIRST.saturating_mul(1_u32 << state.times.min(16)).min(LONGEST);
        state.times += 1;
        let since = state.held.as_ref().map_or(now, |held| held.since);
        state.held = Some(WardHold { since, until: now + time, probing: false });
        WardChange::Held(time)
    }

    /// The plugin failed again on what it is known to fail on: that says nothing new.
    pub(crate) fn failed_as_known(self) {
        self.ward.lock().calls += 1;
    }
}

impl Drop for WardPass<'_> {
    /// A probe that told nothing leaves room for the next one.
    fn drop(&mut self) {
        if self.probe
            && let Some(held) = &mut self.ward.lock().held
        {
            held.probing = false;
        }
    }
}

impl WardState {
    /// Forgets faults that are many calls ago, and texts beyond those that are remembered. In quarantine there are no
    /// calls to go by.
    fn forget(&mut self) {
        if self.held.is_none() {
            while self.faults.front().is_some_and(|&at| self.calls - at >= AMONG) {
                self.faults.pop_front();
            }
        }
        while self.faults.len() >= REMEMBERED {
            self.faults.pop_front();
        }
        while self.poisoned.len() > REMEMBERED {
            self.poisoned.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn trap() -> Fault {
        Fault::Trap { code: "unreachable".to_owned() }
    }

    fn fail(ward: &Ward, text: &str, now: Instant) -> WardChange {
        ward.admit(now).unwrap().failed_on(text, &trap(), now)
    }

    /// A ward with a plugin in quarantine.
    fn held(now: Instant) -> Ward {
        let ward = Ward::default();
        for n in 1..FAULTS {
            assert_eq!(fail(&ward, &format!("text {n}"), now), WardChange::None);
        }
        assert_eq!(fail(&ward, "the last", now), WardChange::Held(FIRST));
        ward
    }

    #[test]
    fn after_so_many_different_faults_no_call_is_let_through() {
        let now = Instant::now();
        let ward = held(now);
        assert_eq!(ward.admit(now).unwrap_err(), Fault::Quarantined { faults: FAULTS });
        assert_eq!(ward.admit(now + FIRST - SECOND).unwrap_err(), Fault::Quarantined { faults: FAULTS });
        let health = ward.health(now + SECOND);
        let quarantine = health.quarantine.unwrap();
        assert_eq!((health.faults, quarantine.lasts, quarantine.probe_in), (FAULTS, SECOND, FIRST - SECOND));
        assert_eq!(quarantine.last_fault, "trapped: unreachable");
    }

    #[test]
    fn one_poisoned_text_counts_once_however_often_it_returns() {
        let (ward, now) = (Ward::default(), Instant::now());
        assert_eq!(fail(&ward, "poisoned", now), WardChange::None);
        for _ in 0..1000 {
            assert!(ward.is_poisoned("poisoned"));
            ward.admit(now).unwrap().failed_as_known();
        }
        assert_eq!(ward.health(now), Health { faults: 1, quarantine: None });
    }

    #[test]
    fn faults_among_many_good_calls_are_forgotten() {
        let (ward, now) = (Ward::default(), Instant::now());
        for n in 0..20 * FAULTS {
            assert_eq!(fail(&ward, &format!("text {n}"), now), WardChange::None, "{n}");
            for _ in 0..AMONG {
                assert_eq!(ward.admit(now).unwrap().answered(), WardChange::None);
            }
        }
        assert_eq!(ward.health(now).faults, 0);
    }

    #[test]
    fn one_call_is_let_through_in_the_end_and_an_answer_frees_the_plugin() {
        let now = Instant::now();
        let ward = held(now);
        let later = now + FIRST;
        let probe = ward.admit(later).unwrap();
        assert!(ward.admit(later).is_err(), "one at a time");
        drop(probe);
        let probe = ward.admit(later).unwrap();
        assert_eq!(probe.answered(), WardChange::Freed);
        assert_eq!(ward.health(later), Health::default());
        assert_eq!(fail(&ward, "another", later), WardChange::None);
    }

    #[test]
    fn each_quarantine_in_a_row_lasts_twice_as_long_up_to_an_hour() {
        let mut now = Instant::now();
        let ward = held(now);
        let mut time = FIRST;
        for n in 0..20 {
            now += time;
            time = (time * 2).min(LONGEST);
            let probe = ward.admit(now).unwrap();
            assert_eq!(probe.failed_on(&format!("probe {n}"), &trap(), now), WardChange::Held(time));
        }
        // Freed, it may fail some more, and is held as long as before until it has done well for a while.
        now += time;
        assert_eq!(ward.admit(now).unwrap().answered(), WardChange::Freed);
        assert_eq!(ward.admit(now).unwrap().answered(), WardChange::None);
        for n in 1..FAULTS {
            assert_eq!(fail(&ward, &format!("again {n}"), now), WardChange::None);
        }
        assert_eq!(fail(&ward, "once more", now), WardChange::Held(LONGEST));
    }

    #[test]
    fn a_probe_on_a_known_text_says_nothing() {
        let now = Instant::now();
        let ward = held(now);
        ward.admit(now + FIRST).unwrap().failed_as_known();
        assert!(ward.health(now + FIRST).quarantine.is_some());
        assert!(ward.admit(now + FIRST).is_ok(), "the next call is the probe");
    }

    #[test]
    fn released_it_has_never_failed() {
        let now = Instant::now();
        let ward = held(now);
        assert!(ward.release());
        assert_eq!(ward.health(now), Health::default());
        assert!(!ward.is_poisoned("the last"));
        assert!(!ward.release());
        for n in 1..FAULTS {
            assert_eq!(fail(&ward, &format!("text {n}"), now), WardChange::None);
        }
        assert_eq!(fail(&ward, "the last", now), WardChange::Held(FIRST), "the time begins anew too");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (ward, now) = (Ward::default(), Instant::now());
        for n in 0..3 * REMEMBERED {
            WardPass { ward: &ward, probe: false }.failed_on(&n.to_string(), &trap(), now);
        }
        assert_eq!(ward.lock().poisoned.len(), REMEMBERED);
        assert!(ward.lock().faults.len() <= REMEMBERED);
        assert!(ward.is_poisoned(&(3 * REMEMBERED - 1).to_string()) && !ward.is_poisoned("0"));
    }
}

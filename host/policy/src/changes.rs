//! Compares two policies rule by rule, for the person who replaced one by the other.
//!
//! A missing guard is the most important change and the least visible one: nothing is refused, and
//! every request passes.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::Policy;

/// The difference of one rule between two policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleChange {
    /// Its id; [`EXCEPTIONS`] or [`FILES`] for what is no rule.
    pub rule: Arc<str>,
    /// The kind of difference.
    pub change: Change,
}

/// Stands for a rule where exceptions are others. No rule can be called that.
pub const EXCEPTIONS: &str = "(exceptions)";

/// Stands for a rule where files are others and all rules say what they said: what they name may have
/// changed (a detector, a plugin, a profile), or a comment. No rule can be called that.
pub const FILES: &str = "(files)";

/// The kind of difference between two policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is gone.
    Removed,
    /// It is new.
    Added,
    /// It acted, and only counts now.
    OnlyCounts,
    /// It only counted, and acts now.
    Acts,
    /// It says something else than before.
    Changed,
}

impl fmt::Display for RuleChange {
    /// `−gone`, `+new`, `watched: only counts now`, `other: changed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = &self.rule;
        match self.change {
            Change::Removed => write!(f, "−{rule}"),
            Change::Added => write!(f, "+{rule}"),
            Change::OnlyCounts => write!(f, "{rule}: only counts now"),
            Change::Acts => write!(f, "{rule}: acts now"),
            Change::Changed => write!(f, "{rule}: changed"),
        }
    }
}

impl Policy {
    /// Returns what another policy does no longer or does anew, compared with this one, in the
    /// order of the rules.
    pub fn changes_to<'p>(&'p self, next: &'p Policy) -> Vec<RuleChange> {
        let by_id = |policy: &'p Policy| -> HashMap<_, _> {
            policy.rules.iter().map(|rule| (&*rule.id, rule)).collect()
        };
        let (old, new) = (by_id(self), by_id(next));
        let change = |rule: &str, change| RuleChange { rule: rule.into(), change };
        let lost = self.rules.iter().filter_map(|rule| {
            let Some(now) = new.get(&*rule.id) else { return Some(change(&rule.id, Change::Removed)) };
            match (rule.monitors(), now.monitors()) {
                (false, true) => Some(change(&rule.id, Change::OnlyCounts)),
                (true, false) => Some(change(&rule.id, Change::Acts)),
                _ => (rule.says_all() != now.says_all()).then(|| change(&rule.id, Change::Changed)),
            }
        });
        let gained = next.rules.iter().filter(|rule| !old.contains_key(&*rule.id));
        let mut changes: Vec<RuleChange> =
            lost.chain(gained.map(|rule| change(&rule.id, Change::Added))).collect();
        let exceptions =
            |policy: &Policy| policy.exceptions.iter().map(|it| it.says.clone()).collect::<Vec<_>>();
        if exceptions(self) != exceptions(next) {
            changes.push(change(EXCEPTIONS, Change::Changed));
        }
        if changes.is_empty() && self.digest() != next.digest() {
            changes.push(change(FILES, Change::Changed));
        }
        changes
    }
}

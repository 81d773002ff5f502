//! Compares two policies rule by rule, for the person who replaced one by the other.
//!
//! A missing guard is the most important change and the least visible one: nothing is refused, and
//! every request passes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::rule::{Mode, Rule};

/// The difference of one rule between two policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleChange {
    /// Its id.
    pub rule: Arc<str>,
    /// The kind of difference.
    pub change: Change,
}

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
}

impl fmt::Display for RuleChange {
    /// `−gone`, `+new`, `watched: only counts now`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = &self.rule;
        match self.change {
            Change::Removed => write!(f, "−{rule}"),
            Change::Added => write!(f, "+{rule}"),
            Change::OnlyCounts => write!(f, "{rule}: only counts now"),
            Change::Acts => write!(f, "{rule}: acts now"),
        }
    }
}

/// Compares rules by id: first what is lost, then what is gained.
pub(crate) fn between(before: &[Rule], after: &[Rule]) -> Vec<RuleChange> {
    let modes = |rules: &[Rule]| -> BTreeMap<Arc<str>, Mode> {
        rules.iter().map(|rule| (Arc::clone(&rule.id), rule.mode)).collect()
    };
    let (old, new) = (modes(before), modes(after));
    let change = |rule: &Rule, change| RuleChange { rule: Arc::clone(&rule.id), change };
    let lost = before.iter().filter_map(|rule| match (rule.mode, new.get(&rule.id)) {
        (_, None) => Some(change(rule, Change::Removed)),
        (Mode::Enforce, Some(Mode::Warn | Mode::Monitor)) => Some(change(rule, Change::OnlyCounts)),
        (Mode::Warn | Mode::Monitor, Some(Mode::Enforce)) => Some(change(rule, Change::Acts)),
        _ => None,
    });
    let gained = after.iter().filter(|rule| !old.contains_key(&rule.id));
    lost.chain(gained.map(|rule| change(rule, Change::Added))).collect()
}

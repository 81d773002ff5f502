//! What each rule did to one request, for logs, metrics and people. Holds counts, labels and
//! pointers; never text of a leaf.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::index::{RuleIndex, indexed};
use crate::rule::{Mode, Phase};
use crate::verdict::spelled;

/// What an evaluation did.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// One entry for each rule of the policy, in file order.
    pub rules: Vec<RuleReport>,
    /// What plugins said, redacted.
    pub notes: Vec<Note>,
    /// How long each phase took. Phases that a block cut off are missing.
    pub phases: Vec<PhaseTime>,
    /// What the request has cost each plugin that was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<PluginTime>,
}

/// How long a plugin took for a request, over all its calls.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginTime {
    /// The name that rules use.
    pub plugin: Arc<str>,
    /// Microseconds.
    pub micros: u64,
}

impl RuleReport {
    /// Returns whether the rule was about anything in the request: something that it found and that cannot
    /// be replaced holds the request, and is no leaf that it was about.
    pub fn has_matched(&self) -> bool {
        self.matched > 0 || self.unredactable > 0
    }
}

/// What one rule did.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleReport {
    /// The rule.
    pub rule: Arc<str>,
    /// Its action.
    pub action: &'static str,
    /// Whether it acted or only counted.
    pub mode: Mode,
    /// Leaves that it was about: where it found something, or that it selected. Pause and block
    /// rules stop at the first.
    pub matched: usize,
    /// Findings by label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub findings: BTreeMap<String, usize>,
    /// Published examples by label, redacted or left alone: they are no findings of live values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub published: BTreeMap<String, usize>,
    /// Findings that an exception allows, by label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub excepted: BTreeMap<String, usize>,
    /// Edits made, or in monitor mode that would have been made; redactions included.
    pub edits: usize,
    /// Edits left out, by reason: `pinned`, `protected`, `frozen`, `media`, `deleted`, `null`,
    /// `set as a whole`, `not deletable`, `not insertable`, `history` where a rule about a tool
    /// spares messages, `no message of the user`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<&'static str, usize>,
    /// Findings that could not be redacted.
    pub unredactable: usize,
    /// What a rule in monitor mode would have done, and where: the first [`MAX_WOULD`] of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would: Vec<Would>,
    /// Why it did not run to its end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Microseconds spent; `None` for rules that do not apply to the request, and for redact rules,
    /// which share one pass, unless the request is explained: then what rules look for together
    /// counts for the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

indexed!(RuleIndex: RuleReport);

/// How much of what a rule in monitor mode would have done is told place by place.
pub const MAX_WOULD: usize = 16;

/// One thing that a rule in monitor mode would have done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Would {
    /// `redact EMAIL`, `set`, `delete`, `insert`, `option`, `pause`, `block`.
    pub what: String,
    /// A pointer into the request as received, or for an option that would be put in, its pointer
    /// in the body that would leave; `None` for the request as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

impl fmt::Display for Would {
    /// `redact EMAIL at /messages/0/content`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{} at {}", self.what, spelled(at)),
            None => f.write_str(&self.what),
        }
    }
}

/// Something that a plugin said, with all findings masked.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The rule that ran the plugin.
    pub rule: Arc<str>,
    /// The plugin.
    pub plugin: Arc<str>,
    /// What it meant by it: `note`, `pause`, `block` or `failure`.
    pub about: &'static str,
    /// Where, as a pointer; `None` for the request as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Its words.
    pub text: String,
}

/// How long a phase took.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseTime {
    /// The phase.
    pub phase: Phase,
    /// Microseconds.
    pub micros: u64,
}

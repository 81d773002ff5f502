//! What a policy made of one request, rule by rule and leaf by leaf, as text for people and as JSON.
//!
//! It names rules, places and lengths, and what rules' authors wrote; never text of a leaf.

use std::fmt;

use serde::Serialize;

use crate::rule::{Mode, Phase};
use crate::verdict::spelled;

/// What a policy made of one request.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestExplanation {
    /// Name of the generation.
    pub generation: String,
    /// The format of the request.
    pub format: &'static str,
    /// Every rule, in file order.
    pub rules: Vec<RuleAccount>,
    /// The leaves that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<LeafAccount>,
}

/// What one rule made of a request.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleAccount {
    /// Its id.
    pub rule: String,
    /// File and line.
    pub origin: String,
    /// Its action.
    pub action: &'static str,
    /// Whether it acts or only counts.
    pub mode: Mode,
    /// When it runs.
    pub phase: Phase,
    /// Whether it applies to the request at all.
    pub applies: bool,
    /// Otherwise the first thing that does not fit; or why it was not asked although it applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// How many leaves it is about, by its `match` and its `when`.
    pub selected: usize,
    /// Where it is about none, the leaf that it came nearest to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Near>,
    /// What it did, or in monitor mode would have done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub did: Vec<String>,
    /// Microseconds spent; `None` for rules that do not apply. What redact rules look for together
    /// counts for the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

/// A leaf that a rule is nearly about.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Near {
    /// Where.
    pub pointer: String,
    /// Bytes of its text.
    pub length: usize,
    /// What does not fit.
    pub why: String,
}

/// What rules made of one leaf.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeafAccount {
    /// Where.
    pub pointer: String,
    /// What it is.
    pub kind: &'static str,
    /// Who speaks.
    pub role: &'static str,
    /// The card that it stands on.
    pub section: &'static str,
    /// The tool that it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Bytes of its text as received.
    pub length: usize,
    /// Every rule, in file order.
    pub rules: Vec<LeafRule>,
}

/// What one rule made of one leaf.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeafRule {
    /// Its id.
    pub rule: String,
    /// Its action.
    pub action: &'static str,
    /// Whether it acts or only counts.
    pub mode: Mode,
    /// Whether it is about the leaf, by its `match` and its `when`. A redact rule that is finds there what it finds.
    pub matched: bool,
    /// Otherwise the first thing that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// What it did there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub did: Vec<String>,
}

impl fmt::Display for RequestExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Policy {}, a request in {}", self.generation, self.format)?;
        if self.leaves.is_empty() {
            return self.rules.iter().try_for_each(|rule| write!(f, "\n{rule}"));
        }
        self.leaves.iter().try_for_each(|leaf| write!(f, "\n{leaf}"))
    }
}

impl fmt::Display for RuleAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({}{}, {})", self.rule, self.action, monitors(self.mode), self.origin)?;
        if let Some(why) = &self.why_not {
            let what = if self.applies { "was not asked" } else { "does not apply" };
            return writeln!(f, "   {what}: {why}");
        }
        match self.selected {
            0 => writeln!(f, "   is about no leaf")?,
            1 => writeln!(f, "   is about 1 leaf")?,
            count => writeln!(f, "   is about {count} leaves")?,
        }
        if let Some(Near { pointer, length, why }) = &self.nearest {
            writeln!(f, "   nearest: {} ({length} bytes): {why}", spelled(pointer))?;
        }
        self.did.iter().try_for_each(|line| writeln!(f, "   {line}"))?;
        self.micros.iter().try_for_each(|micros| writeln!(f, "   took {micros} µs"))
    }
}

impl fmt::Display for LeafAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LeafAccount { pointer, kind, role, section, tool, length, rules } = self;
        let tool = tool.as_ref().map(|tool| format!(", tool {tool}")).unwrap_or_default();
        let pointer = spelled(pointer);
        writeln!(f, "{pointer}: kind {kind}, role {role}, section {section}{tool}, {length} bytes")?;
        for rule in rules {
            let LeafRule { rule, action, mode, why_not, did, .. } = rule;
            write!(f, "   {rule} ({action}{}): ", monitors(*mode))?;
            match (why_not, did.is_empty()) {
                (None, true) => writeln!(f, "it is about the leaf, and did nothing")?,
                (None, false) => writeln!(f, "{}", did.join(", "))?,
                (Some(why), true) => writeln!(f, "no: {why}")?,
                (Some(why), false) => writeln!(f, "{} (at first no: {why})", did.join(", "))?,
            }
        }
        Ok(())
    }
}

fn monitors(mode: Mode) -> &'static str {
    match mode {
        Mode::Monitor => ", only counts",
        Mode::Warn => ", only warns",
        Mode::Enforce => "",
    }
}

//! Cases: what a plugin is given, and what it must answer, as TOML.
//!
//! ```toml
//! config = { names = ["Ada Lovelace"] }     # of every case that has none of its own
//!
//! [[case]]
//! name = "a name is found in either order"
//! text = "by Lovelace, Ada"
//! finds = [{ text = "Lovelace, Ada", label = "NAME" }]
//! ```
//!
//! A case gives one leaf (`text`, with `kind`, `role`, `value`, `tool`, `key` where they matter) or
//! several (`leaves`). It says what a detector finds in them (`finds`, all of it), what becomes of
//! them under a transformer (`becomes`, or `unchanged = true`), and which other edits it proposes
//! (`edits`); or that the configuration is refused (`refuses`), or that the call fails (`fails`),
//! each with a part of the message.
//!
//! Every case is asked twice, and a detector is then asked about all cases together and in the
//! other order: a plugin that answers otherwise then is a liar, and the gate, which remembers
//! answers, would show it.

mod expect;
mod read;
mod run;

use std::ops::Range;

use leafgate_contract::{LeafKind, Role, SectionKind, Target, ValueType};
use leafgate_detect::Confidence;
use serde::Deserialize;

#[cfg(test)]
mod tests;

pub use run::{CaseOutcome, Load, run, told};
pub(crate) use run::{detect, transform};

/// The cases of one file, in order; at least one.
#[derive(Clone, Debug)]
pub struct Cases {
    cases: Vec<PluginCase>,
}

/// One `[[case]]`.
#[derive(Clone, Debug)]
struct PluginCase {
    name: String,
    /// Line in the file, from 1.
    line: usize,
    /// As JSON, as a plugin is handed it.
    config: String,
    given: GivenText,
    expected: Expected,
}

/// What a plugin is given.
#[derive(Clone, Debug)]
pub(crate) struct GivenText {
    pub(crate) format: String,
    pub(crate) model: String,
    pub(crate) session: String,
    pub(crate) subagent: bool,
    pub(crate) leaves: Vec<GivenLeaf>,
}

/// One leaf, in a section of its own, and what it must become. What is not said is what goes with the rest.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenLeaf {
    pub(crate) text: String,
    pub(crate) kind: Option<LeafKind>,
    pub(crate) value: Option<ValueType>,
    pub(crate) role: Option<Role>,
    pub(crate) section: Option<SectionKind>,
    pub(crate) tool: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) becomes: Option<String>,
}

impl GivenLeaf {
    fn kind(&self) -> LeafKind {
        self.kind.unwrap_or(LeafKind::Text)
    }

    fn value(&self) -> ValueType {
        self.value.unwrap_or(ValueType::Text)
    }

    fn key(&self) -> &str {
        self.key.as_deref().unwrap_or("content")
    }

    fn role(&self) -> Role {
        self.role.unwrap_or(match self.kind() {
            LeafKind::ToolResult => Role::Tool,
            LeafKind::ToolArguments | LeafKind::Reasoning => Role::Assistant,
            LeafKind::Text => Role::User,
            _ => Role::Other,
        })
    }

    fn section(&self) -> SectionKind {
        self.section.unwrap_or(match (self.kind(), self.role()) {
            (LeafKind::ToolResult, _) | (_, Role::Tool) => SectionKind::ToolResult,
            (LeafKind::ToolArguments, _) => SectionKind::ToolCall,
            (LeafKind::RequestOption | LeafKind::ToolSchema, _) => SectionKind::RequestOption,
            (_, Role::System) => SectionKind::System,
            (_, Role::User) => SectionKind::User,
            (_, Role::Assistant) => SectionKind::Assistant,
            (_, Role::Other) => SectionKind::Other,
        })
    }
}

/// What must come of it.
#[derive(Clone, Debug)]
enum Expected {
    /// The configuration is refused with a message that has this part.
    Refused(String),
    /// The call fails with a message that has this part.
    Fault(String),
    /// A detector finds this and nothing else.
    Findings(Vec<ExpectedFinding>),
    /// A transformer makes these texts of the leaves, and proposes these edits beside.
    Edits { texts: Vec<String>, other: Vec<ExpectedEdit> },
}

/// A stretch that a detector finds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedFinding {
    text: String,
    label: Option<String>,
    /// Byte offset, where the text occurs more than once.
    at: Option<usize>,
    #[serde(default)]
    leaf: usize,
    confidence: Option<Confidence>,
}

/// An edit that is no new text of a leaf.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedEdit {
    action: String,
    leaf: Option<usize>,
    section: Option<usize>,
    /// A part of its text.
    text: Option<String>,
}

impl ExpectedEdit {
    fn target(&self) -> Target {
        match (self.leaf, self.section) {
            (Some(leaf), _) => Target::Leaf(leaf),
            (None, Some(section)) => Target::Section(section),
            (None, None) => Target::Request,
        }
    }
}

/// What is wrong with a file of cases.
#[derive(Clone, Debug, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct BadCases {
    /// Line in the file, from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

/// Line, from 1, of a place in a text.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
}

/// A stretch of a text, as messages show it.
fn shown(text: &str, at: &Range<usize>) -> String {
    format!("`{}` at {}", &text[at.clone()], at.start)
}

//! A pending turn as people and programs see it.

use leafgate_tree::{Access, LeafKind, Role, SectionKind, ValueType};
use serde::{Deserialize, Serialize};

/// Where a turn is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Waits for a person.
    Waiting,
    /// Waits behind another turn of its session.
    Queued,
    /// Waits, and its client is gone; it has a moment to come back.
    Disconnected,
    /// Was let go.
    Resumed,
    /// Was given up.
    Cancelled,
    /// Its deadline passed.
    TimedOut,
}

/// What a deadline does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnTimeout {
    /// Gives the turn up.
    Cancel,
    /// Lets it go as it stands.
    Resume,
}

/// Why a turn waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HoldView {
    /// The rule that asked.
    pub rule: String,
    /// Its reason, in its own words.
    pub reason: String,
    /// What it saw, for the reviewer: a place or a fault, never text.
    pub detail: String,
    /// Every place that it is about, up to a bound.
    #[serde(default)]
    pub places: Vec<HoldPlace>,
    /// How many places there are, those that are not listed included.
    #[serde(default)]
    pub total: usize,
    /// Whether it stops the request for good: a block that an edit brought about. Undo or reset before resuming.
    pub blocks: bool,
    /// How it stands.
    #[serde(default)]
    pub state: HoldState,
}

/// One place that a hold is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HoldPlace {
    /// What is wrong there, never text.
    pub what: String,
    /// Pointer in the body as received, or the name of a part outside the body; `None` for the request as a whole.
    pub at: Option<String>,
    /// Whether what would leave still is as it was there.
    pub stands: bool,
}

/// How a hold stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HoldState {
    /// A person must decide about it.
    #[default]
    Open,
    /// Edits took away what it asked about.
    Lapsed,
    /// It was open when the turn was let go.
    Answered,
}

/// One line about a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnSummary {
    /// Its id; unique within one run of the gate.
    pub id: String,
    /// `<location> · <name> · …<end of the session's id>`.
    pub label: String,
    /// The session, opaque.
    pub session: String,
    /// The model asked for.
    pub model: String,
    /// The format's name.
    pub format: String,
    /// Where it is in its life.
    pub state: State,
    /// Why it waits.
    pub holds: Vec<HoldView>,
    /// How long it has waited, in milliseconds.
    pub waited_ms: u64,
    /// How long it may still wait, in milliseconds.
    pub left_ms: u64,
    /// What happens then.
    pub on_timeout: OnTimeout,
    /// Edits whose effect stands in what would leave, redactions not counted.
    pub edits: usize,
    /// Redactions that stand in it.
    pub redactions: usize,
    /// Connections that wait for its answer.
    pub connections: usize,
    /// Name of the policy generation that it keeps.
    pub generation: String,
}

/// A turn in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnView {
    /// The line about it.
    pub summary: TurnSummary,
    /// Messages, parts, calls and options in order; parents before children.
    pub sections: Vec<SectionView>,
    /// What was done, oldest first.
    pub edits: Vec<EditView>,
    /// Digest of method, upstream, path and body as they stand now: what a resume must carry.
    pub digest: String,
    /// Number of the last change. Counts up and never repeats.
    pub version: u64,
    /// Whether there is an edit to take back.
    pub can_undo: bool,
    /// Whether there is one to make again.
    pub can_redo: bool,
    /// Why the API would refuse it as it stands; reset helps.
    pub invalid: Option<String>,
}

/// A section and its own leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SectionView {
    /// Its key, `user-1/content/0`: what [`EditCommand`] names it by. A message that was put in is `inserted-0`; no edit reaches it
    /// but undo and reset, and its leaf has no pointer.
    pub key: String,
    /// Its label for people.
    pub label: String,
    /// What it is.
    pub kind: SectionKind,
    /// Role of its message.
    pub role: Role,
    /// Key of the section around it.
    pub parent: Option<String>,
    /// Its display path in the present order.
    pub path: String,
    /// Whether a person may edit its leaves.
    pub editable: bool,
    /// Whether it may be deleted.
    pub deletable: bool,
    /// Whether it is left out.
    pub deleted: bool,
    /// Whether rules are kept away from it, or from one of its leaves.
    pub pinned: bool,
    /// The leaves that belong to it and to no section inside it.
    pub leaves: Vec<LeafView>,
}

/// Text of a request as it would leave. `Debug` prints its length: even redacted, it is the user's.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShownText(String);

impl ShownText {
    /// Wraps a text whose findings are redacted.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        ShownText(text.into())
    }

    /// The text, for a printer that shows control characters as visible text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ShownText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes of text", self.0.len())
    }
}

/// One leaf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeafView {
    /// RFC 6901 pointer in the body as received: what [`EditCommand`] names it by.
    pub pointer: String,
    /// Display path relative to the section, for people.
    pub path: String,
    /// What it is.
    pub kind: LeafKind,
    /// Its JSON type.
    pub value: ValueType,
    /// Who may change it.
    pub access: Access,
    /// Its text as it would leave.
    pub text: ShownText,
    /// Where redaction wrote in it.
    pub redacted: Vec<RedactedSpan>,
    /// Whether it differs from what came, redactions included.
    pub changed: bool,
    /// Whether rules are kept away from it.
    #[serde(default)]
    pub pinned: bool,
}

/// A stretch that redaction wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RedactedSpan {
    /// UTF-8 byte offset of its start in the leaf's text.
    pub start: usize,
    /// And of its end.
    pub end: usize,
    /// What was recognised.
    pub label: String,
}

/// One edit or redaction that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EditView {
    /// Number of the edit; 0 for redactions, which undo does not reach.
    pub version: u64,
    /// `rule secrets`, `plugin trim (rule short-results)`, `person`.
    pub author: String,
    /// `set`, `delete`, `restore`, `insert`, `reset` or `redact`.
    pub kind: String,
    /// Display path of the target in the present order.
    pub path: String,
    /// Pointer of the target in the body as received.
    pub pointer: String,
    /// Label of a redaction.
    pub label: Option<String>,
    /// Whether its effect stands in what would leave: it was not undone, reset or written over.
    pub stands: bool,
}

/// What a person does to a turn.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "action", deny_unknown_fields)]
pub enum EditCommand {
    /// Gives a leaf another text; for a number, boolean or null its JSON spelling.
    Set {
        /// The leaf.
        pointer: String,
        /// Its new text.
        text: ShownText,
    },
    /// Leaves a section out, with what must go with it.
    Delete {
        /// The section's key.
        section: String,
    },
    /// Puts it back.
    Restore {
        /// The section's key.
        section: String,
    },
    /// Puts a message of the user directly before another one.
    Insert {
        /// Key of the message's section.
        before: String,
        /// Its text.
        text: ShownText,
    },
    /// Takes the last edit back.
    Undo,
    /// Makes it again.
    Redo,
    /// Takes all edits back.
    Reset,
}

impl std::fmt::Debug for EditCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EditCommand::Set { pointer, text } => write!(f, "Set {pointer} to {} bytes", text.expose().len()),
            EditCommand::Delete { section } => write!(f, "Delete {section}"),
            EditCommand::Restore { section } => write!(f, "Restore {section}"),
            EditCommand::Insert { before, text } => {
                write!(f, "Insert {} bytes before {before}", text.expose().len())
            }
            EditCommand::Undo => f.write_str("Undo"),
            EditCommand::Redo => f.write_str("Redo"),
            EditCommand::Reset => f.write_str("Reset"),
        }
    }
}

/// What came against what would leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// The leaves that differ, in body order.
    pub leaves: Vec<LeafDiff>,
    /// Display paths of what is left out.
    pub deleted: Vec<String>,
    /// The messages that were put in.
    pub inserted: Vec<InsertedDiff>,
}

/// A message that was put in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InsertedDiff {
    /// Display path of the message that it stands before.
    pub before: String,
    /// Who speaks in it.
    pub role: Role,
    /// Who put it in.
    pub author: String,
    /// Its text.
    pub text: ShownText,
}

/// One leaf that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeafDiff {
    /// Display path.
    pub path: String,
    /// Pointer in the body as received.
    pub pointer: String,
    /// Who changed it.
    pub authors: Vec<String>,
    /// What came; what was redacted in it is shown as `‹LABEL›`.
    pub before: ShownText,
    /// What would leave.
    pub after: ShownText,
}

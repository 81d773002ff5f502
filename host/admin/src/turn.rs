//! A pending turn as people and programs see it.

use leafgate_tree::{Access, ContentKind, LeafKind, NodeType, Role, SectionKind, ValueType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::mode::{TurnClass, TurnMode};

leafgate_words::words! {
    /// The state of a turn.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub enum State {
        /// Waits for a person.
        Waiting = "waiting" / "waits",
        /// Waits behind another turn of its session.
        Queued = "queued" / "waits behind another turn",
        /// Waits, and its client is disconnected. The same request may still come again.
        Disconnected = "disconnected" / "its client is gone",
        /// Was resumed.
        Resumed = "resumed" / "sent",
        /// Was cancelled.
        Cancelled = "cancelled" / "cancelled, nothing was sent",
        /// Its deadline passed.
        TimedOut = "timed out" / "its time was up",
    }
    /// Its words in logs.
    pub fn name = 0;
    /// What people read: how it ended, or that it has not.
    pub fn label = 1;
}

impl State {
    /// Returns whether the state is final.
    pub fn is_over(self) -> bool {
        matches!(self, State::Resumed | State::Cancelled | State::TimedOut)
    }
}

/// The effect of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnTimeout {
    /// Cancels the turn.
    Cancel,
    /// Resumes it as it is.
    Resume,
}

/// Why a turn waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldView {
    /// The rule that asked.
    pub rule: String,
    /// How much that matters, where the rule says it: `info`, `low`, `medium`, `high`, `critical`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Its reason, in its own words.
    pub reason: String,
    /// The cause, for the reviewer: a place or a fault, never text.
    pub detail: String,
    /// Its places, up to a bound.
    #[serde(default)]
    pub places: Vec<HoldPlace>,
    /// The number of places, those that are not listed included.
    #[serde(default)]
    pub total: usize,
    /// Whether it prevents a resume: a block that an edit caused. Undo or reset first.
    pub blocks: bool,
    /// Its state.
    #[serde(default)]
    pub state: HoldState,
}

impl HoldView {
    /// Returns the rule, and how much it matters where it says that.
    pub fn named(&self) -> String {
        self.severity
            .as_ref()
            .map_or_else(|| self.rule.clone(), |severity| format!("{} ({severity})", self.rule))
    }
}

/// One place of a hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldPlace {
    /// The problem there, never text.
    pub what: String,
    /// Pointer in the body as received, or the name of a part outside the body; `None` for the
    /// request as a whole.
    pub at: Option<String>,
    /// Whether the text there is unchanged in what would leave.
    pub stands: bool,
}

/// The state of a hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HoldState {
    /// A person must decide about it.
    #[default]
    Open,
    /// Edits removed what it asked about. A person must decide all the same, because a person began
    /// to edit.
    Lapsed,
    /// A person or the deadline resumed the turn while it was open.
    Answered,
}

/// A turn in a line.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnSummary {
    /// Its id; unique within one run of the gate.
    pub id: String,
    /// `<location> · <name> · …<end of the session's id>`.
    pub label: String,
    /// The session, opaque.
    pub session: String,
    /// The model of the request.
    pub model: String,
    /// How the latest message of the user begins, on one line, as it would leave.
    pub words: Option<ShownText>,
    /// The format's name.
    pub format: String,
    /// What kind of request it is.
    #[serde(default)]
    pub class: TurnClass,
    /// The mode that asked for a person, besides the rules or alone.
    pub mode: Option<TurnMode>,
    /// Its state.
    pub state: State,
    /// Who or what ended it: `user`, `timeout`, `timedOut`, or why it was cancelled (`superseded`).
    pub ending: Option<String>,
    /// Why it waits.
    pub holds: Vec<HoldView>,
    /// How long it has waited, in milliseconds.
    pub waited_ms: u64,
    /// How long it may still wait, in milliseconds.
    pub left_ms: u64,
    /// The effect of the deadline.
    pub on_timeout: OnTimeout,
    /// Edits whose effect stands in what would leave, redactions not counted.
    pub edits: usize,
    /// Redactions that stand in it.
    pub redactions: usize,
    /// Connections that wait for its answer.
    pub connections: usize,
    /// The turn that it waits with: a client's own request that repeats the words of that one, and
    /// shares its decision. Lists leave it out.
    pub with: Option<String>,
    /// How many of a client's own requests wait with it.
    #[serde(default)]
    pub beside: usize,
    /// Name of the policy generation that it keeps.
    pub generation: String,
}

/// A turn in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnView {
    /// The line about it.
    pub summary: TurnSummary,
    /// Messages, parts, calls and options in order; parents before children.
    pub sections: Vec<SectionView>,
    /// Its edits and redactions, oldest first.
    pub edits: Vec<EditView>,
    /// Digest of method, upstream, path and body as they stand now: what a resume must carry.
    pub digest: String,
    /// Number of the last change. Counts up and never repeats.
    pub version: u64,
    /// Whether there is an edit to undo.
    pub can_undo: bool,
    /// Whether there is an undone edit to redo.
    pub can_redo: bool,
    /// Whether anything would leave otherwise than it came, redactions included.
    pub is_dirty: bool,
    /// Why the API would refuse it as it is. A reset removes the cause.
    pub invalid: Option<String>,
    /// What plugins said about it.
    #[serde(default)]
    pub notes: Vec<NoteView>,
    /// The ids of the sections that stand first for people, in that order: those that a person
    /// pinned, and those of which a rule pinned something. Their place in the request is unchanged.
    #[serde(default)]
    pub pinned: Vec<String>,
    /// How many tokens of its model it is. Counted for whoever asks, and for no request that passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenUse>,
}

/// How many tokens of its model a request is, as it would leave.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUse {
    /// Tokens of all its texts and pictures. What the API puts between them, how it spells tools, and
    /// media of other kinds is not among them.
    pub used: u64,
    /// The most that the prompt may have; `None` where the model is not known.
    pub max: Option<u64>,
    /// What was used of it, in percent.
    pub percent: Option<u64>,
    /// The same for people: `23% (46000/200000)`, or `awaiting data` where the most is not known.
    pub budget: String,
    /// What counted them: the name of a tokenizer, or `estimate`.
    pub tokenizer: String,
    /// Whether that is an estimate: no tokenizer of the model is public, the size of a picture is not
    /// known, or media of another kind is in it.
    pub is_estimate: bool,
    /// Tokens of the sections that stand first for people.
    pub pinned: u64,
    /// Their share of what the prompt may have, in percent; of what is used where the most is not known.
    pub pinned_percent: u64,
}

/// Something that a plugin said to the reviewer, with all findings masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoteView {
    /// The rule that ran the plugin.
    pub rule: String,
    /// The plugin.
    pub plugin: String,
    /// What it meant by it: `note`, `pause`, `block` or `failure`.
    pub about: String,
    /// Where, as a pointer into the body as received; `None` for the request as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Its words.
    pub text: ShownText,
}

/// Which sections stand first for people, in that order. A section that a rule pinned stays pinned
/// whether it is named or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pins {
    /// The ids of the sections, none of which is inside another one.
    pub sections: Vec<String>,
}

/// A section and its own leaves.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionView {
    /// Its key, `user-1/content/0`, by which [`EditCommand`] names it. The key of an inserted
    /// message is `inserted-0`, and so is the pointer of its leaf where a person put it in.
    #[serde(rename = "id")]
    pub key: String,
    /// Its label for people.
    pub label: String,
    /// Its kind.
    pub kind: SectionKind,
    /// Which level of the request it stands for.
    pub node_type: NodeType,
    /// Role of its message.
    pub role: Role,
    /// Key of the section around it.
    #[serde(rename = "parentId")]
    pub parent: Option<String>,
    /// Its display path in the present order; of one that is left out, in the received one.
    #[serde(rename = "rawPath")]
    pub path: String,
    /// RFC 6901 pointer in the body as received.
    pub pointer: String,
    /// Place of its message among the messages as they came.
    pub source_message_index: Option<usize>,
    /// Place among the content parts of its message.
    pub content_index: Option<usize>,
    /// What a content part holds.
    pub content_kind: Option<ContentKind>,
    /// Place among the tool calls of its message.
    pub tool_call_index: Option<usize>,
    /// The call that it is, or that it is the result of.
    pub tool_invocation: Option<ToolInvocation>,
    /// Whether a person may edit its leaves.
    pub editable: bool,
    /// Whether it may be deleted.
    pub deletable: bool,
    /// Whether it is left out.
    pub deleted: bool,
    /// Whether a person pinned it, or rules may not change something of it.
    pub pinned: bool,
    /// Who pinned it: `rule steady`, `person`.
    pub pinned_by: Option<String>,
    /// Tokens of its texts and pictures, those of the sections inside it included. Options have none:
    /// they are no part of the prompt. Definitions of tools are.
    pub token_count: Option<u64>,
    /// Their share of what the prompt may have, in percent; of what the request has where the most is
    /// not known. A section that is left out has none.
    pub token_percent: Option<u64>,
    /// Whether they are an estimate: no tokenizer of the model is public, or a picture's size or its
    /// price in tokens is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub token_estimate: bool,
    /// The texts of its own leaves that say something, a line break between two. Only in
    /// [`crate::EditableRequest`].
    pub content: Option<ShownText>,
    /// The same as it came, with `‹LABEL›` for redacted values.
    pub original_content: Option<ShownText>,
    /// Its leaves that belong to no section inside it.
    pub leaves: Vec<LeafView>,
}

impl SectionView {
    /// What the keys of messages begin with that were put in.
    pub const INSERTED: &'static str = "inserted-";
}

/// A call of a tool.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInvocation {
    /// The id that pairs it with its result.
    pub id: Option<String>,
    /// The name of the tool.
    pub name: Option<String>,
    /// What it is called with, as it would leave: JSON, whether the API spells it as an object or
    /// in a string. `None` where a key in it holds a finding.
    pub arguments: Option<ShownText>,
}

/// Text of a request as it would leave. `Debug` prints its length, because even redacted text is
/// private.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, derive_more::Debug)]
#[debug("{} bytes of text", self.0.len())]
#[serde(transparent)]
pub struct ShownText(String);

impl ShownText {
    /// Wraps a text whose findings are redacted.
    pub fn new(text: impl Into<String>) -> Self {
        ShownText(text.into())
    }

    /// Returns the text, for a printer that shows control characters as visible text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// One leaf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeafView {
    /// RFC 6901 pointer in the body as received, by which [`EditCommand`] names it.
    pub pointer: String,
    /// Display path relative to the section, for people.
    pub path: String,
    /// Its kind.
    pub kind: LeafKind,
    /// Its JSON type.
    pub value: ValueType,
    /// Who may change it.
    pub access: Access,
    /// Its text as it would leave.
    pub text: ShownText,
    /// The stretches that redaction wrote in it.
    pub redacted: Vec<RedactedSpan>,
    /// The stretches in which a value leaves because a person released it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<RedactedSpan>,
    /// Whether its text differs from the received one, redactions included.
    pub changed: bool,
    /// Whether rules may not change it.
    #[serde(default)]
    pub pinned: bool,
}

/// A stretch that redaction wrote, or had written before a person released it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RedactedSpan {
    /// UTF-8 byte offset of its start in the leaf's text.
    pub start: usize,
    /// UTF-8 byte offset of its end.
    pub end: usize,
    /// The label of the finding.
    pub label: String,
    /// The number of the redaction, by which [`EditCommand::Release`] names it. `None` where it was
    /// made in a text around this one or in one that was put in.
    pub redaction: Option<usize>,
    /// Who redacted: `rule contacts`.
    pub author: Option<String>,
    /// Whether a person may release it.
    #[serde(default)]
    pub releasable: bool,
    /// Who keeps it from being released, where a person may not: `rule secrets`.
    pub kept_by: Option<String>,
}

/// One edit or redaction that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditView {
    /// Number of the edit; 0 for redactions, which undo does not reach.
    pub version: u64,
    /// `rule secrets`, `plugin trim (rule short-results)`, `person`.
    pub author: String,
    /// `set`, `delete`, `restore`, `insert`, `option`, `release`, `reset` or `redact`.
    pub kind: String,
    /// Display path of the target in the present order.
    pub path: String,
    /// Pointer of the target in the body as received.
    pub pointer: String,
    /// Label of a redaction, or of what was released.
    pub label: Option<String>,
    /// Whose redaction was released: `rule contacts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_from: Option<String>,
    /// Whether its effect stands in what would leave: it was not undone, reset or overwritten.
    pub stands: bool,
}

/// An edit that a person makes to a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "action", deny_unknown_fields)]
pub enum EditCommand {
    /// Gives a leaf another text. For a number, boolean or null the text is its JSON spelling.
    Set {
        /// The leaf: its pointer, as the turn shows it.
        pointer: String,
        /// Its new text.
        text: ShownText,
    },
    /// Leaves a section out, with what must go with it.
    Delete {
        /// The section's key.
        section: String,
    },
    /// Puts a deleted section back.
    Restore {
        /// The section's key.
        section: String,
    },
    /// Inserts a message of the user directly before another one.
    Insert {
        /// Key of the message's section.
        before: String,
        /// Its text.
        text: ShownText,
    },
    /// Takes a redaction back whose rule lets a person do so: the received value leaves, with this
    /// request alone. A value that was found over several parts is released in all of them.
    Release {
        /// The number of the redaction.
        redaction: usize,
    },
    /// Undoes the last edit.
    Undo,
    /// Redoes the last undone edit.
    Redo,
    /// Takes all edits back.
    Reset,
}

/// The received request against what would leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// The leaves that differ, in body order.
    pub leaves: Vec<LeafDiff>,
    /// Display paths of the sections that are left out.
    pub deleted: Vec<String>,
    /// The inserted messages.
    pub inserted: Vec<InsertedDiff>,
    /// The members that were put into the body, in the order in which that happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<OptionDiff>,
}

/// A member that was put into the body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OptionDiff {
    /// Its key.
    pub key: String,
    /// Who put it in.
    pub author: String,
    /// Its value, as JSON.
    pub json: ShownText,
}

/// An inserted message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InsertedDiff {
    /// Display path of the message behind it.
    pub before: String,
    /// Its role.
    pub role: Role,
    /// The author of the insertion.
    pub author: String,
    /// Its text.
    pub text: ShownText,
}

/// One leaf that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeafDiff {
    /// Display path.
    pub path: String,
    /// Pointer in the body as received.
    pub pointer: String,
    /// The authors of the changes.
    pub authors: Vec<String>,
    /// The received text, with `‹LABEL›` for redacted values.
    pub before: ShownText,
    /// The text that would leave.
    pub after: ShownText,
}

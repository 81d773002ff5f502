//! The edits of a request as JSON, one object each: what `--ops` writes and `--ops-in` reads.
//!
//! An operation holds the fields of an `EditOp` (`id`, `targetKind`, `targetPath`, `oldValue`, `newValue`) with its kind and author.
//! Its `pointer` names the place in the body as received, so that deletions before it do not move it. What was redacted stands in no
//! operation: a redaction is told as span, label and what stands there now, and the text before an edit has that too.

use std::fmt::Write as _;

use leafgate_tree::{
    Author, Document, Draft, Edit, EditKind, LeafKind, NodeId, RedactionRecord, Role, SectionKind, ValueType,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::changes::path;
use crate::shield;

/// One edit or redaction.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Operation {
    id: OperationId,
    #[serde(flatten)]
    pub(crate) act: Act,
    pub(crate) author: Author,
    target_kind: TargetKind,
    /// The path that people read.
    pub(crate) target_path: String,
    /// RFC 6901, into the received body.
    pub(crate) pointer: String,
}

/// Redactions have no version: undo does not reach them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OperationId {
    request_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
}

/// What an operation does.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Act {
    /// Gives a leaf another text.
    Set { old_value: Value, new_value: Value },
    /// Leaves a section out, with what must go with it.
    Delete { guard: Guard },
    /// Puts it back.
    Restore { guard: Guard },
    /// Puts a message of text before the target.
    Insert { guard: Guard, role: Role, new_value: String },
    /// Takes every edit back.
    Reset,
    /// Covers what a detector found.
    Redact { at: Span, label: String, token: String },
}

/// UTF-8 bytes of the text that the redaction left.
#[derive(Serialize, Deserialize)]
pub(crate) struct Span {
    start: usize,
    end: usize,
}

/// Digest of a section as it came, by which it is known again: a place alone would name another one once the client has changed its
/// history. What was redacted counts by its label; marks for caches, which move every turn, do not count.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Guard(String);

impl Guard {
    pub(crate) fn of(draft: &Draft, section: NodeId) -> Self {
        let mut text = String::new();
        for leaf in draft.document().lasting_leaves(section) {
            let shown = draft.masked_original(leaf.id(), shield::mask);
            let _ = writeln!(text, "{} {}", shown.expose().len(), shown.expose());
        }
        Guard(sha256(text.as_bytes())[..16].to_owned())
    }
}

/// Which part of a request an operation is about.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum TargetKind {
    MessageField,
    ContentText,
    ToolArguments,
    RequestOption,
}

/// Every redaction and every edit that is in force, in order.
pub(crate) fn all(draft: &Draft) -> Vec<Operation> {
    let request_id = request_id(draft.document());
    let redactions = draft.redactions().map(|record| redaction(draft, &request_id, record));
    redactions.chain(draft.edits().map(|one| edit(draft, &request_id, one))).collect()
}

/// What a request is called here: the same body has the same name.
pub(crate) fn request_id(document: &Document) -> String {
    sha256(document.source())[..16].to_owned()
}

/// A digest in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn redaction(draft: &Draft, request_id: &str, record: &RedactionRecord) -> Operation {
    let act = Act::Redact {
        at: Span { start: record.at.start, end: record.at.end },
        label: record.label.to_string(),
        token: record.replacement.to_string(),
    };
    operation(
        draft,
        OperationId { request_id: request_id.to_owned(), version: None },
        act,
        &record.author,
        record.node,
    )
}

fn edit(draft: &Draft, request_id: &str, edit: &Edit) -> Operation {
    let guard = || Guard::of(draft, edit.target);
    let act = match edit.kind {
        EditKind::Set => {
            let (before, after) = draft.before_and_after(edit, shield::mask).unzip();
            let kind = value_type(draft.document(), edit.target);
            let value = |text: Option<leafgate_tree::LeafText<'_>>| {
                text.map_or(Value::Null, |text| value(kind, text.expose()))
            };
            Act::Set { old_value: value(before), new_value: value(after) }
        }
        EditKind::Delete => Act::Delete { guard: guard() },
        EditKind::Restore => Act::Restore { guard: guard() },
        EditKind::Insert => {
            let inserted = draft.inserted_by(edit);
            Act::Insert {
                guard: guard(),
                role: inserted.map_or(Role::User, leafgate_tree::Inserted::role),
                new_value: inserted
                    .map(|inserted| inserted.text().into_cow().into_owned())
                    .unwrap_or_default(),
            }
        }
        EditKind::Reset => Act::Reset,
    };
    let id = OperationId { request_id: request_id.to_owned(), version: Some(edit.version) };
    operation(draft, id, act, &edit.author, edit.target)
}

fn operation(draft: &Draft, id: OperationId, act: Act, author: &Author, node: NodeId) -> Operation {
    let document = draft.document();
    Operation {
        id,
        act,
        author: author.clone(),
        target_kind: target_kind(document, node),
        target_path: path(document, node),
        pointer: shield::masked(&document.pointer(node)),
    }
}

fn target_kind(document: &Document, node: NodeId) -> TargetKind {
    let section = document.section_of(node).map(|id| document.section(id).kind);
    match document.leaf(node).map(|leaf| leaf.kind()) {
        Some(LeafKind::ToolArguments) => TargetKind::ToolArguments,
        Some(LeafKind::RequestOption | LeafKind::ToolSchema) => TargetKind::RequestOption,
        Some(LeafKind::Text | LeafKind::Reasoning | LeafKind::ToolResult) => TargetKind::ContentText,
        None if section == Some(SectionKind::ToolCall) => TargetKind::ToolArguments,
        _ if section == Some(SectionKind::RequestOption) => TargetKind::RequestOption,
        _ => TargetKind::MessageField,
    }
}

fn value_type(document: &Document, node: NodeId) -> ValueType {
    document.leaf(node).map_or(ValueType::Text, |leaf| leaf.value_type())
}

/// A number or boolean as itself, where JSON keeps its spelling; everything else as text.
fn value(kind: ValueType, text: &str) -> Value {
    let itself = || {
        let value: Value = serde_json::from_str(text).ok()?;
        let spelled = value.to_string();
        (spelled == text).then_some(value)
    };
    match kind {
        ValueType::Text => None,
        _ => itself(),
    }
    .unwrap_or_else(|| Value::from(text))
}

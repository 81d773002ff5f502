//! What a draft changed, for people and programs. No value that was redacted is in it: the text before a change has masks in their
//! places, and a redaction is told as span, label and what stands there now.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use leafgate_tree::{
    Author, Document, Draft, Edit, EditKind, LeafKind, NodeId, RedactionRecord, SectionKind, ValueType,
};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::shield;

/// One edit or redaction: an `EditOp` with its author.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Change {
    id: ChangeId,
    kind: Kind,
    author: Author,
    target_kind: &'static str,
    /// The path that people read.
    target_path: String,
    /// RFC 6901, into the received body.
    pointer: String,
    #[serde(flatten)]
    values: Values,
}

/// Redactions have no version: undo does not reach them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeId {
    request_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Redact,
    #[serde(untagged)]
    Edit(EditKind),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Values {
    #[serde(rename_all = "camelCase")]
    Set {
        old_value: Value,
        new_value: Value,
    },
    Redact {
        at: Span,
        label: String,
        token: String,
    },
    Whole {},
}

/// UTF-8 bytes of the text that the redaction left.
#[derive(Serialize)]
struct Span {
    start: usize,
    end: usize,
}

/// A leaf that reads otherwise than it came.
pub(crate) struct ChangedLeaf {
    pub(crate) path: String,
    pub(crate) authors: String,
    pub(crate) before: String,
    pub(crate) after: String,
}

/// A section that is left out.
pub(crate) struct DeletedSection {
    pub(crate) path: String,
    pub(crate) authors: String,
    pub(crate) label: String,
}

/// Every redaction and every edit, in order.
pub(crate) fn all(draft: &Draft) -> Vec<Change> {
    let request_id = request_id(draft.document());
    let redactions = draft.redactions().map(|record| redaction(draft, &request_id, record));
    redactions.chain(draft.edits().map(|one| edit(draft, &request_id, one))).collect()
}

/// The leaves that changed, in body order.
pub(crate) fn leaves(draft: &Draft) -> Vec<ChangedLeaf> {
    let of = |node| ChangedLeaf {
        path: path(draft.document(), node),
        authors: authors(draft, node),
        before: draft.masked_original(node, shield::mask).into_cow().into_owned(),
        after: draft.text(node).into_cow().into_owned(),
    };
    draft.changed_leaves().map(of).collect()
}

/// The sections that are left out, in body order.
pub(crate) fn deleted(draft: &Draft) -> Vec<DeletedSection> {
    let document = draft.document();
    let ids = (0..document.sections().len()).map(leafgate_tree::SectionId::from_index);
    let outermost = ids.filter(|&id| {
        let section = document.section(id);
        let parent = section.parent.map(|parent| document.section(parent).node);
        draft.is_deleted(section.node) && !parent.is_some_and(|parent| draft.is_deleted(parent))
    });
    let of = |id| {
        let node = document.section(id).node;
        let label = shield::masked(&document.section_label(id));
        DeletedSection { path: path(document, node), authors: authors(draft, node), label }
    };
    outermost.map(of).collect()
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

/// The display path. A key may be a secret too.
pub(crate) fn path(document: &Document, node: NodeId) -> String {
    shield::masked(&document.display_path(node))
}

fn redaction(draft: &Draft, request_id: &str, record: &RedactionRecord) -> Change {
    let values = Values::Redact {
        at: Span { start: record.at.start, end: record.at.end },
        label: record.label.to_string(),
        token: record.replacement.to_string(),
    };
    let id = ChangeId { request_id: request_id.to_owned(), version: None };
    change(draft, id, Kind::Redact, &record.author, record.node, values)
}

fn edit(draft: &Draft, request_id: &str, edit: &Edit) -> Change {
    let kind = value_type(draft.document(), edit.target);
    let values = match draft.before_and_after(edit, shield::mask) {
        Some((before, after)) => {
            Values::Set { old_value: value(kind, before.expose()), new_value: value(kind, after.expose()) }
        }
        None => Values::Whole {},
    };
    let id = ChangeId { request_id: request_id.to_owned(), version: Some(edit.version) };
    change(draft, id, Kind::Edit(edit.kind), &edit.author, edit.target, values)
}

fn change(draft: &Draft, id: ChangeId, kind: Kind, author: &Author, node: NodeId, values: Values) -> Change {
    let document = draft.document();
    Change {
        id,
        kind,
        author: author.clone(),
        target_kind: target_kind(document, node),
        target_path: path(document, node),
        pointer: shield::masked(&document.pointer(node)),
        values,
    }
}

/// Who changed a leaf, or deleted a section around it.
fn authors(draft: &Draft, node: NodeId) -> String {
    let redactors =
        draft.redactions().filter(|record| record.node == node).map(|record| record.author.to_string());
    let editors = draft.edits().filter(|edit| edit.target == node).map(|edit| edit.author.to_string());
    let mut seen = BTreeSet::new();
    let all: Vec<_> = redactors.chain(editors).filter(|author| seen.insert(author.clone())).collect();
    match all.is_empty() {
        true => "goes with another".to_owned(),
        false => all.join(", "),
    }
}

fn target_kind(document: &Document, node: NodeId) -> &'static str {
    let section = document.section_of(node).map(|id| document.section(id).kind);
    match document.leaf(node).map(|leaf| leaf.kind()) {
        Some(LeafKind::ToolArguments) => "toolArguments",
        Some(LeafKind::RequestOption | LeafKind::ToolSchema) => "requestOption",
        Some(LeafKind::Text | LeafKind::Reasoning | LeafKind::ToolResult) => "contentText",
        None if section == Some(SectionKind::ToolCall) => "toolArguments",
        _ if section == Some(SectionKind::RequestOption) => "requestOption",
        _ => "messageField",
    }
}

fn value_type(document: &Document, node: NodeId) -> ValueType {
    document.leaf(node).map_or(ValueType::Text, |leaf| leaf.value_type())
}

/// A number or boolean as itself, everything else as text.
fn value(kind: ValueType, text: &str) -> Value {
    match kind {
        ValueType::Text => Value::from(text),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}

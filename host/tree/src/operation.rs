//! The edits of a request as JSON, one object each, to be recorded and made again ([`crate::Replay`]).
//!
//! An operation holds the fields of an `EditOp` (`id`, `targetKind`, `targetPath`, `oldValue`,
//! `newValue`) with its kind and author. Its `pointer` names the place in the body as received, so
//! earlier deletions do not move it. No redacted value is in an operation: a redaction is recorded
//! as span, label and replacement, and the texts of an edit have replacements or masks
//! ([`display_mask`]) in the places of redacted values.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::changes::display_mask;
use crate::document::Document;
use crate::draft::Draft;
use crate::index::Segment;
use crate::journal::{Author, Edit, EditKind, RedactionRecord};
use crate::kinds::{LeafKind, Role, SectionKind, ValueType};
use crate::node::NodeId;
use crate::object::ObjectPaths;
use crate::text::LeafText;

/// Bytes of a digest that an operation shows: enough to tell requests and sections apart.
const DIGEST: usize = 8;

/// One edit or redaction.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    id: OperationId,
    #[serde(flatten)]
    pub(crate) change: OperationChange,
    pub(crate) author: Author,
    target_kind: TargetKind,
    /// The path in the request as one object: `messages[1].content`, `requestOptions.temperature`.
    pub(crate) target_path: String,
    /// RFC 6901, into the received body.
    pub(crate) pointer: String,
}

/// Redactions have no version: undo does not reach them.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct OperationId {
    request_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
}

/// The kind of an operation, with its values.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum OperationChange {
    /// Gives a leaf another text.
    Set { old_value: Value, new_value: Value },
    /// Leaves a section out, with what must go with it.
    Delete { guard: SectionDigest },
    /// Puts a deleted section back.
    Restore { guard: SectionDigest },
    /// Inserts a text message before the target.
    Insert { guard: SectionDigest, role: Role, new_value: String },
    /// Puts a member into the body.
    Option { key: String, new_value: Value },
    /// Takes every edit back.
    Reset,
    /// Shows a redacted value again, in the place of its replacement.
    Release { label: String, token: String, redacted_by: Author },
    /// Replaces a finding.
    Redact { at: OperationSpan, label: String, token: String },
}

/// UTF-8 bytes of the text after the redaction.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Span"))]
pub(crate) struct OperationSpan {
    start: usize,
    end: usize,
}

/// Digest of the texts of a section as received.
///
/// A pointer alone would name another section after the client has changed its history. Redacted
/// values count by their labels. Cache marks do not count, because clients move them every turn.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub(crate) struct SectionDigest(String);

impl SectionDigest {
    pub(crate) fn of(draft: &Draft, section: NodeId) -> Self {
        let mut text = String::new();
        for leaf in draft.document().lasting_leaves(section) {
            let shown = draft.masked_original(leaf.id(), display_mask);
            let _ = writeln!(text, "{} {}", shown.expose().len(), shown.expose());
        }
        SectionDigest(short_digest(text.as_bytes()))
    }
}

/// Which part of a request an operation changes.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
enum TargetKind {
    MessageField,
    ContentText,
    ToolArguments,
    RequestOption,
}

impl Document {
    /// Returns the name of the request in its operations. Equal bodies have equal names.
    pub fn request_id(&self) -> String {
        short_digest(self.source())
    }
}

/// The operations of one request by what undo and redo do with them.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OperationHistory {
    /// The edits that undo takes back, the last one first to go.
    pub undo_stack: Vec<Operation>,
    /// The edits that redo makes again, the last one first to come.
    pub redo_stack: Vec<Operation>,
    /// The redactions, which undo does not reach.
    pub redactions: Vec<Operation>,
}

impl Draft {
    /// Returns every redaction and every edit that is in force, in order.
    ///
    /// `mask_path` masks the secrets of paths and pointers, whose keys come from the client.
    pub fn operations(&self, mask_path: impl Fn(&str) -> String) -> Vec<Operation> {
        let OperationHistory { undo_stack, redactions, .. } = self.operation_history(mask_path);
        redactions.into_iter().chain(undo_stack).collect()
    }

    /// Returns the same by kind, with the edits that were undone.
    pub fn operation_history(&self, mask_path: impl Fn(&str) -> String) -> OperationHistory {
        let (request_id, paths) = (self.document().request_id(), ObjectPaths::of(self));
        let view = OperationWriter { draft: self, request_id, paths, mask_path };
        OperationHistory {
            undo_stack: self.edits().map(|edit| view.edit(edit)).collect(),
            redo_stack: self.undone_edits().map(|edit| view.edit(edit)).collect(),
            redactions: self.redactions().map(|record| view.redaction(record)).collect(),
        }
    }
}

/// Writes the operations of one draft.
struct OperationWriter<'d, M> {
    draft: &'d Draft,
    request_id: String,
    paths: ObjectPaths<'d>,
    mask_path: M,
}

impl<M: Fn(&str) -> String> OperationWriter<'_, M> {
    fn redaction(&self, record: &RedactionRecord) -> Operation {
        let change = OperationChange::Redact {
            at: OperationSpan { start: record.at.start, end: record.at.end },
            label: record.label.to_string(),
            token: record.replacement.to_string(),
        };
        self.operation(None, change, &record.author, record.node)
    }

    fn edit(&self, edit: &Edit) -> Operation {
        let guard = || SectionDigest::of(self.draft, edit.target);
        let change = match edit.kind {
            EditKind::Set => self.set(edit),
            EditKind::Delete => OperationChange::Delete { guard: guard() },
            EditKind::Restore => OperationChange::Restore { guard: guard() },
            EditKind::Insert => {
                let inserted = self.draft.inserted_by(edit);
                let text = inserted.map(|inserted| inserted.text().into_cow().into_owned());
                OperationChange::Insert {
                    guard: guard(),
                    role: inserted.map_or(Role::User, |inserted| inserted.role),
                    new_value: text.unwrap_or_default(),
                }
            }
            EditKind::Option => {
                let option = self.draft.option_by(edit);
                let value = option.and_then(|option| serde_json::from_str(option.json().expose()).ok());
                OperationChange::Option {
                    key: option.map_or("", |option| option.key()).to_owned(),
                    new_value: value.unwrap_or(Value::Null),
                }
            }
            EditKind::Release => {
                let released = self.draft.released_by(edit).next();
                OperationChange::Release {
                    label: released.map(|made| made.label.to_string()).unwrap_or_default(),
                    token: released.map(|made| made.replacement.to_string()).unwrap_or_default(),
                    redacted_by: released.map_or(Author::Person, |made| made.author.clone()),
                }
            }
            EditKind::Reset => OperationChange::Reset,
        };
        self.operation(Some(edit.version), change, &edit.author, edit.target)
    }

    fn set(&self, edit: &Edit) -> OperationChange {
        let leaf = self.draft.document().leaf(edit.target);
        let value_type = leaf.map_or(ValueType::Text, |leaf| leaf.value_type());
        let value =
            |text: Option<LeafText<'_>>| text.map_or(Value::Null, |text| value(value_type, text.expose()));
        let (before, after) = self.draft.before_and_after(edit, display_mask).unzip();
        OperationChange::Set { old_value: value(before), new_value: value(after) }
    }

    fn operation(
        &self,
        version: Option<u64>,
        change: OperationChange,
        author: &Author,
        node: NodeId,
    ) -> Operation {
        let document = self.draft.document();
        let target_path = match &change {
            OperationChange::Option { key, .. } => self.paths.option(&[Segment::Key(key.into())]),
            _ => self.paths.path(node),
        };
        Operation {
            id: OperationId { request_id: self.request_id.clone(), version },
            change,
            author: author.clone(),
            target_kind: target_kind(document, node),
            target_path: (self.mask_path)(&target_path),
            pointer: (self.mask_path)(&self.draft.pointer(node)),
        }
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

/// Returns a number or boolean as itself if JSON keeps its spelling, and any other text as a string.
fn value(value_type: ValueType, text: &str) -> Value {
    let scalar = || {
        let value: Value = serde_json::from_str(text).ok()?;
        let spelled = value.to_string();
        (spelled == text).then_some(value)
    };
    let scalar = if value_type == ValueType::Text { None } else { scalar() };
    scalar.unwrap_or_else(|| Value::from(text))
}

fn short_digest(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes)[..DIGEST])
}

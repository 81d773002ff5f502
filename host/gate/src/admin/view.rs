//! A turn as a person sees it, and what a person says about it.
//!
//! Texts are those of the draft, which redaction has been over; what stood there before is masked. Keys and paths come from the body as
//! it would leave, and so do they.

use std::collections::{BTreeMap, BTreeSet};

use http::StatusCode;
use leafgate_admin::{
    Diff, EditCommand, EditView, InsertedDiff, LeafDiff, LeafView, Payload, RedactedSpan, SectionView, Shown,
    Turn,
};
use leafgate_desk::Change;
use leafgate_tree::{
    Access, Document, Draft, Inserted, Leaf, LeafKind, NodeId, NodeType, SectionId, SectionKind, ValueType,
};

use super::answer::Failure;
use crate::pending::Snapshot;

/// A turn in full.
pub(super) fn turn(snapshot: &Snapshot) -> Turn {
    let draft = &snapshot.draft;
    Turn {
        summary: snapshot.summary.clone(),
        sections: sections(draft),
        edits: redactions(draft).chain(edits(draft)).collect(),
        digest: snapshot.digest.to_string(),
        version: snapshot.version,
        can_undo: draft.edits().next().is_some(),
        can_redo: draft.can_redo(),
        invalid: draft.validate().err().map(|invalid| invalid.to_string()),
    }
}

/// The very bytes that a resume sends.
pub(super) fn payload(snapshot: &Snapshot) -> Payload {
    Payload { body: Shown::new(String::from_utf8_lossy(&snapshot.body)), digest: snapshot.digest.to_string() }
}

/// What came against what would leave.
pub(super) fn diff(draft: &Draft) -> Diff {
    let document = draft.document();
    let kept = |node: &NodeId| !draft.is_deleted(*node);
    let leaves = draft.changed_leaves().filter(kept).map(|node| LeafDiff {
        path: document.display_path(node),
        pointer: document.pointer(node),
        authors: authors(draft, node),
        before: Shown::new(draft.masked_original(node, |label| format!("‹{label}›")).into_cow()),
        after: Shown::new(draft.text(node).into_cow()),
    });
    let inserted = draft.inserted().map(|inserted| InsertedDiff {
        before: document.display_path(inserted.before()),
        role: inserted.role(),
        author: inserted.author().to_string(),
        text: Shown::new(inserted.text().into_cow()),
    });
    Diff { leaves: leaves.collect(), deleted: left_out(draft), inserted: inserted.collect() }
}

/// Who changed a leaf, each once, redactors first.
fn authors(draft: &Draft, node: NodeId) -> Vec<String> {
    let redactors = draft.redactors(node).into_iter().map(ToString::to_string);
    let writers = draft.edits().filter(|edit| edit.target == node).map(|edit| edit.author.to_string());
    let mut authors = Vec::new();
    for author in redactors.chain(writers) {
        if !authors.contains(&author) {
            authors.push(author);
        }
    }
    authors
}

/// The outermost values that are left out. A message and its content may be sections of one value.
fn left_out(draft: &Draft) -> Vec<String> {
    let document = draft.document();
    let around = |node| document.parent(node).is_some_and(|parent| draft.is_deleted(parent));
    let nodes: BTreeSet<_> = document
        .sections()
        .iter()
        .map(|section| section.node)
        .filter(|&node| draft.is_deleted(node) && !around(node))
        .collect();
    nodes.into_iter().map(|node| document.display_path(node)).collect()
}

fn sections(draft: &Draft) -> Vec<SectionView> {
    let document = draft.document();
    let mut leaves = leaves(draft);
    let mut inserted: Vec<_> = draft.inserted().enumerate().collect();
    let mut views = Vec::with_capacity(document.sections().len() + inserted.len());
    for (place, section) in document.sections().iter().enumerate() {
        let id = SectionId::from_index(place);
        if section.node_type == NodeType::Message {
            let here = inserted.extract_if(.., |(_, inserted)| inserted.before() == section.node);
            views.extend(here.map(|(at, inserted)| inserted_view(draft, at, inserted)));
        }
        views.push(SectionView {
            key: document.section_key(id),
            label: draft.section_label(id),
            kind: section.kind,
            role: section.role,
            parent: section.parent.map(|parent| document.section_key(parent)),
            path: draft.display_path_now(section.node),
            editable: section.editable,
            deletable: section.deletable,
            deleted: draft.is_deleted(section.node),
            pinned: draft.is_pinned(section.node),
            leaves: leaves.remove(&id).unwrap_or_default(),
        });
    }
    views
}

/// A message that was put in. Undo takes it out; its text is nobody's to edit.
fn inserted_view(draft: &Draft, at: usize, inserted: &Inserted) -> SectionView {
    let leaf = LeafView {
        pointer: String::new(),
        path: "content".to_owned(),
        kind: LeafKind::Text,
        value: ValueType::Text,
        access: Access::Frozen,
        text: Shown::new(inserted.text().into_cow()),
        redacted: inserted
            .redacted()
            .iter()
            .map(|(at, label)| RedactedSpan { start: at.start, end: at.end, label: label.to_string() })
            .collect(),
        changed: true,
    };
    SectionView {
        key: format!("inserted-{at}"),
        label: format!("Put in by {}", inserted.author()),
        kind: SectionKind::Context,
        role: inserted.role(),
        parent: None,
        path: format!("before {}", draft.display_path_now(inserted.before())),
        editable: false,
        deletable: false,
        deleted: false,
        pinned: false,
        leaves: vec![leaf],
    }
}

/// The leaves by the innermost section around them.
fn leaves(draft: &Draft) -> BTreeMap<SectionId, Vec<LeafView>> {
    let document = draft.document();
    let changed: BTreeSet<_> = draft.changed_leaves().collect();
    let mut leaves: BTreeMap<SectionId, Vec<LeafView>> = BTreeMap::new();
    for leaf in document.leaves() {
        let Some(section) = leaf.section() else { continue };
        let view = leaf_view(draft, &leaf, document.section(section).node, changed.contains(&leaf.id()));
        leaves.entry(section).or_default().push(view);
    }
    leaves
}

fn leaf_view(draft: &Draft, leaf: &Leaf<'_>, section: NodeId, changed: bool) -> LeafView {
    let document = draft.document();
    let redacted = draft.redacted(leaf.id()).into_iter();
    LeafView {
        pointer: document.pointer(leaf.id()),
        path: relative_path(document, section, leaf.id()),
        kind: leaf.kind(),
        value: leaf.value_type(),
        access: leaf.access(),
        text: Shown::new(draft.text(leaf.id()).into_cow()),
        redacted: redacted
            .map(|(at, label)| RedactedSpan { start: at.start, end: at.end, label: label.to_string() })
            .collect(),
        changed,
    }
}

/// The display path of a value from the section around it; empty for the section's own value.
fn relative_path(document: &Document, section: NodeId, node: NodeId) -> String {
    let (around, path) = (document.display_path(section), document.display_path(node));
    let relative = path.strip_prefix(&around).unwrap_or(&path);
    relative.strip_prefix('.').unwrap_or(relative).to_owned()
}

fn edits(draft: &Draft) -> impl Iterator<Item = EditView> {
    let document = draft.document();
    draft.edits().map(|edit| EditView {
        version: edit.version,
        author: edit.author.to_string(),
        kind: edit.kind.name().to_owned(),
        path: document.display_path(edit.target),
        pointer: document.pointer(edit.target),
        label: None,
    })
}

/// Redactions have no version: no undo reaches them, whenever they were made.
fn redactions(draft: &Draft) -> impl Iterator<Item = EditView> {
    let document = draft.document();
    draft.redactions().map(|made| EditView {
        version: 0,
        author: made.author.to_string(),
        kind: "redact".to_owned(),
        path: document.display_path(made.node),
        pointer: document.pointer(made.node),
        label: Some(made.label.to_string()),
    })
}

/// What a command means in this request.
pub(super) fn change(command: EditCommand, document: &Document) -> Result<Change, Failure> {
    Ok(match command {
        EditCommand::Set { pointer, text } => {
            let node = document.resolve(&pointer).map_err(|error| refused(error.to_string()))?;
            Change::Set { node, text: text.expose().to_owned() }
        }
        EditCommand::Delete { section } => Change::Delete(section_named(&section, document)?),
        EditCommand::Restore { section } => Change::Restore(section_named(&section, document)?),
        EditCommand::Insert { before, text } => {
            Change::Insert { before: section_named(&before, document)?, text: text.expose().to_owned() }
        }
        EditCommand::Undo => Change::Undo,
        EditCommand::Redo => Change::Redo,
        EditCommand::Reset => Change::Reset,
    })
}

fn section_named(key: &str, document: &Document) -> Result<SectionId, Failure> {
    let mut ids = (0..document.sections().len()).map(SectionId::from_index);
    ids.find(|&id| document.section_key(id) == key).ok_or_else(|| {
        refused("the request has no such section").hint("name one by the key that the turn shows")
    })
}

fn refused(message: impl Into<String>) -> Failure {
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "refused-edit", message)
}

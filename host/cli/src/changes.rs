//! What a draft changed, for people and programs. No value that was redacted is in it: the text before a change has masks in their
//! places, and a redaction is told as span, label and what stands there now.

use std::collections::BTreeSet;

use leafgate_tree::{Document, Draft, NodeId};

use crate::shield;

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

/// A message that was put in.
pub(crate) struct InsertedMessage {
    pub(crate) path: String,
    pub(crate) author: String,
    pub(crate) text: String,
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
        let label = shield::masked(&draft.section_label(id));
        DeletedSection { path: path(document, node), authors: authors(draft, node), label }
    };
    outermost.map(of).collect()
}

/// The messages that were put in, in the order in which that happened.
pub(crate) fn inserted(draft: &Draft) -> Vec<InsertedMessage> {
    let of = |inserted: &leafgate_tree::Inserted| InsertedMessage {
        path: path(draft.document(), inserted.before()),
        author: inserted.author().to_string(),
        text: inserted.text().into_cow().into_owned(),
    };
    draft.inserted().map(of).collect()
}

/// The display path. A key may be a secret too.
pub(crate) fn path(document: &Document, node: NodeId) -> String {
    shield::masked(&document.display_path(node))
}

/// Who changed a leaf, or deleted a section around it.
fn authors(draft: &Draft, node: NodeId) -> String {
    let redactors = draft.redactors(node).into_iter().map(ToString::to_string);
    let editors = draft.edits().filter(|edit| edit.target == node).map(|edit| edit.author.to_string());
    let mut seen = BTreeSet::new();
    let all: Vec<_> = redactors.chain(editors).filter(|author| seen.insert(author.clone())).collect();
    match all.is_empty() {
        true => "goes with another".to_owned(),
        false => all.join(", "),
    }
}

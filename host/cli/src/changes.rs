//! What a draft changed, for people and programs. No value that was redacted is in it: the text before a change has masks in their
//! places, and a redaction is told as span, label and what stands there now.

use leafgate_tree::{Author, Document, Draft, NodeId, display_mask};

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

/// What a draft changed, told for people.
pub(crate) struct Told {
    /// In body order.
    pub(crate) leaves: Vec<ChangedLeaf>,
    /// In the order in which they were put in.
    pub(crate) inserted: Vec<InsertedMessage>,
    /// In body order.
    pub(crate) deleted: Vec<DeletedSection>,
}

/// Returns what a draft changed.
pub(crate) fn of(draft: &Draft) -> Told {
    let document = draft.document();
    let changes = draft.changes(display_mask);
    let leaves = changes.leaves.into_iter().map(|leaf| ChangedLeaf {
        path: path(document, leaf.node),
        authors: joined(&leaf.authors),
        before: leaf.before.into_cow().into_owned(),
        after: leaf.after.into_cow().into_owned(),
    });
    let inserted = changes.inserted.into_iter().map(|inserted| InsertedMessage {
        path: path(document, inserted.before()),
        author: inserted.author().to_string(),
        text: inserted.text().into_cow().into_owned(),
    });
    let deleted = changes.deleted.into_iter().map(|section| DeletedSection {
        path: path(document, section.node),
        authors: joined(&section.authors),
        label: shield::masked(&draft.section_label(section.section)),
    });
    Told { leaves: leaves.collect(), inserted: inserted.collect(), deleted: deleted.collect() }
}

/// The display path. A key may be a secret too.
pub(crate) fn path(document: &Document, node: NodeId) -> String {
    shield::masked(&document.display_path(node))
}

/// A section that is left out together with another one has no author of its own.
fn joined(authors: &[&Author]) -> String {
    match authors {
        [] => "goes with another".to_owned(),
        authors => authors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

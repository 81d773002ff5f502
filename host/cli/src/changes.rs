//! The changes of a draft, for people. No redacted value is in it: the text before a change has
//! masks instead.

use leafgate_tree::{Author, Draft, NodeId, display_mask};

use crate::masking;

/// A leaf whose text differs from the received one.
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

/// An inserted message.
pub(crate) struct InsertedMessage {
    pub(crate) path: String,
    pub(crate) author: String,
    pub(crate) text: String,
}

/// A member that was put into the body.
pub(crate) struct PutOption {
    pub(crate) key: String,
    pub(crate) author: String,
    pub(crate) json: String,
}

/// The changes of a draft, as text for people.
pub(crate) struct ShownChanges {
    /// In body order.
    pub(crate) leaves: Vec<ChangedLeaf>,
    /// In the order of insertion.
    pub(crate) inserted: Vec<InsertedMessage>,
    /// In the order in which they were put in.
    pub(crate) options: Vec<PutOption>,
    /// In body order.
    pub(crate) deleted: Vec<DeletedSection>,
}

/// Returns the changes of a draft.
pub(crate) fn of(draft: &Draft) -> ShownChanges {
    let changes = draft.changes(display_mask);
    let leaves = changes.leaves.into_iter().map(|leaf| ChangedLeaf {
        path: path(draft, leaf.node),
        authors: joined(&leaf.authors),
        before: leaf.before.into_cow().into_owned(),
        after: leaf.after.into_cow().into_owned(),
    });
    let inserted = changes.inserted.into_iter().map(|inserted| InsertedMessage {
        path: path(draft, inserted.before()),
        author: inserted.author().to_string(),
        text: inserted.text().into_cow().into_owned(),
    });
    let options = changes.options.into_iter().map(|option| PutOption {
        key: masking::masked(option.key()),
        author: option.author().to_string(),
        json: masking::masked(option.json().expose()),
    });
    let deleted = changes.deleted.into_iter().map(|section| DeletedSection {
        path: path(draft, section.node),
        authors: joined(&section.authors),
        label: masking::masked(&draft.section_label(section.section)),
    });
    ShownChanges {
        leaves: leaves.collect(),
        inserted: inserted.collect(),
        options: options.collect(),
        deleted: deleted.collect(),
    }
}

/// Returns the display path, masked, because a key may be a secret too.
pub(crate) fn path(draft: &Draft, node: NodeId) -> String {
    masking::masked(&draft.display_path(node))
}

/// Returns the authors. A section that is left out together with another one has no author of its
/// own.
fn joined(authors: &[&Author]) -> String {
    match authors {
        [] => "goes with another".to_owned(),
        authors => authors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

//! What an evaluation did to a request, in the words of a test.

use leafgate_tree::{Author, Draft, NodeId, display_mask};
use serde::Serialize;

/// One thing that rules did to a request, or that a test expects of them.
#[derive(Clone, PartialEq, Eq, Serialize, derive_more::Debug)]
#[debug("{} at {at} by {by:?}, {} bytes", does.kind(), does.text().len())]
#[serde(rename_all = "camelCase")]
pub struct RequestChange {
    /// The path of the leaf, of the message or tool, of the message behind one that was put in; or the
    /// key of an option.
    pub at: String,
    /// The rules whose doing it is, in the order in which they did it; of an expectation empty where it
    /// does not matter.
    pub by: Vec<String>,
    /// What.
    #[serde(flatten)]
    pub does: ChangeKind,
}

/// What a [`RequestChange`] does.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    /// It gives a leaf or an option this text.
    Text(String),
    /// It puts in a message with this text.
    Inserted(String),
    /// It leaves a message or a tool out.
    Deleted(bool),
}

impl ChangeKind {
    fn kind(&self) -> &'static str {
        match self {
            ChangeKind::Text(_) => "text",
            ChangeKind::Inserted(_) => "inserted",
            ChangeKind::Deleted(_) => "deleted",
        }
    }

    fn text(&self) -> &str {
        match self {
            ChangeKind::Text(text) | ChangeKind::Inserted(text) => text,
            ChangeKind::Deleted(_) => "",
        }
    }
}

/// A change that was made: as it is shown, and as it is.
pub(super) struct MadeChange {
    /// With `‹LABEL›` for whatever redaction wrote.
    pub(super) shown: RequestChange,
    /// The text itself.
    exact: String,
}

impl MadeChange {
    /// Whether an expectation is about this change, whatever it expects of it.
    pub(super) fn is_same_place(&self, expected: &RequestChange) -> bool {
        self.shown.at == expected.at && self.shown.does.kind() == expected.does.kind()
    }

    pub(super) fn is(&self, expected: &RequestChange) -> bool {
        let by = expected.by.is_empty() || expected.by == self.shown.by;
        let text = expected.does.text();
        self.is_same_place(expected) && by && (self.shown.does.text() == text || self.exact == text)
    }
}

/// Returns all changes of a draft, in body order.
pub(super) fn made(draft: &Draft) -> Vec<MadeChange> {
    let document = draft.document();
    let changes = draft.changes(display_mask);
    let mut made = Vec::new();
    let mut add = |at: String, by: &[&Author], does: ChangeKind, exact: String| {
        made.push(MadeChange { shown: RequestChange { at, by: rules(by), does }, exact });
    };
    for leaf in &changes.leaves {
        let exact = leaf.after.expose().to_owned();
        add(
            document.display_path(leaf.node),
            &leaf.authors,
            ChangeKind::Text(shown(draft, leaf.node, &exact)),
            exact,
        );
    }
    for section in &changes.deleted {
        add(document.display_path(section.node), &section.authors, ChangeKind::Deleted(true), String::new());
    }
    for inserted in &changes.inserted {
        let text = inserted.text().into_cow().into_owned();
        add(
            document.display_path(inserted.before),
            &[&inserted.author],
            ChangeKind::Inserted(text.clone()),
            text,
        );
    }
    for option in &changes.options {
        let text = option.json().into_cow().into_owned();
        add(option.key().to_owned(), &[&option.author], ChangeKind::Text(text.clone()), text);
    }
    made
}

fn shown(draft: &Draft, node: NodeId, text: &str) -> String {
    let mut shown = text.to_owned();
    for (range, label) in draft.redacted(node).into_iter().rev() {
        shown.replace_range(range, &display_mask(&label));
    }
    shown
}

/// The rules behind some authors. No person takes part in a test, and no edit that one saved.
fn rules(authors: &[&Author]) -> Vec<String> {
    authors.iter().filter_map(|author| author.of_rule()).map(ToString::to_string).collect()
}

//! Reading a body twice: by the tree, and by the independent walk.

use leafgate_tree::{Document, Format, Leaf, Limits, NodeId};
use leafgate_verify::walk::{self, PositionKind, WalkPosition};

/// A position of the walk, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) position: WalkPosition,
    /// Decoded; of what is no string its spelling.
    pub(crate) text: String,
}

impl Entry {
    fn level(&self) -> usize {
        self.position.level
    }
}

/// Parses a body; `None` where it is no JSON or exceeds a cap.
pub(crate) fn parse(body: &[u8], format: Format) -> Option<Document> {
    Document::parse(body.to_vec().into(), format, &Limits::default()).ok()
}

/// Every position of a text that the tree has taken for JSON.
pub(crate) fn entries(body: &[u8]) -> Vec<Entry> {
    let body = std::str::from_utf8(body).expect("the tree takes no other bodies for JSON");
    let mut entries = Vec::new();
    walk::rewrite(body, &mut |place| {
        entries.push(Entry { position: place.position.clone(), text: place.text.to_owned() });
        None
    })
    .expect("the tree and the walk agree on what is JSON");
    entries
}

/// The positions behind one that belong to it: those inside the document that it spells.
pub(crate) fn behind(entries: &[Entry], at: usize) -> usize {
    let level = entries[at].level();
    let inside = entries[at + 1..].iter().take_while(|entry| entry.level() > level).count();
    at + 1 + inside
}

/// Finds the walk's position for every value of the tree that can be set, and asserts that each position has one.
///
/// Where the tree took a document for a text because it lies beyond a cap, the walk's positions inside it have no counterpart.
pub(crate) fn align<'d>(document: &'d Document, entries: &[Entry]) -> Vec<(Leaf<'d>, usize)> {
    let settable = (0..document.node_count()).filter_map(|at| document.settable(NodeId::from_index(at)));
    let mut aligned = Vec::new();
    let mut at = 0;
    let next_value = |mut at: usize| {
        while entries.get(at).is_some_and(|entry| entry.position.what == PositionKind::Key) {
            at += 1;
        }
        at
    };
    for value in settable {
        at = next_value(at);
        let entry = entries.get(at).expect("the tree has a value that the walk has not");
        assert_eq!(document.pointer(value.id()), entry.position.pointer, "another value comes next");
        assert_eq!(value.text().expose(), entry.text, "at {}", entry.position.pointer);
        let is_leaf = document.leaf(value.id()).is_some();
        let unwalked = is_leaf && entry.position.what == PositionKind::Document;
        assert!(!unwalked || value.beyond_caps(), "the tree has not walked {}", entry.position.pointer);
        aligned.push((value, at));
        at = if unwalked { behind(entries, at) } else { at + 1 };
    }
    assert_eq!(next_value(at), entries.len(), "the walk has values that the tree has not");
    aligned
}

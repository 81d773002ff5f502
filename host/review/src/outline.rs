//! A turn arranged for people: how deep each section lies, its edits, and their authors.
//!
//! It is built once per answer of the gate, so that drawing need not search. It holds indices and
//! words, no text of leaves.

use std::collections::HashMap;

use leafgate_admin::{EditView, LeafView, SectionView, TurnView};

/// The facts about one section, in the order of [`TurnView::sections`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Sections around it.
    pub depth: usize,
    /// Index behind the last section inside it.
    pub end: usize,
    /// The authors of its edits, deletions and restorations, and of those of its own leaves, in
    /// order, each once. Redaction is not among them.
    pub authors: Vec<String>,
    /// Whether an edit in force set a leaf of its own.
    pub edited: bool,
    /// Redactions in its own leaves.
    pub redactions: usize,
}

/// The entries of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    entries: Vec<Entry>,
}

impl Outline {
    /// Arranges a turn.
    #[must_use]
    pub fn new(turn: &TurnView) -> Outline {
        let places: HashMap<&str, usize> =
            turn.sections.iter().enumerate().map(|(at, section)| (section.key.as_str(), at)).collect();
        let edits = Edits::new(turn);
        let mut entries: Vec<Entry> = Vec::with_capacity(turn.sections.len());
        for (at, section) in turn.sections.iter().enumerate() {
            // A parent that does not come first would be the gate's fault. The section then stands
            // at the left edge.
            let parent =
                section.parent.as_deref().and_then(|key| places.get(key)).filter(|&&place| place < at);
            let depth = parent.map_or(0, |&place| entries[place].depth + 1);
            entries.push(Entry { depth, end: at + 1, ..edits.entry(section) });
        }
        for at in (0..entries.len()).rev() {
            let depth = entries[at].depth;
            let inside = entries[at + 1..].iter().take_while(|entry| entry.depth > depth).count();
            entries[at].end = at + 1 + inside;
        }
        Outline { entries }
    }

    /// Returns the entry of a section.
    #[must_use]
    pub fn entry(&self, section: usize) -> Option<&Entry> {
        self.entries.get(section)
    }
}

/// Returns the authors of the changes of one leaf, in order, each once.
#[must_use]
pub fn leaf_authors(turn: &TurnView, leaf: &LeafView) -> Vec<String> {
    Edits::new(turn).authors(leaf)
}

/// The edits of a turn whose effect stands, by target, redactions left out.
pub(crate) struct Edits<'t>(HashMap<&'t str, Vec<&'t EditView>>);

impl<'t> Edits<'t> {
    pub(crate) fn new(turn: &'t TurnView) -> Self {
        let mut by_target: HashMap<&str, Vec<&EditView>> = HashMap::new();
        let standing = turn.edits.iter().filter(|edit| edit.stands && edit.kind != "redact");
        for edit in standing {
            by_target.entry(edit.pointer.as_str()).or_default().push(edit);
        }
        Edits(by_target)
    }

    /// Returns the edits of a value or of anything around it.
    fn on<'a>(&'a self, pointer: &'a str) -> impl Iterator<Item = &'t EditView> + 'a {
        let ends = pointer.match_indices('/').map(|(at, _)| at).filter(|&at| at > 0).chain([pointer.len()]);
        ends.filter_map(|end| self.0.get(&pointer[..end])).flatten().copied()
    }

    /// Returns the authors of the changes of a leaf, in order, each once.
    pub(crate) fn authors(&self, leaf: &LeafView) -> Vec<String> {
        let mut authors = Vec::new();
        for edit in self.on(&leaf.pointer) {
            add(&mut authors, &edit.author);
        }
        authors
    }

    fn entry(&self, section: &SectionView) -> Entry {
        let mut entry = Entry::default();
        for leaf in &section.leaves {
            entry.redactions += leaf.redacted.len();
            if self.0.is_empty() {
                continue;
            }
            for edit in self.on(&leaf.pointer) {
                entry.edited |= edit.kind == "set";
                add(&mut entry.authors, &edit.author);
            }
        }
        entry
    }
}

fn add(authors: &mut Vec<String>, author: &str) {
    if !authors.iter().any(|known| known == author) {
        authors.push(author.to_owned());
    }
}

//! A turn arranged for people: how deep each section lies, its edits, and their authors.
//!
//! It is built once per answer of the gate, so that drawing need not search. It holds indices and
//! words, no text of leaves.

use std::collections::HashMap;

use leafgate_admin::{EditView, HoldState, HoldView, LeafView, SectionView, TurnView};
use leafgate_tree::{LeafKind, NodeType, ValueType};

/// The facts about one section, in the order of [`TurnView::sections`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionFacts {
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
    /// Redactions in its own leaves that a person released.
    pub released: usize,
}

/// The entries of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    entries: Vec<SectionFacts>,
    order: Vec<usize>,
    causes: Vec<HoldCause>,
}

/// A place because of which a turn waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldCause {
    /// Index of the section.
    pub section: usize,
    /// Index of the leaf in it; `None` where the place is none of its own leaves.
    pub leaf: Option<usize>,
    /// The rule, and what is wrong there.
    pub what: String,
}

impl Outline {
    /// Arranges a turn.
    #[must_use]
    pub fn new(turn: &TurnView) -> Outline {
        let places: HashMap<&str, usize> =
            turn.sections.iter().enumerate().map(|(at, section)| (section.key.as_str(), at)).collect();
        let edits = StandingEdits::new(turn);
        let mut entries: Vec<SectionFacts> = Vec::with_capacity(turn.sections.len());
        for (at, section) in turn.sections.iter().enumerate() {
            // A parent that does not come first would be the gate's fault. The section then stands
            // at the left edge.
            let parent =
                section.parent.as_deref().and_then(|key| places.get(key)).filter(|&&place| place < at);
            let depth = parent.map_or(0, |&place| entries[place].depth + 1);
            entries.push(SectionFacts { depth, end: at + 1, ..edits.entry(section) });
        }
        for at in (0..entries.len()).rev() {
            let depth = entries[at].depth;
            let inside = entries[at + 1..].iter().take_while(|entry| entry.depth > depth).count();
            entries[at].end = at + 1 + inside;
        }
        let order = order(turn, &places, &entries);
        Outline { entries, order, causes: causes(turn) }
    }

    /// Returns the outermost section around a section, or itself.
    #[must_use]
    pub fn outermost(&self, section: usize) -> usize {
        let before = self.entries.get(..=section).unwrap_or_default();
        before.iter().rposition(|entry| entry.depth == 0).unwrap_or(section)
    }

    /// Returns the sections in the order in which a person sees them: pinned ones first, each with
    /// what is inside it.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the places because of which the turn waits, those that still are as they were.
    #[must_use]
    pub fn causes(&self) -> &[HoldCause] {
        &self.causes
    }

    /// Returns the entry of a section.
    #[must_use]
    pub fn entry(&self, section: usize) -> Option<&SectionFacts> {
        self.entries.get(section)
    }
}

fn order(turn: &TurnView, places: &HashMap<&str, usize>, entries: &[SectionFacts]) -> Vec<usize> {
    let mut order = Vec::with_capacity(entries.len());
    let mut is_placed = vec![false; entries.len()];
    let pinned = turn.pinned.iter().filter_map(|key| places.get(key.as_str()).copied());
    for first in pinned.chain(0..entries.len()) {
        if !is_placed[first] {
            let inside = first..entries[first].end;
            is_placed[inside.clone()].fill(true);
            order.extend(inside);
        }
    }
    order
}

fn causes(turn: &TurnView) -> Vec<HoldCause> {
    let open = |hold: &&HoldView| hold.blocks || hold.state == HoldState::Open;
    let mut causes = Vec::new();
    for hold in turn.summary.holds.iter().filter(open) {
        for place in hold.places.iter().filter(|place| place.stands) {
            let Some((section, leaf)) = place.at.as_deref().and_then(|at| find(turn, at)) else { continue };
            causes.push(HoldCause { section, leaf, what: format!("{}: {}", hold.rule, place.what) });
        }
    }
    causes
}

/// Finds the section of a pointer: by the leaf that it names, else by the innermost section around
/// it.
fn find(turn: &TurnView, pointer: &str) -> Option<(usize, Option<usize>)> {
    let is_in = |outer: &str| {
        pointer.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for (at, section) in turn.sections.iter().enumerate() {
        // A string that was set as a whole is one leaf, and the place may lie in what it was before.
        let leaf = section.leaves.iter().position(|leaf| !leaf.pointer.is_empty() && is_in(&leaf.pointer));
        if leaf.is_some() {
            return Some((at, leaf));
        }
    }
    // A message that was put in has no place in the body as received.
    let received = |section: &&SectionView| !section.pointer.is_empty() || pointer.is_empty();
    let around = turn.sections.iter().enumerate();
    let around = around.filter(|(_, section)| received(section) && is_in(&section.pointer));
    around.max_by_key(|(_, section)| section.pointer.len()).map(|(at, _)| (at, None))
}

/// Returns the authors of the changes of one leaf, in order, each once.
#[must_use]
pub fn leaf_authors(turn: &TurnView, leaf: &LeafView) -> Vec<String> {
    StandingEdits::new(turn).authors(leaf)
}

/// The edits of a turn whose effect stands, by target. Redactions, releases and insertions are left
/// out: leaves mark the first two where they stand.
pub(crate) struct StandingEdits<'t>(HashMap<&'t str, Vec<&'t EditView>>);

impl<'t> StandingEdits<'t> {
    pub(crate) fn new(turn: &'t TurnView) -> Self {
        let mut by_target: HashMap<&str, Vec<&EditView>> = HashMap::new();
        // The target of an insertion is the message behind it, of which it changes nothing.
        let changes = |edit: &&EditView| !matches!(edit.kind.as_str(), "redact" | "release" | "insert");
        let standing = turn.edits.iter().filter(|edit| edit.stands).filter(changes);
        for edit in standing {
            by_target.entry(edit.pointer.as_str()).or_default().push(edit);
        }
        StandingEdits(by_target)
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

    fn entry(&self, section: &SectionView) -> SectionFacts {
        let mut entry = SectionFacts::default();
        for leaf in &section.leaves {
            entry.redactions += leaf.redacted.len();
            entry.released += leaf.released.len();
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

/// Returns the key of what leaves a section out: the section's own, or, for a call that is all that
/// its message holds, the message's. So each call of an answer is left out where it is looked at.
#[must_use]
pub fn left_out_by(turn: &TurnView, at: usize) -> Option<&str> {
    let section = turn.sections.get(at)?;
    let parent =
        section.parent.as_deref().and_then(|key| turn.sections.iter().find(|around| around.key == key));
    let Some(message) = parent.filter(|_| section.node_type == NodeType::ToolCall && !section.deletable)
    else {
        return Some(&section.key);
    };
    let is_alone = || turn.sections.iter().filter(|inner| inner.parent == section.parent).count() == 1;
    let says = |leaf: &LeafView| {
        leaf.kind == LeafKind::Text && leaf.value == ValueType::Text && !leaf.text.expose().is_empty()
    };
    let holds_it_alone = !message.leaves.iter().any(says) && is_alone();
    Some(if holds_it_alone { &message.key } else { &section.key })
}

//! A turn arranged for people: how deep each section lies, its edits, and their authors.
//!
//! It is built once per answer of the gate, so that drawing need not search. It holds indices and
//! words, no text of leaves.

use std::collections::{BTreeSet, HashMap};

use leafgate_admin::{EditView, HoldState, HoldView, LeafView, SectionView, TurnView};
use leafgate_tree::{NodeType, SectionKind};

use crate::choice;

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
    /// Whether a place in its own leaves holds the turn.
    pub holds: bool,
    /// Whether its row stands for what is inside it.
    pub folded: bool,
    /// The group that it belongs to with all that is inside it.
    pub group: Option<usize>,
}

impl SectionFacts {
    /// Adds what a section inside it has.
    pub(crate) fn take_in(&mut self, inner: &SectionFacts) {
        inner.authors.iter().for_each(|author| add(&mut self.authors, author));
        self.edited |= inner.edited;
        self.redactions += inner.redactions;
        self.released += inner.released;
        self.holds |= inner.holds;
    }
}

/// Sections of which a person rarely changes anything: they are one row until that is unfolded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionGroup {
    /// Its name, which no section's key is.
    pub name: &'static str,
    /// The outermost ones of its sections.
    pub sections: Vec<usize>,
    /// Whether its row stands for them.
    pub folded: bool,
}

/// A row of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlineRow {
    /// A group, by its place.
    Group(usize),
    /// A section.
    Section(usize),
}

/// The entries of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    entries: Vec<SectionFacts>,
    /// The groups.
    pub groups: Vec<SectionGroup>,
    /// The outermost rows.
    tops: Vec<OutlineRow>,
    /// The rows that are not folded away, in the order in which a person sees them.
    pub rows: Vec<OutlineRow>,
    /// The places because of which the turn waits, those that still are as they were.
    pub causes: Vec<HoldCause>,
    /// The section with what the user said last.
    pub words: Option<usize>,
    /// Of a turn whose edits are to be saved: how many of its sections are shown first.
    first: Option<usize>,
    /// What a person folded or unfolded, by the keys of sections and the names of groups.
    toggled: BTreeSet<String>,
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

/// The names of the groups.
const EARLIER: &str = "Earlier messages";
const LATER: &str = "Later messages";
const OPTIONS: &str = "Options";

impl Outline {
    /// Arranges a turn. What nobody folded is folded where it is of an earlier turn or an option.
    pub fn new(turn: &TurnView) -> Outline {
        Outline::showing(None, turn)
    }

    /// Arranges a turn of which so many sections are shown first, and those behind them are one row.
    pub(crate) fn showing(first: Option<usize>, turn: &TurnView) -> Outline {
        Outline { first, ..Outline::default() }.renewed(turn)
    }

    /// Arranges the same turn after a change: what a person folded stays so.
    #[must_use]
    pub(crate) fn renewed(self, turn: &TurnView) -> Outline {
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
        let causes = causes(turn);
        causes.iter().for_each(|cause| entries[cause.section].holds = true);
        let words = choice::words(turn, &entries).filter(|_| self.first.is_none());
        let Outline { first, toggled, .. } = self;
        let mut outline = Outline { entries, causes, words, first, toggled, ..Outline::default() };
        outline.group(turn, &places);
        outline.fold(turn);
        outline
    }

    /// Puts pinned sections first, then the system's, then messages, and options behind them.
    fn group(&mut self, turn: &TurnView, places: &HashMap<&str, usize>) {
        let mut pinned: Vec<usize> =
            turn.pinned.iter().filter_map(|key| places.get(key.as_str()).copied()).collect();
        pinned.retain(|&at| self.entries[at].depth == 0);
        let newest = self.words.map_or(0, |at| self.outermost(at));
        let [mut system, mut earlier, mut messages, mut later, mut options] = [const { Vec::new() }; 5];
        let tops = (0..self.entries.len()).filter(|&at| self.entries[at].depth == 0);
        for at in tops.filter(|at| !pinned.contains(at)) {
            let section = &turn.sections[at];
            match section.node_type {
                NodeType::RequestOption => &mut options,
                _ if self.first.is_some_and(|first| system.len() >= first) => &mut later,
                _ if self.first.is_some() || section.kind == SectionKind::System => &mut system,
                _ if at < newest => &mut earlier,
                _ => &mut messages,
            }
            .push(at);
        }
        // A request without messages is all options.
        let has_messages = turn.sections.iter().any(|section| section.node_type == NodeType::Message);
        let mut tops: Vec<_> = pinned.into_iter().chain(system).map(OutlineRow::Section).collect();
        for (name, sections) in [(EARLIER, earlier), ("", messages), (LATER, later), (OPTIONS, options)] {
            if name.is_empty() || sections.len() < 2 || !has_messages {
                tops.extend(sections.into_iter().map(OutlineRow::Section));
                continue;
            }
            let place = self.groups.len();
            for &first in &sections {
                let inside = first..self.entries[first].end;
                self.entries[inside].iter_mut().for_each(|entry| entry.group = Some(place));
            }
            tops.push(OutlineRow::Group(place));
            self.groups.push(SectionGroup { name, sections, folded: true });
        }
        self.tops = tops;
    }

    /// Says what is folded, and which rows that leaves.
    fn fold(&mut self, turn: &TurnView) {
        for group in &mut self.groups {
            group.folded = !self.toggled.contains(group.name);
        }
        for at in 0..self.entries.len() {
            let (section, entry) = (&turn.sections[at], &self.entries[at]);
            let inside = entry.end - at - 1;
            let is_part = |at: usize| turn.sections[at].kind == SectionKind::ContentPart;
            let at_rest = entry.group.is_some()
                || section.node_type == NodeType::RequestOption
                || (inside == 1 && is_part(at + 1));
            self.entries[at].folded = inside > 0 && at_rest != self.toggled.contains(&section.key);
        }
        let mut rows = Vec::new();
        for &top in &self.tops {
            match top {
                OutlineRow::Section(at) => self.push_rows(at, &mut rows),
                OutlineRow::Group(group) => {
                    rows.push(top);
                    let group = &self.groups[group];
                    let open = group.sections.iter().filter(|_| !group.folded);
                    open.for_each(|&at| self.push_rows(at, &mut rows));
                }
            }
        }
        self.rows = rows;
    }

    fn push_rows(&self, outermost: usize, rows: &mut Vec<OutlineRow>) {
        let mut at = outermost;
        while at < self.entries[outermost].end {
            rows.push(OutlineRow::Section(at));
            at = if self.entries[at].folded { self.entries[at].end } else { at + 1 };
        }
    }

    /// Folds what is unfolded, and the other way round: a section by its key, a group by its name.
    pub(crate) fn toggle(&mut self, turn: &TurnView, key: &str) {
        if !self.toggled.remove(key) {
            self.toggled.insert(key.to_owned());
        }
        self.fold(turn);
    }

    /// Unfolds what is around a section.
    pub(crate) fn unfold_to(&mut self, turn: &TurnView, section: usize) {
        if let Some(group) = self.entries.get(section).and_then(|entry| entry.group)
            && self.groups[group].folded
        {
            self.toggle(turn, self.groups[group].name);
        }
        for at in self.outermost(section)..section {
            if self.entries[at].folded && section < self.entries[at].end {
                self.toggle(turn, &turn.sections[at].key);
            }
        }
    }

    /// Returns the outermost section around a section, or itself.
    pub fn outermost(&self, section: usize) -> usize {
        let before = self.entries.get(..=section).unwrap_or_default();
        before.iter().rposition(|entry| entry.depth == 0).unwrap_or(section)
    }

    /// Returns the sections in the order in which a person sees them: pinned ones first, each with
    /// what is inside it, whether it is folded or not.
    pub fn order(&self) -> Vec<usize> {
        let firsts = self.tops.iter().flat_map(|top| match top {
            OutlineRow::Section(at) => std::slice::from_ref(at),
            OutlineRow::Group(group) => self.groups[*group].sections.as_slice(),
        });
        firsts.flat_map(|&at| at..self.entries[at].end).collect()
    }

    /// Returns the row of a section, or of what is folded around it.
    pub fn row_of(&self, section: usize) -> Option<usize> {
        let group = self.entries.get(section)?.group;
        let around = |row: &OutlineRow| match *row {
            OutlineRow::Section(at) => at == section || (at < section && section < self.entries[at].end),
            OutlineRow::Group(at) => group == Some(at),
        };
        self.rows.iter().rposition(around)
    }

    /// Returns the facts about a section, and about all that its row stands for.
    pub fn shown(&self, section: usize) -> Option<SectionFacts> {
        let mut facts = self.entries.get(section)?.clone();
        if facts.folded {
            self.entries[section + 1..facts.end].iter().for_each(|inner| facts.take_in(inner));
        }
        Some(facts)
    }

    /// Returns the entry of a section.
    pub fn entry(&self, section: usize) -> Option<&SectionFacts> {
        self.entries.get(section)
    }
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
        // A section that is left out says so itself.
        let changes = |edit: &&EditView| !matches!(edit.kind.as_str(), "delete" | "restore");
        self.on(&leaf.pointer).filter(changes).for_each(|edit| add(&mut authors, &edit.author));
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

//! The request as it stands now: a document and the journal of its edits.
//!
//! A draft holds no second tree. For each leaf that somebody touched it keeps the states that the leaf has been in, as pieces of the
//! received text; for each deleted section a mark. Everything else is read from the document, so that a request that nobody edits
//! costs nothing here and leaves as the very buffer that came.

mod deleted;
mod error;
mod history;
mod kept;
mod names;
mod options;
mod put_in;
mod release;
mod sections;
mod standing;
mod veil;
mod whole;

use deleted::Deleted;
pub use error::EditError;
use names::HiddenKeys;
pub use options::PutOption;
pub(crate) use put_in::Added;
use put_in::PutIn;
pub use release::MarkedSpan;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::document::Document;
use crate::journal::{
    Author, Edit, EditKind, Journal, Redaction, RedactionRecord, Switch, Switched, Version,
};
use crate::kinds::ValueType;
use crate::node::{Flags, NodeId};
use crate::pieces::{self, Labelled, LeafPiece, LeafPieces};
use crate::project::Access;
use crate::scan::is_bare_scalar;
use crate::text::LeafText;

/// A request and its edits.
#[derive(Clone, derive_more::Debug)]
#[debug("Draft({document:?}, {} edits)", journal.done.len())]
pub struct Draft {
    document: Arc<Document>,
    leaves: BTreeMap<NodeId, Arc<LeafState>>,
    pub(crate) deleted: Deleted,
    /// Everything that was ever put in, whether it stands now or not.
    put_in: Vec<PutIn>,
    pins: BTreeMap<NodeId, Author>,
    /// What nobody may change, and what nobody may leave out, each with whoever keeps it.
    kept_texts: BTreeMap<NodeId, Author>,
    kept_sections: BTreeMap<NodeId, Author>,
    /// Keys that no name may spell.
    hidden_keys: Arc<HiddenKeys>,
    journal: Journal,
}

/// A leaf that somebody touched.
#[derive(Clone, Debug)]
struct LeafState {
    /// Bytes of the received text.
    length: usize,
    /// Every state that it has been in; the first is the received one with its redactions.
    states: Vec<LeafPieces>,
    current: usize,
    hidden: Vec<Labelled>,
}

impl LeafState {
    fn untouched(length: usize) -> Self {
        LeafState { length, states: vec![LeafPieces::untouched(length)], current: 0, hidden: Vec::new() }
    }

    fn pieces(&self) -> &LeafPieces {
        &self.states[self.current]
    }
}

impl Draft {
    /// A draft without edits.
    pub fn new(document: Arc<Document>) -> Draft {
        Draft {
            document,
            leaves: BTreeMap::new(),
            deleted: Deleted::default(),
            put_in: Vec::new(),
            pins: BTreeMap::new(),
            kept_texts: BTreeMap::new(),
            kept_sections: BTreeMap::new(),
            hidden_keys: Arc::default(),
            journal: Journal::default(),
        }
    }

    /// The request as received.
    pub fn document(&self) -> &Arc<Document> {
        &self.document
    }

    /// Bytes of memory that the request and its edits take, about. Whoever keeps drafts bounds them by it.
    pub fn memory(&self) -> usize {
        let leaf = |state: &LeafState| {
            let states: usize = state.states.iter().map(LeafPieces::memory).sum();
            // The node of the map around it is about as large as the state itself.
            2 * size_of::<LeafState>() + states + state.hidden.len() * size_of::<Labelled>()
        };
        let leaves: usize = self.leaves.values().map(|state| leaf(state)).sum();
        let put_in: usize = self.put_in.iter().map(|put_in| put_in.what.memory()).sum();
        let kept = self.kept_texts.len() + self.kept_sections.len();
        let marks = (self.deleted.len() + self.pins.len() + kept) * 2 * size_of::<(NodeId, Author)>();
        self.document.memory() + leaves + put_in + marks + self.hidden_keys.memory() + self.journal.memory()
    }

    /// The present text of a leaf, or of a string that spells a document.
    pub fn text(&self, node: NodeId) -> LeafText<'_> {
        let original = self.document.content_text(node);
        if self.is_as_received(node) {
            return LeafText::new(original);
        }
        LeafText::new(self.pieces_of(node, original.len()).text(&original))
    }

    /// How the present text of a leaf begins: at least so many bytes where it has as many, and all of it where somebody touched it.
    pub fn text_start(&self, node: NodeId, bytes: usize) -> LeafText<'_> {
        // `\u0041` may spell a byte. Of an escape that the cut goes through, fewer than twelve bytes are left out.
        match self.is_as_received(node) && !self.document.is_raw() {
            true => LeafText::new(self.document.text_start(node, 6 * bytes + 12)),
            false => self.text(node),
        }
    }

    /// Whether no edit and no redaction ever touched a leaf, or anything in a string that spells a document.
    pub fn is_as_received(&self, node: NodeId) -> bool {
        !self.leaves.contains_key(&node) && !self.is_touched_within(node)
    }

    /// Where redaction wrote in the present text of a leaf, with the labels.
    pub fn redacted(&self, node: NodeId) -> Vec<(Range<usize>, Arc<str>)> {
        if self.is_as_received(node) {
            return Vec::new();
        }
        self.pieces_of(node, self.document.content_text(node).len()).redacted()
    }

    /// The values in whose received text redaction ever took something away.
    pub(crate) fn hidden_leaves(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.leaves.iter().filter(|(_, state)| !state.hidden.is_empty()).map(|(&node, _)| node)
    }

    /// Whether the present text of a leaf holds something that an author other than redaction wrote.
    pub fn is_written(&self, node: NodeId) -> bool {
        self.leaves.get(&node).is_some_and(|state| state.pieces().is_written())
    }

    /// Whether the present text of a leaf may spell a document whose inner leaves nobody has walked: it lies beyond a cap, or was
    /// written since. Whoever looks for something in it looks below the escapes too.
    pub fn is_unwalked(&self, node: NodeId) -> bool {
        let beyond_caps = self.document.node(node).flags.has(Flags::BEYOND_CAPS);
        beyond_caps || self.is_written(node) && self.text(node).expose().trim_start().starts_with(['{', '['])
    }

    /// The leaves that hold something written, in body order.
    ///
    /// Whoever redacts again does so after each author: undo reaches the states in between.
    pub fn written(&self) -> Vec<NodeId> {
        let written = self.leaves.iter().filter(|(_, state)| state.pieces().is_written());
        written.map(|(&node, _)| node).filter(|&node| self.covered_by(node).is_none()).collect()
    }

    /// The received text of a leaf for people: what was ever redacted in it is shown as `mask(label)`.
    pub fn masked_original(&self, node: NodeId, mask: impl Fn(&str) -> String) -> LeafText<'_> {
        let original = self.document.content_text(node);
        let hidden = self.hidden(node);
        if hidden.is_empty() {
            return LeafText::new(original);
        }
        LeafText::new(LeafPieces::untouched(original.len()).masked(&original, &hidden, mask))
    }

    /// The text of a leaf before and after an edit that set it, for people: masked like [`Draft::masked_original`].
    ///
    /// `None` for edits of another kind.
    pub fn before_and_after(
        &self,
        edit: &Edit,
        mask: impl Fn(&str) -> String,
    ) -> Option<(LeafText<'_>, LeafText<'_>)> {
        let [Switch { what: Switched::Leaf(node), from, to }] = *edit.switches.as_slice() else {
            return None;
        };
        let original = self.document.content_text(node);
        let state = self.leaves.get(&node)?;
        let hidden = self.hidden(node);
        let view = |at: usize| LeafText::new(state.states[at].masked(&original, &hidden, &mask));
        Some((view(from), view(to)))
    }

    /// Whether an author may change a leaf.
    ///
    /// # Errors
    /// Says why not.
    pub fn may_edit(&self, node: NodeId, author: &Author) -> Result<(), EditError> {
        self.is_accessible(node, author.is_person())?;
        self.may_change(node, author)
    }

    /// Whether its format lets a person change a leaf, or anybody.
    fn is_accessible(&self, node: NodeId, by_person: bool) -> Result<(), EditError> {
        match self.document.projection.access(node) {
            Access::Frozen => Err(EditError::Frozen),
            Access::Opaque => Err(EditError::Opaque),
            Access::Protected if !by_person => Err(EditError::Protected),
            Access::Protected | Access::Open => Ok(()),
        }
    }

    /// Whether an author may change a leaf now, whatever its format says of it.
    fn may_change(&self, node: NodeId, author: &Author) -> Result<(), EditError> {
        if let Some(by) = self.kept_by(node) {
            return Err(EditError::Kept { by: by.clone() });
        }
        if !author.is_person() {
            self.is_free(node)?;
        }
        self.is_there(node)
    }

    /// Whether a leaf is part of what would leave.
    fn is_there(&self, node: NodeId) -> Result<(), EditError> {
        match (self.is_deleted(node), self.covered_by(node)) {
            (true, _) => Err(EditError::Deleted),
            (false, Some(_)) => Err(EditError::Covered),
            (false, None) => Ok(()),
        }
    }

    /// Gives a leaf another text; for a number, boolean or null its JSON spelling. `None`: it had that text already.
    ///
    /// What the old text and the new have in common at both ends keeps its spelling, and what was released stays so wherever the new
    /// text has it too. A person may set a string that spells a document as a whole.
    ///
    /// # Errors
    /// Says why not; nothing has changed then.
    pub fn set(&mut self, node: NodeId, new: &str, author: &Author) -> Result<Option<Version>, EditError> {
        let released: Vec<_> = self.released(node).into_iter().map(|span| span.at).collect();
        let edits = pieces::difference_around(self.text(node).expose(), new, &released);
        self.splice(node, edits, author)
    }

    /// Replaces ranges of the present text of a leaf, as one edit. `None`: the text is what it was.
    ///
    /// # Errors
    /// Says why not; nothing has changed then.
    pub fn splice(
        &mut self,
        node: NodeId,
        edits: Vec<(Range<usize>, String)>,
        author: &Author,
    ) -> Result<Option<Version>, EditError> {
        self.may_edit(node, author)?;
        self.replace(node, edits, author)
    }

    /// Does what [`Draft::splice`] does, of a leaf that the author may change.
    fn replace(
        &mut self,
        node: NodeId,
        edits: Vec<(Range<usize>, String)>,
        author: &Author,
    ) -> Result<Option<Version>, EditError> {
        let was = self.settable(node)?;
        let text = self.text(node).into_cow().into_owned();
        check_ranges(&text, edits.iter().map(|(range, _)| range))?;
        let edits: Vec<_> = edits.into_iter().filter(|(range, with)| text[range.clone()] != **with).collect();
        if edits.is_empty() {
            return Ok(None);
        }
        let edits = edits.into_iter().map(|(range, with)| (range, LeafPiece::Written(with.into())));
        let original = self.document.content_text(node);
        let mut pieces = self.pieces_of(node, original.len()).replace(edits);
        let new = pieces.text(&original);
        if was != ValueType::Text && !is_bare_scalar(&new) {
            return Err(EditError::BadScalar { was });
        }
        if new == *original && !self.is_touched_within(node) && self.hidden(node).is_empty() {
            pieces = LeafPieces::untouched(original.len());
        }
        let length = original.len();
        let switch = self.next_state(node, length, pieces);
        Ok(Some(self.make(author, EditKind::Set, node, vec![switch])))
    }

    /// Returns a leaf to be changed, whose received text has so many bytes.
    fn state_mut(&mut self, node: NodeId, length: usize) -> &mut LeafState {
        Arc::make_mut(self.leaves.entry(node).or_insert_with(|| LeafState::untouched(length).into()))
    }

    /// Adds a state to a leaf; gives the step to it.
    fn next_state(&mut self, node: NodeId, length: usize, pieces: LeafPieces) -> Switch {
        let state = self.state_mut(node, length);
        state.states.push(pieces);
        Switch { what: Switched::Leaf(node), from: state.current, to: state.states.len() - 1 }
    }

    /// Redacts ranges of the present text of a leaf, for good. Pins do not stop it, and undo does not reach it.
    ///
    /// # Errors
    /// Protected, frozen, opaque and covered leaves cannot be redacted; a number only by a number. Nothing has changed then.
    pub fn redact(
        &mut self,
        node: NodeId,
        redactions: &[Redaction],
        author: &Author,
    ) -> Result<(), EditError> {
        let was = self.redactable(node)?;
        let original = self.document.content_text(node);
        let before = self.pieces_of(node, original.len());
        let ranges = redactions.iter().map(|one| &one.at);
        match before.is_untouched(original.len()) {
            // The text is the received one, and a large one is not decoded twice.
            true => check_ranges(&original, ranges.clone())?,
            false => check_ranges(&before.text(&original), ranges.clone())?,
        }
        let received = before.received(ranges);
        let first = self.journal.redactions.len();
        let mut records = Vec::with_capacity(redactions.len());
        let mut edits = Vec::with_capacity(redactions.len());
        let (mut grown, mut shrunk) = (0, 0);
        for (place, (redaction, covered)) in redactions.iter().zip(&received).enumerate() {
            let number = first + place;
            let start = redaction.at.start + grown - shrunk;
            grown += redaction.replacement.len();
            shrunk += redaction.at.len();
            records.push(RedactionRecord {
                number,
                node,
                at: start..start + redaction.replacement.len(),
                label: redaction.label.clone(),
                replacement: redaction.replacement.as_str().into(),
                removed: redaction.at.len(),
                author: author.clone(),
                detector: redaction.detector.clone(),
                terms: redaction.terms.clone(),
                received: covered.whole(),
            });
            let text = redaction.replacement.as_str().into();
            let new = LeafPiece::Redacted { label: redaction.label.clone(), text, record: Some(number) };
            edits.push((redaction.at.clone(), new));
        }
        let pieces = before.replace(edits);
        if was != ValueType::Text && !is_bare_scalar(&pieces.text(&original)) {
            return Err(EditError::Unredactable { was });
        }
        let labelled = redactions
            .iter()
            .zip(received)
            .flat_map(|(one, covered)| covered.stretches.into_iter().map(|at| (at, Arc::clone(&one.label))));
        let (length, hidden) = (original.len(), labelled.collect());
        self.amend(node, length, pieces, hidden);
        Arc::make_mut(&mut self.journal.redactions).extend(records);
        Ok(())
    }

    /// Puts other pieces in the place of a leaf's present ones, and hides stretches of its received text.
    fn amend(&mut self, node: NodeId, length: usize, pieces: LeafPieces, hidden: Vec<Labelled>) {
        let state = self.state_mut(node, length);
        let current = state.current;
        state.states[current] = pieces;
        pieces::hide(&mut state.hidden, hidden);
    }

    /// Returns the type of a leaf whose text may be redacted.
    fn redactable(&self, node: NodeId) -> Result<ValueType, EditError> {
        self.is_accessible(node, false)?;
        let was = self.settable(node)?;
        if self.covered_by(node).is_some() { Err(EditError::Covered) } else { Ok(was) }
    }

    /// The type of a value that can be set, a string that spells a document included.
    fn settable(&self, node: NodeId) -> Result<ValueType, EditError> {
        self.document.settable(node).map(|leaf| leaf.value_type()).ok_or(EditError::NotALeaf)
    }

    /// Keeps rules, plugins and saved edits away from a value and everything below it. The first to pin it is named.
    pub fn pin(&mut self, node: NodeId, author: &Author) {
        self.pins.entry(node).or_insert_with(|| author.clone());
    }

    /// Whether a value, or something around it, is pinned.
    pub fn is_pinned(&self, node: NodeId) -> bool {
        self.pinned_by(node).is_some()
    }

    /// Who pinned something inside a value, or around it.
    pub fn pin_in(&self, node: NodeId) -> Option<&Author> {
        let inside = self.pins.range(self.document.nodes_in(node)).next();
        inside.map(|(_, by)| by).or_else(|| self.pinned_by(node))
    }

    /// Nothing around a value or inside it is pinned by anybody.
    fn is_free(&self, node: NodeId) -> Result<(), EditError> {
        match self.pin_in(node) {
            Some(by) => Err(EditError::Pinned { by: by.clone() }),
            None => Ok(()),
        }
    }

    fn pinned_by(&self, node: NodeId) -> Option<&Author> {
        if self.pins.is_empty() {
            return None;
        }
        self.document.way_up(node).find_map(|at| self.pins.get(&at))
    }

    /// Whether anything differs from what was received, redactions included.
    pub fn is_dirty(&self) -> bool {
        !self.deleted.is_empty()
            || self.put_in.iter().any(|put_in| put_in.stands)
            || self.touched().next().is_some()
    }

    /// The edits that are in force, in order.
    pub fn edits(&self) -> impl Iterator<Item = &Edit> {
        self.journal.done.iter()
    }

    /// The edits that were undone and can be made again; the last one comes first.
    pub fn undone_edits(&self) -> impl Iterator<Item = &Edit> {
        self.journal.undone.iter()
    }

    /// The redactions, in order.
    pub fn redactions(&self) -> impl Iterator<Item = &RedactionRecord> {
        self.journal.redactions.iter()
    }

    /// The leaves whose text differs from what was received, in body order.
    pub fn changed_leaves(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.touched().map(|(node, ..)| node)
    }

    /// Values with changes that stand: their present pieces, and the length of the text that these are pieces of.
    pub(crate) fn touched(&self) -> impl Iterator<Item = (NodeId, &LeafPieces, usize)> + '_ {
        self.leaves
            .iter()
            .map(|(&node, state)| (node, state.pieces(), state.length))
            .filter(|&(node, pieces, length)| !pieces.is_untouched(length) && self.covered_by(node).is_none())
    }

    /// Bytes of the present text of a leaf that somebody touched.
    pub(crate) fn changed_length(&self, node: NodeId) -> usize {
        self.leaves.get(&node).map_or(0, |state| state.pieces().len())
    }
}

/// Ranges are sorted, apart, inside the text and on character boundaries.
fn check_ranges<'r>(text: &str, ranges: impl Iterator<Item = &'r Range<usize>>) -> Result<(), EditError> {
    let mut at = 0;
    for range in ranges {
        let fits = at <= range.start
            && range.start <= range.end
            && text.is_char_boundary(range.start)
            && text.is_char_boundary(range.end);
        if !fits {
            return Err(EditError::BadRange);
        }
        at = range.end;
    }
    Ok(())
}

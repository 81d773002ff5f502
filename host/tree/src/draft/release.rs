//! Releases: a person takes a redaction back, so that the value leaves as it came.
//!
//! The received bytes are shown again by their range, never by a copy: no journal, log or record gets the value. What redaction found
//! stays hidden in every view of how a text was; only the text as it would leave shows it. A release is an edit, so undo and reset
//! take it back, and it ends with the draft. Redaction that looks again asks here which stretches a person let go.
//!
//! Nothing repeats a release: a capture leaves out texts with one, a replay reports it as a misfit, and the next request is judged
//! without.

use std::ops::Range;
use std::sync::Arc;

use super::{Draft, EditError, LeafState};
use crate::journal::{Author, Edit, EditKind, FindingId, RedactionRecord, ReleaseTerms, Switched, Version};
use crate::node::NodeId;
use crate::pieces::LeafPieces;

/// A stretch of the present text of a leaf that redaction wrote, or that a person released.
#[derive(Clone, Debug)]
pub struct MarkedSpan<'d> {
    /// UTF-8 byte range of the present text.
    pub at: Range<usize>,
    /// What was recognised there.
    pub label: Arc<str>,
    /// The redaction, where it was made in this very leaf.
    pub redaction: Option<&'d RedactionRecord>,
}

impl Draft {
    /// Returns a number for a finding whose pieces are released together.
    pub fn new_finding(&mut self) -> FindingId {
        self.journal.next_finding()
    }

    /// Takes a redaction back in the name of a person, with all other pieces of the same finding: the received values leave.
    ///
    /// # Errors
    /// Says why not; nothing has changed then. Whether its terms allow it is asked before anything else.
    pub fn release(&mut self, number: usize) -> Result<Version, EditError> {
        let record = self.redaction(number).ok_or(EditError::NoSuchRedaction)?;
        let (finding, target) = (releasable(record)?, record.node);
        let mut shown: Vec<(NodeId, LeafPieces)> = Vec::new();
        for piece in self.redactions().filter(|piece| piece.terms == ReleaseTerms::Releasable(finding)) {
            let node = piece.node;
            self.is_there(node)?;
            let received = piece.received.as_ref().ok_or(EditError::NotReceived)?;
            let before = shown.iter().position(|(of, _)| *of == node);
            let now = before.map(|at| &shown[at].1).or(self.leaves.get(&node).map(|state| state.pieces()));
            let after =
                now.and_then(|now| now.release(piece.number, received)).ok_or(EditError::NotRedacted)?;
            match before {
                Some(at) => shown[at].1 = after,
                None => shown.push((node, after)),
            }
        }
        let steps = shown.into_iter().map(|(node, pieces)| {
            let length = self.document.content_text(node).len();
            self.next_state(node, length, pieces)
        });
        let switches = steps.collect();
        Ok(self.make(&Author::Person, EditKind::Release, target, switches))
    }

    /// Returns the redaction of a number.
    pub fn redaction(&self, number: usize) -> Option<&RedactionRecord> {
        self.journal.redactions.get(number)
    }

    /// Returns the received value of a redaction, for whoever decides whether it may leave.
    pub fn received_value(&self, record: &RedactionRecord) -> Option<crate::LeafText<'_>> {
        let original = self.document.content_text(record.node);
        let value = original.get(record.received.clone()?)?.to_owned();
        Some(crate::LeafText::new(value))
    }

    /// Returns where a person released what redaction had taken away, in the present text of a leaf.
    pub fn released(&self, node: NodeId) -> Vec<MarkedSpan<'_>> {
        let Some(state) = self.leaves.get(&node) else { return Vec::new() };
        let span = |(at, label, number): (Range<usize>, &Arc<str>, usize)| MarkedSpan {
            at,
            label: Arc::clone(label),
            redaction: self.redaction(number),
        };
        state.pieces().released().map(span).collect()
    }

    /// Returns where redaction wrote in the present text of a leaf, with the redactions.
    pub fn redactions_in(&self, node: NodeId) -> Vec<MarkedSpan<'_>> {
        if self.is_as_received(node) {
            return Vec::new();
        }
        let pieces = self.pieces_of(node, self.document.content_text(node).len());
        let span = |(at, label, number): (Range<usize>, &Arc<str>, Option<usize>)| MarkedSpan {
            at,
            label: Arc::clone(label),
            redaction: number.and_then(|number| self.redaction(number)),
        };
        pieces.redactions().map(span).collect()
    }

    /// Returns true if and only if anything of a leaf's present text was released.
    pub fn has_released(&self, node: NodeId) -> bool {
        self.leaves.get(&node).is_some_and(|state| state.pieces().released().next().is_some())
    }

    /// Returns true if and only if the value of a redaction leaves because it was released.
    pub fn is_released(&self, record: &RedactionRecord) -> bool {
        let shows =
            |state: &Arc<LeafState>| state.pieces().released().any(|(_, _, number)| number == record.number);
        self.is_there(record.node).is_ok() && self.leaves.get(&record.node).is_some_and(shows)
    }

    /// Returns the redactions that an edit released; none where it is another kind of edit.
    pub fn released_by(&self, edit: &Edit) -> impl Iterator<Item = &RedactionRecord> {
        let leaves = edit.switches.iter().filter(|_| edit.kind == EditKind::Release);
        let shown = leaves.filter_map(|switch| match switch.what {
            Switched::Leaf(node) => Some((self.leaves.get(&node)?, switch.from, switch.to)),
            Switched::Deleted(_) | Switched::PutIn(_) => None,
        });
        let numbers = shown.flat_map(|(state, from, to)| {
            let before: Vec<usize> = state.states[from].released().map(|(_, _, number)| number).collect();
            let after = state.states[to].released().map(|(_, _, number)| number);
            after.filter(|number| !before.contains(number)).collect::<Vec<_>>()
        });
        numbers.filter_map(|number| self.redaction(number))
    }
}

/// Whether a redaction may be released at all; gives the finding that it is a piece of.
fn releasable(record: &RedactionRecord) -> Result<FindingId, EditError> {
    match &record.terms {
        ReleaseTerms::Releasable(finding) => Ok(*finding),
        ReleaseTerms::Kept { by } => {
            let by = by.as_ref().map_or_else(|| record.author.clone(), |by| Author::rule(Arc::clone(by)));
            Err(EditError::NotReleasable { by })
        }
    }
}

//! What of the journal stands in the request as it would leave.
//!
//! The journal keeps every edit that was made, because undo reaches them. What people are told is what stands: an edit that was
//! undone, that a reset took back, or whose section is left out, changes nothing of what would leave.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Draft;
use crate::journal::{Edit, EditKind, RedactionRecord, Switch};
use crate::node::NodeId;

impl Draft {
    /// Returns the edits whose effect stands in the request as it would leave, in the order in which they were made.
    #[must_use]
    pub fn standing_edits(&self) -> Vec<&Edit> {
        let mut way = WayBack {
            draft: self,
            states: BTreeMap::new(),
            deleted: BTreeSet::new(),
            inserted: BTreeSet::new(),
            options: BTreeSet::new(),
        };
        let mut standing: Vec<&Edit> =
            self.journal.done.iter().rev().filter(|edit| way.passes(edit)).collect();
        standing.reverse();
        standing
    }

    /// Returns the redactions whose replacement stands in the request as it would leave, in body order and within a leaf in the
    /// order in which they were made. Those of messages that were put in stand with them.
    #[must_use]
    pub fn standing_redactions(&self) -> Vec<&RedactionRecord> {
        let mut standing: Vec<&RedactionRecord> = Vec::new();
        for (&node, state) in self.leaves.iter().filter(|(node, _)| self.leaves_with_request(**node)) {
            let mut spans: HashMap<(&str, &str), usize> = HashMap::new();
            let mut numbered: HashSet<usize> = HashSet::new();
            for (text, label, number) in state.pieces().redacted_texts() {
                match number {
                    Some(number) => _ = numbered.insert(number),
                    None => *spans.entry((text, label)).or_default() += 1,
                }
            }
            let first = standing.len();
            // The latest first: of two equal ones the earlier may have been written over.
            for record in self.journal.redactions_of(node).rev() {
                if numbered.contains(&record.number) {
                    standing.push(record);
                    continue;
                }
                if let Some(left) =
                    spans.get_mut(&(&*record.replacement, &*record.label)).filter(|left| **left > 0)
                {
                    *left -= 1;
                    standing.push(record);
                }
            }
            standing[first..].reverse();
        }
        standing
    }

    /// Whether a leaf holds anything of the kind that an edit brings in.
    fn holds_effect(&self, edit: &Edit, node: NodeId) -> bool {
        match edit.kind {
            EditKind::Release => self.released_by(edit).any(|made| self.is_released(made)),
            EditKind::Set
            | EditKind::Delete
            | EditKind::Restore
            | EditKind::Insert
            | EditKind::Option
            | EditKind::Reset => self.is_written(node),
        }
    }

    /// Whether the present text of a leaf is part of what would leave.
    pub(super) fn leaves_with_request(&self, node: NodeId) -> bool {
        !self.is_deleted(node) && self.covered_by(node).is_none()
    }
}

/// The journal, walked from its last edit to its first.
struct WayBack<'d> {
    draft: &'d Draft,
    /// The state of each leaf before the edits that were passed.
    states: BTreeMap<NodeId, usize>,
    deleted: BTreeSet<NodeId>,
    inserted: BTreeSet<usize>,
    options: BTreeSet<usize>,
}

impl WayBack<'_> {
    /// Passes an edit on the way back; gives whether its effect stands.
    fn passes(&mut self, edit: &Edit) -> bool {
        let mut stands = false;
        for switch in edit.switches.iter().rev() {
            stands |= match *switch {
                Switch::Leaf { node, from, to } => {
                    let passes = self.passes_state(node, from, to);
                    passes && self.draft.holds_effect(edit, node)
                }
                Switch::Deleted { node, to, .. } => {
                    self.deleted.insert(node) && to && self.draft.deleted.contains(&node)
                }
                Switch::Inserted { at, to, .. } => {
                    self.inserted.insert(at)
                        && to
                        && self.draft.inserted.get(at).is_some_and(|put_in| put_in.stands)
                }
                Switch::Option { at, to, .. } => {
                    self.options.insert(at)
                        && to
                        && self.draft.options.get(at).is_some_and(|option| option.stands)
                }
            };
        }
        stands && edit.kind != EditKind::Reset
    }

    fn passes_state(&mut self, node: NodeId, from: usize, to: usize) -> bool {
        let draft = self.draft;
        // A leaf that holds nothing written or released is as it came, whatever was written in between.
        let holds =
            || draft.leaves_with_request(node) && (draft.is_written(node) || draft.has_released(node));
        let now = || draft.leaves.get(&node).filter(|_| holds()).map_or(0, |state| state.current);
        let at = self.states.entry(node).or_insert_with(now);
        if *at == 0 || *at != to {
            return false;
        }
        *at = from;
        true
    }
}

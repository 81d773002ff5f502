//! What of the journal stands in the request as it would leave.
//!
//! The journal keeps every edit that was made, because undo reaches them. What people are told is what stands: an edit that was
//! undone, that a reset took back, or whose section is left out, changes nothing of what would leave.

use std::collections::{BTreeMap, BTreeSet};

use super::Draft;
use crate::journal::{Edit, EditKind, RedactionRecord, Switch, Switched};

impl Draft {
    /// Returns the edits whose effect stands in the request as it would leave, in the order in which they were made.
    pub fn standing_edits(&self) -> Vec<&Edit> {
        // The journal is walked from its last edit to its first. These are the states before what was passed.
        let mut states: BTreeMap<Switched, usize> = BTreeMap::new();
        let mut stands = |edit: &Edit| {
            let steps = edit.switches.iter().rev();
            // All of them are passed, whichever stands.
            steps.filter(|&&step| self.stands(edit, step, &mut states)).count() > 0
        };
        let mut standing: Vec<&Edit> = self.journal.done.iter().rev().filter(|edit| stands(edit)).collect();
        standing.reverse();
        standing
    }

    /// Passes a step on the way back; gives whether its effect stands.
    fn stands(&self, edit: &Edit, step: Switch, states: &mut BTreeMap<Switched, usize>) -> bool {
        let state = states.entry(step.what).or_insert_with(|| self.standing_state(step.what));
        if *state == 0 || *state != step.to {
            return false;
        }
        *state = step.from;
        match step.what {
            Switched::Leaf(_) if edit.kind == EditKind::Release => {
                self.released_by(edit).any(|made| self.is_released(made))
            }
            Switched::Leaf(node) => self.is_written(node),
            Switched::Deleted(_) | Switched::PutIn(_) => true,
        }
    }

    /// Returns the number of the state of something as far as it leaves. A leaf that holds nothing written or released is as it came,
    /// whatever was written in between.
    fn standing_state(&self, what: Switched) -> usize {
        let holds = |node| self.is_there(node).is_ok() && (self.is_written(node) || self.has_released(node));
        match what {
            Switched::Leaf(node) if !holds(node) => 0,
            what => self.state_of(what),
        }
    }

    /// Returns the redactions whose replacement stands in the request as it would leave, in body order and within a leaf in the
    /// order in which they were made. Those of messages that were put in stand with them.
    pub fn standing_redactions(&self) -> Vec<&RedactionRecord> {
        let leaving = self.leaves.iter().filter(|(node, _)| self.is_there(**node).is_ok());
        let numbers = leaving.flat_map(|(_, state)| {
            let numbers = state.pieces().redactions().filter_map(|(.., number)| number);
            numbers.collect::<BTreeSet<usize>>()
        });
        numbers.filter_map(|number| self.redaction(number)).collect()
    }
}

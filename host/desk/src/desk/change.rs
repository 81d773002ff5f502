//! How a person's change enters a turn: handed out, made outside of the lock, taken back whole.

use std::collections::BTreeSet;
use std::sync::Arc;

use leafgate_tree::SectionId;

use super::Desk;
use crate::effect::Effect;
use crate::error::DeskError;
use crate::identity::TurnId;
use crate::reviewer::Reviewer;
use crate::revision::{Revised, Revision};
use crate::tick::Tick;

impl<G: Reviewer> Desk<G> {
    /// Hands a turn out to be changed.
    ///
    /// # Errors
    /// Where the turn is over, queued, or out of time.
    pub fn revise(&self, turn: TurnId, now: Tick) -> Result<Revision<G>, DeskError> {
        let found = self.at_front(turn, now)?;
        Ok(Revision {
            turn,
            base: found.version,
            draft: Arc::clone(&found.draft),
            to: found.to.clone(),
            reviewer: Arc::clone(&found.reviewer),
        })
    }

    /// Event: a change was made. A change without effect does nothing.
    ///
    /// # Errors
    /// [`DeskError::Conflict`] where another change came in between. [`DeskError::NoRoom`] where it
    /// adds more than there is room for. Others where the turn is over by now, or out of time.
    pub fn accept(&mut self, revised: Revised, now: Tick) -> Result<(), DeskError> {
        let turn = revised.turn;
        let found = self.at_front(turn, now)?;
        if found.version != revised.base {
            return Err(DeskError::Conflict { turn });
        }
        let session = Arc::clone(&found.session);
        let Some(outcome) = revised.outcome else { return Ok(()) };
        let (before, limit) = (found.memory, self.limits.memory);
        let total = self.memory().saturating_sub(before).saturating_add(outcome.memory);
        if outcome.adds_text && outcome.memory > before && total > limit {
            return Err(DeskError::NoRoom { turn, limit });
        }
        let Some(found) = self.turns.get_mut(&turn) else { return Ok(()) };
        found.version = outcome.version;
        let arrival = &mut found.arrival;
        arrival.paused.draft = Arc::new(outcome.draft);
        arrival.rendering = outcome.rendering;
        arrival.extract = outcome.extract;
        arrival.memory = outcome.memory;
        found.holds.meet(outcome.verdict, now);
        // A new pause may move the deadline, and with it those of the turns behind.
        self.space_out(&session);
        self.todo.push(Effect::Changed(turn));
        Ok(())
    }

    /// Event: a person pins sections, in the order in which people are to see them, and unpins all
    /// others. What would leave is the same as before, and so is its digest.
    ///
    /// # Errors
    /// [`DeskError::NoSuchPlace`] for a section that the request does not have or that lies inside
    /// another one. Others where the turn is over.
    pub fn arrange(&mut self, turn: TurnId, sections: &[SectionId]) -> Result<(), DeskError> {
        let document = Arc::clone(self.turn(turn)?.draft.document());
        let (mut pins, mut seen) = (Vec::new(), BTreeSet::new());
        for &section in sections {
            let found = document.sections().get(section.index()).ok_or(DeskError::NoSuchPlace)?;
            if found.parent.is_some() {
                return Err(DeskError::NoSuchPlace);
            }
            if seen.insert(section) {
                pins.push(section);
            }
        }
        if let Some(found) = self.turns.get_mut(&turn).filter(|found| found.pins != pins) {
            found.pins = pins;
            self.todo.push(Effect::Changed(turn));
        }
        Ok(())
    }
}

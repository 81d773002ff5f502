//! Side requests that wait with a turn: how they come to stand beside one, and what becomes of them
//! when it ends. Why they may is said in [`crate::beside`].

use std::sync::Arc;

use leafgate_admin::TurnClass;
use leafgate_policy::{Cause, Hold};

use super::Desk;
use super::decide::TurnEnding;
use crate::beside::{Addition, Lead, Repeats, covers};
use crate::digest::Destination;
use crate::effect::Effect;
use crate::error::DeskError;
use crate::identity::{RequestKey, TurnId};
use crate::reason::{CancelReason, Dismissal};
use crate::reviewer::Reviewer;
use crate::tick::Tick;
use crate::turn::{Arrival, Turn};

/// Turns whose decision is kept for side requests that come after it, and additions that a person
/// let go: a client has a handful of them.
const MOST_KEPT: usize = 64;

/// What was decided a moment ago, for the side requests that belong to it.
#[derive(Default)]
pub(super) struct Lately {
    /// Oldest first; each is kept equally long.
    decided: Vec<DecidedLately>,
    /// What side requests add to a turn's words, where a person let it go.
    known: Vec<Addition>,
}

struct DecidedLately {
    turn: TurnId,
    /// Of a side request: the very same may come again.
    key: Option<RequestKey>,
    upstream: Arc<str>,
    said: Option<Arc<str>>,
    asked: Vec<(Arc<str>, Cause)>,
    ending: TurnEnding,
    until: Tick,
}

/// What becomes of a side request that need not be asked about.
pub(super) enum SharedDecision {
    /// It waits with a turn.
    With(TurnId),
    /// It was decided already, with this turn.
    Decided(TurnId, TurnEnding),
}

impl<G: Reviewer> Desk<G> {
    /// Returns the turns whose decision a side request may share: those that rules hold, and those
    /// that were decided a moment ago. The newest first.
    pub fn leads(&self) -> Vec<Lead> {
        let lead = |turn: &Turn<G>| {
            let shows = Some((turn.draft.document().format(), turn.rendering.body.clone()));
            Some(Lead { turn: turn.id, said: Arc::clone(turn.said.as_ref()?), shows })
        };
        let waiting = self.turns.values().rev().filter(|turn| !turn.holds.list.is_empty()).filter_map(lead);
        let over = |lately: &DecidedLately| {
            Some(Lead { turn: lately.turn, said: Arc::clone(lately.said.as_ref()?), shows: None })
        };
        waiting.chain(self.lately.decided.iter().rev().filter_map(over)).collect()
    }

    /// Returns the side requests that are asked about by themselves: a turn that comes may repeat
    /// their words.
    pub fn alone(&self) -> impl Iterator<Item = &Turn<G>> {
        self.turns.values().filter(|turn| turn.stands_alone())
    }

    /// Event: a side request that came before a turn repeats its words. From now on it waits with
    /// that one, where it may.
    pub fn stand_beside(&mut self, side: TurnId, repeats: Repeats, now: Tick) {
        self.run_clock(now);
        let Some(found) = self.turns.get(&side).filter(|turn| turn.stands_alone()) else { return };
        let holds: Vec<Hold> = found.holds.list.iter().map(|held| held.hold.clone()).collect();
        match self.shared(&repeats, &found.to, &holds) {
            Some(SharedDecision::With(lead)) => {
                let mut moved = found.beside.clone();
                moved.push(side);
                for side in moved {
                    self.join_lead(side, lead);
                }
                self.todo.push(Effect::Changed(lead));
            }
            // Somebody may look at it by now.
            Some(SharedDecision::Decided(..)) | None => {
                if let Some(found) = self.turns.get_mut(&side) {
                    found.arrival.repeats = Some(Repeats { said: Arc::default(), ..repeats });
                }
            }
        }
    }

    /// What a side request that arrives shares, where it may.
    pub(super) fn shares(&self, arrival: &Arrival<G>) -> Option<SharedDecision> {
        if arrival.class != TurnClass::Side {
            return None;
        }
        let same = |turn: &&Turn<G>| turn.class == TurnClass::Side && turn.key == arrival.key;
        if let Some(first) = self.line(&arrival.key.session).find(same)
            && first.holds.show(&arrival.holds)
            && !first.is_edited()
        {
            return Some(SharedDecision::With(first.with.unwrap_or(first.id)));
        }
        let again = self.lately.decided.iter().rev().find(|lately| lately.key.as_ref() == Some(&arrival.key));
        if let Some(again) = again.filter(|again| again.covers(&arrival.holds)) {
            return Some(SharedDecision::Decided(again.turn, again.ending));
        }
        self.shared(arrival.repeats.as_ref()?, &arrival.to, &arrival.holds)
    }

    fn shared(&self, repeats: &Repeats, to: &Destination, holds: &[Hold]) -> Option<SharedDecision> {
        if repeats.is_asked && !self.lately.known.contains(&repeats.adds) {
            return None;
        }
        if let Some(lead) = self.turns.get(&repeats.turn) {
            let may = lead.class != TurnClass::Side
                && repeats.are_of(lead.said.as_ref())
                && lead.to.upstream == to.upstream
                && covers(lead.holds.asked(), holds);
            return may.then_some(SharedDecision::With(lead.id));
        }
        let lately = self.lately.decided.iter().find(|lately| lately.turn == repeats.turn)?;
        let may =
            repeats.are_of(lately.said.as_ref()) && lately.upstream == to.upstream && lately.covers(holds);
        may.then_some(SharedDecision::Decided(lately.turn, lately.ending))
    }

    /// Has a side request wait with a turn.
    pub(super) fn join_lead(&mut self, side: TurnId, lead: TurnId) {
        let Some(found) = self.turns.get_mut(&side) else { return };
        found.with = Some(lead);
        found.beside.clear();
        if let Some(lead) = self.turns.get_mut(&lead) {
            lead.beside.push(side);
        }
        self.todo.push(Effect::Changed(side));
    }

    /// Ends what waited with a turn that has ended.
    pub(super) fn end_beside(&mut self, turn: &Turn<G>, ending: TurnEnding, now: Tick) {
        if let Some(lead) = turn.with.and_then(|lead| self.turns.get_mut(&lead)) {
            lead.beside.retain(|side| *side != turn.id);
            self.todo.push(Effect::Changed(lead.id));
        }
        if turn.class == TurnClass::Side && ending.is_of_client() {
            return self.hand_over(&turn.beside);
        }
        for &side in &turn.beside {
            let Some(found) = self.turns.get(&side) else { continue };
            let ending = match (ending, found.lost) {
                (TurnEnding::Sent { .. }, Some(_)) => TurnEnding::CLIENT_GONE,
                (ending, _) => turn.shared_ending(ending),
            };
            self.end(side, ending, now);
        }
    }

    /// The client of the first of several equal side requests is gone, and others wait all the same.
    fn hand_over(&mut self, others: &[TurnId]) {
        let is_connected = |side: &&TurnId| self.turns.get(*side).is_some_and(|t| t.connection().is_some());
        let Some(&first) = others.iter().find(is_connected).or(others.first()) else { return };
        for &side in others {
            let Some(found) = self.turns.get_mut(&side) else { continue };
            found.with = (side != first).then_some(first);
            found.beside = if side == first {
                others.iter().copied().filter(|one| *one != first).collect()
            } else {
                Vec::new()
            };
            self.todo.push(Effect::Changed(side));
        }
    }

    /// Keeps a decision for the side requests that come after it.
    pub(super) fn keep_decision(&mut self, turn: &Turn<G>, ending: TurnEnding, now: Tick) {
        let by_person = match ending {
            TurnEnding::Sent { by } => by == "user",
            TurnEnding::Discarded(dismissal) => dismissal == Dismissal::Cancelled(CancelReason::User),
        };
        if !by_person || turn.with.is_some() || turn.holds.list.is_empty() {
            return;
        }
        if let (TurnEnding::Sent { .. }, Some(repeats), false) = (ending, &turn.repeats, turn.is_edited()) {
            self.lately.known.push(repeats.adds);
            let surplus = self.lately.known.len().saturating_sub(MOST_KEPT);
            self.lately.known.drain(..surplus);
        }
        let asked = turn.holds.list.iter().map(|held| (Arc::clone(&held.hold.rule), held.hold.cause));
        self.lately.decided.push(DecidedLately {
            turn: turn.id,
            key: (turn.class == TurnClass::Side).then(|| turn.key.clone()),
            upstream: Arc::clone(&turn.to.upstream),
            said: turn.said.clone(),
            asked: asked.collect(),
            ending: turn.shared_ending(ending),
            until: now.after(self.limits.cancel_holds),
        });
        let surplus = self.lately.decided.len().saturating_sub(MOST_KEPT);
        self.lately.decided.drain(..surplus);
    }

    /// Returns a turn that does not wait with another one.
    pub(super) fn leading<'t>(&self, found: &'t Turn<G>) -> Result<&'t Turn<G>, DeskError> {
        match found.with {
            Some(lead) => Err(DeskError::Beside { turn: found.id, lead }),
            None => Ok(found),
        }
    }
}

impl Lately {
    /// Forgets what does not hold any more.
    pub(super) fn pass(&mut self, now: Tick) {
        self.decided.retain(|lately| lately.until > now);
    }
}

impl DecidedLately {
    fn covers(&self, holds: &[Hold]) -> bool {
        covers(self.asked.iter().map(|(rule, cause)| (&**rule, *cause)), holds)
    }
}

impl<G> Turn<G> {
    /// What the end of the turn is to those that wait with it.
    fn shared_ending(&self, ending: TurnEnding) -> TurnEnding {
        match ending {
            TurnEnding::Sent { .. } if self.is_edited() => {
                TurnEnding::Discarded(Dismissal::Cancelled(CancelReason::TurnEdited))
            }
            ending => ending,
        }
    }
}

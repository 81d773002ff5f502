//! The desk: all pending turns of one gate, and the events that move them.
//!
//! Every event is one call with the time at which it happened, and what must be done because of it is returned. The calls do little
//! work and never wait, so a plain mutex around a desk is enough; what takes time (digests, redaction, judging) happens outside, in
//! [`Arrival::from`] and [`Revision::make`].

mod arrive;
mod decide;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::effect::{Effect, Effects};
use crate::error::DeskError;
use crate::guard::Guard;
use crate::limits::DeskLimits;
use crate::revision::{Change, Revised, Revision};
use crate::summary::TurnSummary;
use crate::tick::Tick;
#[cfg(doc)]
use crate::turn::Arrival;
use crate::turn::{ConnectionId, Turn, TurnId};

pub use arrive::Admission;

/// The pending turns of one gate.
pub struct Desk<G> {
    limits: DeskLimits,
    turns: BTreeMap<TurnId, Turn<G>>,
    /// The turns of each session that has any, in order of arrival. The first one is at the front, the others are queued.
    lines: HashMap<Arc<str>, VecDeque<TurnId>>,
    connections: HashMap<ConnectionId, TurnId>,
    /// The last turns that are over, oldest first.
    over: VecDeque<TurnSummary>,
    last: TurnId,
    /// The deadline that was last asked for.
    announced: Option<Tick>,
}

impl<G> Desk<G> {
    /// A desk without turns.
    #[must_use]
    pub fn new(limits: DeskLimits) -> Self {
        Desk {
            limits,
            turns: BTreeMap::new(),
            lines: HashMap::new(),
            connections: HashMap::new(),
            over: VecDeque::new(),
            last: TurnId(0),
            announced: None,
        }
    }

    /// The pending turns, in order of arrival.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &Turn<G>> {
        self.turns.values()
    }

    /// The turns that ended last, oldest first.
    pub fn over(&self) -> impl ExactSizeIterator<Item = &TurnSummary> {
        self.over.iter()
    }

    /// A pending turn.
    ///
    /// # Errors
    /// [`DeskError::Over`] or [`DeskError::Unknown`].
    pub fn turn(&self, turn: TurnId) -> Result<&Turn<G>, DeskError> {
        self.turns.get(&turn).ok_or_else(|| self.missing(turn))
    }

    /// A turn in a line, pending or among those that ended last.
    ///
    /// # Errors
    /// [`DeskError::Over`] where it ended too long ago, or [`DeskError::Unknown`].
    pub fn summary(&self, turn: TurnId) -> Result<TurnSummary, DeskError> {
        match self.remembered(turn) {
            Some(over) => Ok(over.clone()),
            None => self.turn(turn).map(Turn::summary),
        }
    }

    /// When the desk next wants to be told the time.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        self.turns.values().filter_map(Turn::wake).min()
    }

    fn remembered(&self, turn: TurnId) -> Option<&TurnSummary> {
        self.over.iter().find(|over| over.id == turn)
    }

    fn missing(&self, turn: TurnId) -> DeskError {
        if turn > self.last || turn == TurnId(0) {
            return DeskError::Unknown { turn };
        }
        DeskError::Over { turn, state: self.remembered(turn).map(|over| over.state) }
    }

    /// A turn that a person may act on. Its time is not over, even if nobody has told the desk yet.
    fn actionable(&self, turn: TurnId, now: Tick) -> Result<&Turn<G>, DeskError> {
        let found = self.turn(turn)?;
        if found.wake().is_some_and(|at| at <= now) {
            return Err(DeskError::Expired { turn });
        }
        Ok(found)
    }

    /// Such a turn at the front of its session.
    fn at_front(&self, turn: TurnId, now: Tick) -> Result<&Turn<G>, DeskError> {
        let found = self.actionable(turn, now)?;
        match self.lines.get(found.session()).and_then(VecDeque::front) {
            Some(&front) if front != turn => Err(DeskError::Queued { turn, behind: front }),
            _ => Ok(found),
        }
    }

    /// Recomputes by when the queued turns of a session end at the latest: each waits for all before it.
    fn space_out(&mut self, session: &str) {
        let mut before = None;
        for turn in self.lines.get(session).into_iter().flatten() {
            if let Some(turn) = self.turns.get_mut(turn) {
                turn.behind = before;
                before = Some(turn.expiry().at);
            }
        }
    }

    /// Completes the effects of an event with the next deadline, where it is another one now.
    fn done(&mut self, mut effects: Effects<G>) -> Effects<G> {
        let next = self.next_deadline();
        if next != self.announced {
            self.announced = next;
            effects.extend(next.map(Effect::NextDeadline));
        }
        effects
    }
}

impl<G: Guard> Desk<G> {
    /// Event: a person changes a turn. For callers that block nobody; the others take the three steps apart.
    ///
    /// # Errors
    /// Those of [`Desk::revise`], [`Revision::make`] and [`Desk::accept`].
    pub fn change(&mut self, turn: TurnId, change: Change, now: Tick) -> Result<Effects<G>, DeskError> {
        let revised = self.revise(turn, now)?.make(change)?;
        self.accept(revised, now)
    }
}

impl<G> Desk<G> {
    /// Hands a turn out to be changed.
    ///
    /// # Errors
    /// Where the turn is over, queued, or out of time.
    pub fn revise(&self, turn: TurnId, now: Tick) -> Result<Revision<G>, DeskError> {
        let found = self.at_front(turn, now)?;
        Ok(Revision {
            turn,
            base: found.version,
            draft: found.draft.clone(),
            target: found.target.clone(),
            guard: Arc::clone(&found.guard),
        })
    }

    /// Event: a change was made. Nothing happens where it changed nothing.
    ///
    /// # Errors
    /// [`DeskError::Conflict`] where another change came in between; and where the turn is over by now, or out of time.
    pub fn accept(&mut self, revised: Revised, now: Tick) -> Result<Effects<G>, DeskError> {
        let turn = revised.turn;
        if self.at_front(turn, now)?.version != revised.base {
            return Err(DeskError::Conflict { turn });
        }
        let missing = self.missing(turn);
        let Some(outcome) = revised.outcome else { return Ok(Effects::new()) };
        let changed = self.turns.get_mut(&turn).ok_or(missing)?;
        changed.draft = outcome.draft;
        changed.version = outcome.version;
        changed.shown = outcome.shown;
        changed.holds.meet(outcome.verdict, now);
        let session = Arc::clone(changed.session());
        self.space_out(&session);
        Ok(self.done(vec![Effect::Changed(turn)]))
    }
}

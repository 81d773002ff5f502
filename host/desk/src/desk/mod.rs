//! The desk: all pending turns of one gate, and the events that change them.
//!
//! Every event is one call with its time, and returns what the gate must do. The calls do little
//! work and never wait, so a plain mutex around a desk is enough. Slow work (digests, redaction,
//! judging) happens outside, in [`crate::Arrival::from`] and [`crate::Revision::make`].

mod arrive;
mod change;
mod decide;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::effect::{Effect, Effects};
use crate::error::DeskError;
use crate::limits::DeskLimits;
use crate::summary::TurnLine;
use crate::tick::Tick;
use crate::turn::{ConnectionId, Turn, TurnId};

pub use arrive::Admission;

/// The pending turns of one gate.
pub struct Desk<G> {
    limits: DeskLimits,
    turns: BTreeMap<TurnId, Turn<G>>,
    /// The turns of each session that has any, in order of arrival. The first one is at the front,
    /// the others are queued.
    lines: HashMap<Arc<str>, VecDeque<TurnId>>,
    connections: HashMap<ConnectionId, TurnId>,
    /// The turns that ended last, oldest first.
    over: VecDeque<TurnLine>,
    last: TurnId,
    /// The deadline that was last asked for.
    announced: Option<Tick>,
}

impl<G> Desk<G> {
    /// Creates a desk without turns.
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

    /// Returns the pending turns, in order of arrival.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &Turn<G>> {
        self.turns.values()
    }

    /// Returns the turns that ended last, oldest first.
    pub fn over(&self) -> impl ExactSizeIterator<Item = &TurnLine> {
        self.over.iter()
    }

    /// Returns a pending turn.
    ///
    /// # Errors
    /// [`DeskError::Over`] or [`DeskError::Unknown`].
    pub fn turn(&self, turn: TurnId) -> Result<&Turn<G>, DeskError> {
        self.turns.get(&turn).ok_or_else(|| self.missing(turn))
    }

    /// Returns a turn in a line, pending or among those that ended last.
    ///
    /// # Errors
    /// [`DeskError::Over`] where it ended too long ago, or [`DeskError::Unknown`].
    pub fn summary(&self, turn: TurnId) -> Result<TurnLine, DeskError> {
        match self.remembered(turn) {
            Some(over) => Ok(over.clone()),
            None => self.turn(turn).map(Turn::summary),
        }
    }

    /// Returns the bytes of memory that all pending turns take, estimated. Bounded by
    /// [`DeskLimits::memory`].
    #[must_use]
    pub fn memory(&self) -> usize {
        self.turns.values().map(Turn::memory).sum()
    }

    /// Returns the bounds.
    #[must_use]
    pub fn limits(&self) -> &DeskLimits {
        &self.limits
    }

    /// Returns when [`Desk::elapse`] must next be called.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        self.turns.values().filter_map(Turn::wake).min()
    }

    fn remembered(&self, turn: TurnId) -> Option<&TurnLine> {
        self.over.iter().find(|over| over.id == turn)
    }

    fn missing(&self, turn: TurnId) -> DeskError {
        if turn > self.last || turn == TurnId(0) {
            return DeskError::Unknown { turn };
        }
        DeskError::Over { turn, state: self.remembered(turn).map(|over| over.state) }
    }

    /// Returns a turn that a person may act on. Its deadline has not passed, even if
    /// [`Desk::elapse`] was not called yet.
    fn actionable(&self, turn: TurnId, now: Tick) -> Result<&Turn<G>, DeskError> {
        let found = self.turn(turn)?;
        if found.wake().is_some_and(|at| at <= now) {
            return Err(DeskError::Expired { turn });
        }
        Ok(found)
    }

    /// Returns such a turn at the front of its session.
    fn at_front(&self, turn: TurnId, now: Tick) -> Result<&Turn<G>, DeskError> {
        let found = self.actionable(turn, now)?;
        match self.lines.get(found.session()).and_then(VecDeque::front) {
            Some(&front) if front != turn => Err(DeskError::Queued { turn, behind: front }),
            _ => Ok(found),
        }
    }

    /// Recomputes the latest ends of the queued turns of a session: each waits for all before it.
    fn space_out(&mut self, session: &str) {
        let mut before = None;
        for turn in self.lines.get(session).into_iter().flatten() {
            if let Some(turn) = self.turns.get_mut(turn) {
                turn.behind = before;
                before = Some(turn.expiry().at);
            }
        }
    }

    /// Completes the effects of an event with the next deadline, if it has changed.
    fn done(&mut self, mut effects: Effects) -> Effects {
        let next = self.next_deadline();
        if next != self.announced {
            self.announced = next;
            effects.extend(next.map(Effect::NextDeadline));
        }
        effects
    }
}

//! The desk: all pending turns of one gate, and the events that change them.
//!
//! Every event is one call with its time. What the gate must do then stands in the desk until it is
//! taken by [`Desk::effects`], so that no answer of an event can drop it. The calls do little work and
//! never wait, so a plain mutex around a desk is enough. Slow work (digests, redaction, judging)
//! happens outside, in [`crate::Arrival::from`] and [`crate::Revision::make`].

mod arrive;
mod beside;
mod change;
mod conversation;
mod decide;
mod intercept;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use leafgate_admin::{TurnClass, TurnMode, TurnSummary};

use crate::cancels::Cancels;
use crate::effect::Effects;
use crate::error::{Decided, DeskError};
use crate::identity::TurnId;
use crate::limits::DeskLimits;
use crate::mode::Modes;
use crate::monitor::Monitor;
use crate::reviewer::Reviewer;
use crate::sessions::SessionTable;
use crate::tick::Tick;
use crate::turn::Turn;

use beside::Lately;

pub use arrive::Admission;
pub use intercept::{Asked, Outlook};

/// The pending turns of one gate.
pub struct Desk<G> {
    limits: DeskLimits,
    /// In order of arrival. Of each session the first main one is at the front, the other main ones are
    /// queued; those of other classes wait for nobody. There are seldom more than a few, and at most as
    /// many as the limit says, so they are looked through, but for a request that has nothing to do with them.
    turns: BTreeMap<TurnId, Turn<G>>,
    /// How many turns each session has that has any.
    lines: HashMap<Arc<str>, usize>,
    /// When the clock next matters to a turn, as of when there was nothing to do.
    soonest: Option<Tick>,
    /// The turns that ended last, oldest first.
    over: VecDeque<(TurnId, TurnSummary)>,
    modes: Modes,
    sessions: SessionTable,
    monitor: Monitor,
    cancels: Cancels,
    lately: Lately,
    last: TurnId,
    /// What events have the gate do, until it takes that.
    todo: Effects,
}

impl<G: Reviewer> Desk<G> {
    /// Creates a desk without turns, in a mode.
    pub fn new(limits: DeskLimits, mode: TurnMode) -> Self {
        Desk {
            limits,
            turns: BTreeMap::new(),
            lines: HashMap::new(),
            soonest: None,
            over: VecDeque::new(),
            modes: Modes::new(mode),
            sessions: SessionTable::default(),
            monitor: Monitor::default(),
            cancels: Cancels::default(),
            lately: Lately::default(),
            last: TurnId(0),
            todo: Effects::new(),
        }
    }

    /// Returns the pending turns, in order of arrival.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &Turn<G>> {
        self.turns.values()
    }

    /// Returns the turns that ended last, oldest first.
    pub fn over(&self) -> impl ExactSizeIterator<Item = &TurnSummary> {
        self.over.iter().map(|(_, over)| over)
    }

    /// Returns whether a session has turns.
    pub fn has_pending(&self, session: &str) -> bool {
        self.lines.contains_key(session)
    }

    /// Returns the pending turns that came after one, in order of arrival. For lists that are made
    /// piece by piece, so that nobody waits for all of it.
    pub fn pending_after(&self, turn: TurnId) -> impl Iterator<Item = &Turn<G>> {
        self.turns.range((Excluded(turn), Unbounded)).map(|(_, turn)| turn)
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
    pub fn summary(&self, turn: TurnId, now: Tick) -> Result<TurnSummary, DeskError> {
        match self.remembered(turn) {
            Some(over) => Ok(over.clone()),
            None => self.turn(turn).map(|turn| turn.summary(now)),
        }
    }

    /// Returns the bytes of memory that all pending turns take, estimated. Bounded by
    /// [`DeskLimits::memory`].
    pub fn memory(&self) -> usize {
        self.turns.values().map(Turn::memory).sum()
    }

    /// Returns the bounds.
    pub fn limits(&self) -> &DeskLimits {
        &self.limits
    }

    /// Returns when [`Desk::elapse`] must next be called. A call that comes too early does no harm.
    pub fn next_deadline(&self) -> Option<Tick> {
        let looked_up = || self.turns.values().filter_map(Turn::wake).min();
        if !self.todo.is_empty() {
            return looked_up();
        }
        debug_assert_eq!(self.soonest, looked_up(), "a deadline was moved by nothing");
        self.soonest
    }

    fn remembered(&self, turn: TurnId) -> Option<&TurnSummary> {
        self.over.iter().find(|(over, _)| *over == turn).map(|(_, summary)| summary)
    }

    fn missing(&self, turn: TurnId) -> DeskError {
        if turn > self.last || turn == TurnId(0) {
            return DeskError::Unknown { turn };
        }
        let over = self.remembered(turn);
        let decided = over.and_then(|over| Some(Decided { state: over.state, ending: over.ending.clone()? }));
        DeskError::Over { turn, decided }
    }

    /// Returns a turn that a person may act on. Its deadline has not passed, even if
    /// [`Desk::elapse`] was not called yet.
    fn actionable(&self, turn: TurnId, now: Tick) -> Result<&Turn<G>, DeskError> {
        let found = self.turn(turn)?;
        if found.is_due(now) {
            return Err(DeskError::Expired { turn });
        }
        Ok(found)
    }

    /// Returns such a turn at the front of its session.
    fn at_front(&self, turn: TurnId, now: Tick) -> Result<&Turn<G>, DeskError> {
        let found = self.leading(self.actionable(turn, now)?)?;
        match self.front(&found.session) {
            Some(front) if found.class == TurnClass::Main && front != turn => {
                Err(DeskError::Queued { turn, behind: front })
            }
            _ => Ok(found),
        }
    }

    /// The turns that a person decides about.
    fn waiting(&self) -> impl Iterator<Item = &Turn<G>> {
        self.turns.values().filter(|turn| turn.with.is_none())
    }

    /// The turns of a session, in order of arrival.
    fn line(&self, session: &str) -> impl DoubleEndedIterator<Item = &Turn<G>> {
        let most = self.lines.get(session).map_or(0, |_| usize::MAX);
        self.turns.values().take(most).filter(move |turn| *turn.session == *session)
    }

    /// The main ones of them.
    fn main_line(&self, session: &str) -> impl DoubleEndedIterator<Item = &Turn<G>> {
        self.line(session).filter(|turn| turn.class == TurnClass::Main)
    }

    /// The one of them that comes first.
    fn front(&self, session: &str) -> Option<TurnId> {
        self.main_line(session).next().map(|turn| turn.id)
    }

    /// Recomputes the latest ends of the queued turns of a session: each waits for all before it.
    fn space_out(&mut self, session: &str) {
        if !self.has_pending(session) {
            return;
        }
        let mut before = None;
        let is_in_line = |turn: &&mut Turn<G>| turn.class == TurnClass::Main && *turn.session == *session;
        for turn in self.turns.values_mut().filter(is_in_line) {
            turn.behind = before;
            before = Some(turn.expiry().at);
        }
    }

    /// Takes what the gate must do, in order. Must follow every event, and so must a look at [`Desk::next_deadline`].
    /// Whatever moves a deadline leaves something to do.
    #[must_use = "the effects must be carried out"]
    pub fn effects(&mut self) -> Effects {
        self.soonest = self.next_deadline();
        std::mem::take(&mut self.todo)
    }
}

//! Requests that arrive, and connections that are lost and come again.

use std::sync::Arc;

use leafgate_admin::TurnClass;
use leafgate_policy::Hold;

use super::Desk;
use super::beside::SharedDecision;
use crate::effect::Effect;
use crate::identity::{ConnectionId, RequestKey, TurnId};
use crate::reason::{CancelReason, Dismissal, Room};
use crate::reviewer::Reviewer;
use crate::tick::Tick;
use crate::turn::{Arrival, Turn};

/// The outcome of a request that the policy or a mode paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// A turn at the front of its session.
    Waiting(TurnId),
    /// A turn behind others of its session.
    Queued(TurnId),
    /// It came before and gets the answer of this turn.
    Joined(TurnId),
    /// It waits with this turn, and shares its decision.
    Beside(TurnId),
    /// It shares a decision that was made a moment ago, which is among the effects.
    Decided,
    /// There is no room for it. Its refusal is among the effects.
    Refused(Room),
    /// It was decided already; its refusal is among the effects.
    Dismissed(Dismissal),
}

impl<G: Reviewer> Desk<G> {
    /// Event: a request has come and is not judged yet. If the same request is pending, the
    /// connection joins that turn.
    ///
    /// The gate must ask this before it asks the policy: a newer generation might let through what
    /// an older one paused, and the same request would leave twice.
    pub fn join(&mut self, key: &RequestKey, connection: ConnectionId, now: Tick) -> Option<TurnId> {
        self.run_clock(now);
        let known = self.pending_as(key, &[])?;
        self.attach(known, connection);
        Some(known)
    }

    /// Event: the policy or a mode paused a request.
    ///
    /// An identical request joins if its rules object to nothing that the turn does not show.
    /// Another main request of the same session takes the place of a turn that waits by a mode, and
    /// queues behind one that waits by a rule. Decisions made while the request was being judged
    /// hold for it too: a cancelled question, modes that were turned off.
    pub fn pause(&mut self, arrival: impl Into<Arrival<G>>, now: Tick) -> Admission {
        let arrival = arrival.into();
        self.run_clock(now);
        if let Some(turn) = self.pending_as(&arrival.key, &arrival.holds) {
            self.attach(turn, arrival.connection);
            return Admission::Joined(turn);
        }
        if let Some(dismissal) = self.decided(&arrival, now) {
            self.refuse(dismissal, arrival.connection);
            return Admission::Dismissed(dismissal);
        }
        let shared = self.shares(&arrival);
        self.take_in(arrival, shared, now)
    }

    /// Event: a connection is lost. Its turn waits a short time for the same request on another
    /// one.
    pub fn lose(&mut self, connection: ConnectionId, now: Tick) {
        self.run_clock(now);
        let lost = self.turns.values_mut().find(|turn| turn.connection() == Some(connection));
        if let Some(turn) = lost {
            turn.lost = Some(now.after(self.limits.linger));
            self.todo.push(Effect::Changed(turn.id));
        }
    }

    /// Returns the turn of the same request that shows all of these holds. Clients ask the same
    /// beside a turn several times at once, and each wants an answer: so a side request takes over
    /// only from a connection that is lost.
    fn pending_as(&self, key: &RequestKey, holds: &[Hold]) -> Option<TurnId> {
        let is_same = |turn: &&Turn<G>| {
            let takes_over = turn.class != TurnClass::Side || turn.connection().is_none();
            turn.key == *key && takes_over && turn.holds.show(holds)
        };
        self.line(&key.session).find(is_same).map(|turn| turn.id)
    }

    /// Gives a turn's answer to another connection. The former one is answered at once, because it
    /// gets no other answer.
    fn attach(&mut self, turn: TurnId, connection: ConnectionId) {
        let Some(found) = self.turns.get_mut(&turn) else { return };
        if found.connection() == Some(connection) {
            return;
        }
        if let Some(to) = found.connection() {
            self.todo.push(Effect::Answer { turn: Some(turn), to, dismissal: Dismissal::Replaced });
        }
        found.arrival.paused.connection = connection;
        found.lost = None;
        found.is_joined = true;
        self.todo.push(Effect::Changed(turn));
    }

    /// Why a request that is to wait need not.
    fn decided(&self, arrival: &Arrival<G>, now: Tick) -> Option<Dismissal> {
        let (session, limit) = (&arrival.key.session, self.limits.cancel_holds);
        if let Some(reason) = self.cancels.of(session, &arrival.question, now) {
            return Some(Dismissal::CancelledBefore { reason, limit });
        }
        // A title for a question that nobody answers is of no use.
        if arrival.class == TurnClass::Side && self.cancels.by_user(session, now) {
            return Some(Dismissal::CancelledBefore { reason: CancelReason::User, limit });
        }
        let fallen = arrival.mode.is_some_and(|pause| !self.modes.stands(pause));
        (fallen && arrival.holds.is_empty()).then_some(Dismissal::Cancelled(CancelReason::ModeDisabled))
    }

    /// Makes a turn of a request, where there is room: one that is asked about, or that shares a decision.
    fn take_in(&mut self, arrival: Arrival<G>, shared: Option<SharedDecision>, now: Tick) -> Admission {
        if shared.is_none() {
            if arrival.class == TurnClass::Main {
                let by_mode = self.turns_of(&arrival.key.session, |turn| {
                    turn.class == TurnClass::Main && turn.waits_by_mode()
                });
                self.discard(by_mode, CancelReason::Superseded, now);
            }
            // What was superseded by the same question in another manner is not asked again: it waits.
            self.cancels.forget(&arrival.key.session, &arrival.question);
        }
        if let Some(room) = self.full(&arrival) {
            self.refuse(Dismissal::NoRoom(room), arrival.connection);
            return Admission::Refused(room);
        }
        let id = self.insert(arrival, now);
        match shared {
            None => {
                self.todo.push(Effect::Changed(id));
                match self.turns.get(&id).is_some_and(|turn| turn.queued) {
                    true => Admission::Queued(id),
                    false => Admission::Waiting(id),
                }
            }
            Some(SharedDecision::With(lead)) => {
                self.join_lead(id, lead);
                self.todo.push(Effect::Changed(lead));
                Admission::Beside(lead)
            }
            Some(SharedDecision::Decided(lead, ending)) => {
                self.join_lead(id, lead);
                self.end(id, ending, now);
                Admission::Decided
            }
        }
    }

    /// The bound that a request would exceed.
    fn full(&self, arrival: &Arrival<G>) -> Option<Room> {
        let limits = &self.limits;
        let line = self.main_line(&arrival.key.session).count();
        let queues = arrival.class == TurnClass::Main && line > 0;
        if self.turns.len() >= limits.turns {
            Some(Room::Turns { limit: limits.turns })
        } else if queues && line > limits.queued {
            Some(Room::Queue { limit: limits.queued })
        } else if self.memory().saturating_add(arrival.memory()) > limits.memory {
            Some(Room::Memory { limit: limits.memory })
        } else {
            None
        }
    }

    fn insert(&mut self, arrival: Arrival<G>, now: Tick) -> TurnId {
        self.last = TurnId(self.last.0 + 1);
        let id = self.last;
        let session = Arc::clone(&arrival.key.session);
        let connection = arrival.connection;
        let waits_already = |turn: &Turn<G>| turn.connection() == Some(connection);
        debug_assert!(!self.turns.values().any(waits_already), "a connection waits for one answer");
        let mut turn = Turn::new(id, arrival, &self.limits, now);
        turn.queued = turn.class == TurnClass::Main && self.front(&session).is_some();
        self.turns.insert(id, turn);
        *self.lines.entry(Arc::clone(&session)).or_default() += 1;
        self.space_out(&session);
        id
    }

    /// Fails closed: what nobody can look at does not leave.
    fn refuse(&mut self, dismissal: Dismissal, to: ConnectionId) {
        self.todo.push(Effect::Answer { turn: None, to, dismissal });
    }
}

//! How turns end: by a resume, a cancel, a deadline or the end of the gate. Each ends once, and the
//! next of its session moves up.

use std::sync::Arc;

use leafgate_admin::{State, TurnClass, TurnSummary};
use leafgate_policy::OnTimeout;

use super::Desk;
use crate::digest::Digest;
use crate::effect::{Effect, TurnRelease};
use crate::error::DeskError;
use crate::identity::{ConnectionId, TurnId};
use crate::reason::{CancelReason, Dismissal};
use crate::reviewer::Reviewer;
use crate::tick::Tick;
use crate::turn::Turn;

/// How a turn ends.
#[derive(Clone, Copy)]
pub(super) enum TurnEnding {
    /// It leaves, by a person or by its deadline.
    Sent { by: &'static str },
    /// It does not leave.
    Discarded(Dismissal),
}

impl TurnEnding {
    pub(super) const CLIENT_GONE: TurnEnding =
        TurnEnding::Discarded(Dismissal::Cancelled(CancelReason::ClientGone));

    /// Whether nobody decided anything, and nobody waits for the answer.
    pub(super) fn is_of_client(self) -> bool {
        matches!(self, TurnEnding::Discarded(Dismissal::Cancelled(CancelReason::ClientGone)))
    }

    fn state(self) -> State {
        match self {
            TurnEnding::Sent { .. } => State::Resumed,
            TurnEnding::Discarded(Dismissal::TimedOut { .. }) => State::TimedOut,
            TurnEnding::Discarded(_) => State::Cancelled,
        }
    }

    fn code(self) -> &'static str {
        match self {
            TurnEnding::Sent { by } => by,
            TurnEnding::Discarded(dismissal) => dismissal.code(),
        }
    }
}

impl<G: Reviewer> Desk<G> {
    /// Event: a person resumes a turn as they saw it.
    ///
    /// # Errors
    /// Where it is over, out of time, queued or without a client; where the body that would leave
    /// is not the one that they saw; where a rule blocks it, or its API would refuse it.
    pub fn resume(&mut self, turn: TurnId, seen: &Digest, now: Tick) -> Result<(), DeskError> {
        let found = self.at_front(turn, now)?;
        if found.connection().is_none() {
            return Err(DeskError::Disconnected { turn });
        }
        if found.digest() != *seen {
            return Err(DeskError::Stale { turn, shown: found.digest() });
        }
        found.may_leave()?;
        self.forget_old(1 + found.beside.len());
        self.end(turn, TurnEnding::Sent { by: "user" }, now);
        Ok(())
    }

    /// Event: a turn is cancelled, at the front or queued.
    ///
    /// # Errors
    /// Where it is over already, or out of time.
    pub fn cancel(&mut self, turn: TurnId, reason: CancelReason, now: Tick) -> Result<(), DeskError> {
        let found = self.actionable(turn, now)?;
        let (session, class) = (Arc::clone(&found.session), found.class);
        self.forget_old(1);
        self.discard([turn], reason, now);
        if class == TurnClass::Main && reason == CancelReason::User {
            // What its client asks beside the question goes with it: one question, one cancel.
            let beside = self.turns_of(&session, |turn| turn.class == TurnClass::Side);
            self.discard(beside, reason, now);
        }
        Ok(())
    }

    /// Event: the gate stops. Nothing is pending afterwards.
    pub fn close(&mut self, now: Tick) {
        self.run_clock(now);
        let all: Vec<_> = self.turns.keys().copied().collect();
        self.discard(all, CancelReason::GateStopped, now);
    }

    /// Discards turns, the newest first: none of them moves to the front on the way.
    pub(super) fn discard(
        &mut self,
        turns: impl IntoIterator<Item = TurnId, IntoIter: DoubleEndedIterator>,
        reason: CancelReason,
        now: Tick,
    ) {
        for turn in turns.into_iter().rev() {
            self.end(turn, TurnEnding::Discarded(Dismissal::Cancelled(reason)), now);
        }
    }

    /// Some of the turns of a session, in order of arrival.
    pub(super) fn turns_of(&self, session: &str, which: impl Fn(&Turn<G>) -> bool) -> Vec<TurnId> {
        self.line(session).filter(|turn| which(turn)).map(|turn| turn.id).collect()
    }

    /// Event: time has passed.
    pub fn elapse(&mut self, now: Tick) {
        self.run_clock(now);
        if self.tidy(now) {
            self.todo.push(Effect::SessionsChanged);
        }
    }

    /// Ends the turns whose time is over, the earliest first.
    pub(super) fn run_clock(&mut self, now: Tick) {
        self.forget_old(0);
        self.cancels.pass(now);
        self.lately.pass(now);
        if self.next_deadline().is_none_or(|at| at > now) {
            return;
        }
        while let Some(due) =
            self.turns.values().filter(|turn| turn.is_due(now)).min_by_key(|turn| turn.wake())
        {
            let (turn, ending) = (due.id, due.ending_by_time());
            self.end(turn, ending, now);
        }
    }

    /// Ends a turn, and what waits with it. Every end of a turn passes here.
    pub(super) fn end(&mut self, turn: TurnId, ending: TurnEnding, now: Tick) {
        let Some(mut turn) = self.turns.remove(&turn) else { return };
        if let Some(line) = self.lines.remove(&turn.session).filter(|line| *line > 1) {
            self.lines.insert(Arc::clone(&turn.session), line - 1);
        }
        if matches!(ending, TurnEnding::Sent { .. }) {
            turn.holds.answer();
        }
        self.remember(&turn, ending, now);
        self.keep_decision(&turn, ending, now);
        self.todo.push(Effect::Changed(turn.id));
        if let Some(to) = turn.connection() {
            self.todo.push(turn.answer(ending, to));
        }
        self.move_up(&turn.session, now);
        self.end_beside(&turn, ending, now);
    }

    fn remember(&mut self, turn: &Turn<G>, ending: TurnEnding, now: Tick) {
        let (session, question) = (&turn.session, turn.question);
        match ending {
            TurnEnding::Discarded(Dismissal::Cancelled(reason)) if reason.lasts() => {
                let until = now.after(self.limits.cancel_holds);
                self.cancels.add(session, question, reason, until, self.limits.turns);
            }
            TurnEnding::Discarded(_) => {}
            TurnEnding::Sent { .. } => self.cancels.forget(session, &question),
        }
        let over = TurnSummary {
            state: ending.state(),
            ending: Some(ending.code().to_owned()),
            left_ms: 0,
            connections: 0,
            ..turn.summary(now)
        };
        self.over.push_back((turn.id, over));
    }

    /// Forgets all but the latest of the turns that are over, with room for so many more. Done
    /// before an event and never in it: whoever carries its effects out may ask about each turn
    /// that it ended.
    fn forget_old(&mut self, room: usize) {
        let surplus = (self.over.len() + room).saturating_sub(self.limits.remembered).min(self.over.len());
        self.over.drain(..surplus);
    }

    /// A turn of a session is gone. If it was at the front, the time of the next one starts.
    fn move_up(&mut self, session: &str, now: Tick) {
        let front = self.front(session).and_then(|front| self.turns.get_mut(&front));
        if let Some(front) = front.filter(|front| front.queued) {
            front.queued = false;
            front.holds.begin(now);
            self.todo.push(Effect::Changed(front.id));
        }
        self.space_out(session);
    }
}

impl<G> Turn<G> {
    /// Checks whether it can be sent as it is.
    fn may_leave(&self) -> Result<(), DeskError> {
        if let Some(hold) = &self.holds.block {
            return Err(DeskError::Blocked(Box::new(hold.clone())));
        }
        self.draft.validate().map_err(DeskError::Invalid)
    }

    /// Returns how its deadline ends it. Without a client nothing is sent: nobody would get the
    /// answer, and the client's retry would cost the request a second time.
    fn ending_by_time(&self) -> TurnEnding {
        let expiry = self.expiry();
        match self.lost {
            Some(until) if self.queued || self.with.is_some() || until <= expiry.at => {
                TurnEnding::CLIENT_GONE
            }
            None if expiry.then == OnTimeout::Resume && self.may_leave().is_ok() => {
                TurnEnding::Sent { by: "timeout" }
            }
            _ => TurnEnding::Discarded(Dismissal::TimedOut { limit: self.holds.longest() }),
        }
    }

    fn answer(&self, ending: TurnEnding, to: ConnectionId) -> Effect {
        match ending {
            TurnEnding::Discarded(dismissal) => Effect::Answer { turn: Some(self.id), to, dismissal },
            TurnEnding::Sent { by } => {
                let release = TurnRelease {
                    destination: self.to.clone(),
                    body: self.rendering.body.clone(),
                    digest: self.rendering.digest,
                    draft: Arc::clone(&self.draft),
                    edits: self.extract.edits,
                    redactions: self.extract.redactions,
                    by,
                };
                Effect::Forward { turn: self.id, to, release }
            }
        }
    }
}

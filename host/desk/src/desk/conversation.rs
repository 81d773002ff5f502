//! Conversations: requests renew them, a person selects, follows and closes them.

use super::Desk;
use leafgate_admin::{ActiveSession, SessionView, ShownText, SubagentView, Subagents, TurnClass};

use crate::effect::Effect;
use crate::error::DeskError;
use crate::reason::CancelReason;
use crate::reviewer::Reviewer;
use crate::sessions::Request;
use crate::tick::Tick;

impl<G: Reviewer> Desk<G> {
    /// Event: a request has come, and is not judged yet.
    ///
    /// A main one makes its conversation the newest. Where that has turns for another model, it
    /// begins anew, and they are given up.
    pub fn receive(&mut self, request: &Request, now: Tick) {
        self.run_clock(now);
        if request.class == TurnClass::Main {
            let old = self.turns_of(&request.session, |turn| turn.is_of_another_model(request.model));
            self.discard(old, CancelReason::ContextChanged, now);
            let activated = self.sessions.renew(request, now);
            let tidied = self.tidy(now);
            if activated || tidied {
                self.todo.push(Effect::SessionsChanged);
            }
        }
    }

    /// Event: the policy has judged a main request. The conversation is shown by what the user said
    /// last, as it would leave.
    pub fn say(&mut self, session: &str, words: ShownText) {
        self.sessions.say(session, words);
    }

    /// Event: a person looks at a conversation and stays with it. From now on modes pause requests
    /// of this one alone. Nothing that waits elsewhere is given up for that.
    ///
    /// # Errors
    /// [`DeskError::NoSuchSession`].
    pub fn select(&mut self, session: &str) -> Result<(), DeskError> {
        if !self.sessions.select(session) {
            return Err(DeskError::NoSuchSession);
        }
        self.todo.push(Effect::SessionsChanged);
        Ok(())
    }

    /// Event: a person wants the newest conversation to be the active one, or the present one to
    /// stay it.
    pub fn follow(&mut self, follows: bool) {
        self.sessions.follow(follows);
        self.todo.push(Effect::SessionsChanged);
    }

    /// Event: a conversation is closed. What waits of it is given up.
    ///
    /// # Errors
    /// [`DeskError::NoSuchSession`] where there is neither such a conversation nor a turn of one.
    pub fn dispose(&mut self, session: &str, now: Tick) -> Result<(), DeskError> {
        if !self.knows(session) && !self.has_pending(session) {
            return Err(DeskError::NoSuchSession);
        }
        self.run_clock(now);
        let turns = self.turns_of(session, |_| true);
        self.discard(turns, CancelReason::SessionDisposed, now);
        self.sessions.forget(session);
        self.monitor.forget(session);
        self.forget_saved();
        self.todo.push(Effect::SessionsChanged);
        Ok(())
    }

    /// Event: the policy has judged a request of an agent.
    pub fn observe(&mut self, request: SubagentView) {
        let kept = self.monitor.keep(request, self.limits.subagents);
        if self.limits.subagents > 0 {
            self.todo.push(Effect::Observed(Box::new(kept)));
        }
    }

    /// Returns the latest requests of agents, newest first. Bounded by
    /// [`crate::DeskLimits::subagents`].
    pub fn subagents(&self) -> Subagents {
        self.monitor.list()
    }

    /// Returns the conversations, newest first. Bounded by [`crate::DeskLimits::sessions`], and
    /// those that have turns on top.
    pub fn sessions(&self, now: Tick) -> impl Iterator<Item = SessionView> {
        let pending = |view: SessionView| SessionView { pending: self.count_of(&view.id), ..view };
        self.sessions.list(now).map(pending)
    }

    /// Returns the conversation that a person looks at.
    pub fn active(&self) -> Option<ActiveSession> {
        let session = self.sessions.active.as_ref()?;
        Some(ActiveSession { label: self.sessions.label(session)?, id: session.to_string() })
    }

    /// Returns whether the newest conversation becomes the active one.
    pub fn follows(&self) -> bool {
        self.sessions.follows
    }

    fn count_of(&self, session: &str) -> usize {
        self.line(session).filter(|turn| turn.with.is_none()).count()
    }

    /// Returns whether the active conversation is another one now.
    pub(super) fn tidy(&mut self, now: Tick) -> bool {
        let (limits, lines) = (&self.limits, &self.lines);
        let has_turns = |session: &str| lines.contains_key(session);
        let is_other = self.sessions.tidy(now, limits.session_ttl, limits.sessions, has_turns);
        self.forget_saved();
        is_other
    }

    /// What a conversation saved ends with it.
    fn forget_saved(&mut self) {
        let sessions = &self.sessions;
        self.modes.forget_saved(|session| sessions.contains(session));
    }

    /// Returns whether the desk knows a conversation.
    pub fn knows(&self, session: &str) -> bool {
        self.sessions.contains(session)
    }
}

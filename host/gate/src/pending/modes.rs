//! Modes and conversations, from the desk's words into those of the admin API, and the mode kept
//! for the next start.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use leafgate_admin::{ActiveSession, Event, ModeView, SessionList, Subagents, TurnMode};
use leafgate_desk::{Asked, Desk, Outlook, Question, TurnClass, first_words_of};
use leafgate_tree::Draft;

use super::{TurnGuard, Turns};
use crate::lock::lock;
use crate::subject::Subject;

type Keep = Box<dyn Fn(TurnMode) -> io::Result<()> + Send + Sync>;

/// Where the mode is kept for the next start.
#[derive(Default)]
pub(super) struct Keeper {
    keep: OnceLock<Keep>,
    /// One choice is made and kept before the next one is: what is kept last was chosen last.
    choosing: Mutex<()>,
}

impl Turns {
    /// Has a mode be in force from the start, and each later choice kept. Only the first caller is
    /// heard.
    pub(crate) fn keep_mode(
        &self,
        begin: TurnMode,
        keep: impl Fn(TurnMode) -> io::Result<()> + Send + Sync + 'static,
    ) {
        if self.keeper.keep.set(Box::new(keep)).is_ok() {
            self.event(|desk, now| desk.set_mode(begin, now));
        }
    }

    /// Chooses a mode: first it is in force, then it is kept. Where it cannot be kept, that is
    /// logged and told, and it is in force all the same. Waits for the disk.
    pub(crate) fn choose(&self, mode: TurnMode) -> ModeView {
        let _order = self.keeper.choosing.lock().unwrap_or_else(PoisonError::into_inner);
        let outlook = self.event(|desk, now| {
            desk.set_mode(mode, now);
            desk.outlook()
        });
        let chosen = self.view(outlook);
        self.counters.mode_chosen(mode);
        tracing::info!(target: "leafgate::mode", mode = chosen.mode.name(), "another mode is in force");
        let kept = self.keeper.keep.get().map_or(Ok(()), |keep| keep(chosen.lasting));
        let not_kept = kept.err().map(|error| error.to_string());
        if let Some(error) = &not_kept {
            tracing::warn!(target: "leafgate::mode", error, "the mode is in force and could not be kept for the next start");
        }
        ModeView { not_kept, ..chosen }
    }

    /// The mode in force, and what will pause.
    pub(crate) fn mode(&self) -> ModeView {
        // Such as a project's file that somebody trusts by now.
        self.look_at_saved();
        let outlook = self.lock().desk.outlook();
        self.view(outlook)
    }

    /// Asks whether a request that the policy does not block is to wait because of a mode, or asks
    /// what was cancelled. `draft` is what would leave, as people see it.
    pub(crate) fn ask(&self, subject: &Subject, draft: &Draft) -> Asked {
        let (session, class) = (&*subject.session, subject.class);
        let words = (class == TurnClass::Main).then(|| first_words_of(draft)).flatten();
        let has_cancelled = self.event(|desk, now| desk.has_cancelled(session, now));
        // Takes as long as the body is large, so outside of the lock.
        let by_path = || subject.model_by_path(draft.document());
        let question = has_cancelled.then(|| Question::of(draft.document(), by_path().as_deref()));
        let asked = self.event(|desk, now| {
            if let Some(words) = words {
                desk.say(session, words);
            }
            desk.ask(session, class, question.as_ref(), now)
        });
        if matches!(asked, Asked::Dismissed(_)) {
            self.counters.counted().requests.cancelled += 1;
        }
        asked
    }

    /// The latest requests of agents, newest first.
    pub(crate) fn subagents(&self) -> Subagents {
        self.lock().desk.subagents()
    }

    /// The conversations, newest first.
    pub(crate) fn sessions(&self) -> SessionList {
        self.event(|desk, now| {
            desk.elapse(now);
            SessionList { sessions: desk.sessions(now).collect(), follow: desk.follows() }
        })
    }

    /// The conversation that a person looks at, and whether the newest one becomes that one.
    pub(crate) fn active(&self) -> (Option<ActiveSession>, bool) {
        let state = self.lock();
        (state.desk.active(), state.desk.follows())
    }

    /// Has everything pass as it comes for a time, or the policy serve again.
    pub(crate) fn switch_off(self: &Arc<Self>, time: Duration) -> ModeView {
        self.off.switch(time);
        let Some(left) = self.off.left() else {
            self.tell_on();
            return self.mode();
        };
        let seconds = left.as_secs();
        tracing::warn!(target: "leafgate::off", seconds, "SWITCHED OFF: everything passes as it comes, and no rule looks at it");
        self.publish_mode(&self.lock().desk);
        let turns = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(left).await;
            turns.tell_on();
        });
        self.mode()
    }

    /// Says that the policy serves again, where it does.
    fn tell_on(&self) {
        if self.off.left().is_none() {
            tracing::warn!(target: "leafgate::off", "switched on: the policy looks at every request");
            self.publish_mode(&self.lock().desk);
        }
    }

    fn view(&self, outlook: Outlook) -> ModeView {
        let mut view = outlook.view;
        view.saved = view.auto.map(|auto| self.saved.status(Some(auto), outlook.active.as_deref()));
        if let Some(left) = self.off.left().map(|left| left.as_secs().max(1)) {
            view.off_seconds = Some(left);
            view.label = "SWITCHED OFF".to_owned();
            view.text = format!("everything passes as it comes for {left} s more, and no rule looks at it");
        } else if let Some(list) = self.intercept.as_deref().filter(|_| outlook.pauses) {
            view.text.push_str(list);
        }
        view
    }

    pub(super) fn publish_mode(&self, desk: &Desk<TurnGuard>) {
        let mode = self.view(desk.outlook());
        let told = lock(&self.told_mode).replace(mode.clone());
        // One choice may change it in several steps.
        if told.as_ref() != Some(&mode) {
            self.hub.publish(|| Event::Mode { mode });
        }
    }

    pub(super) fn publish_sessions(&self, desk: &Desk<TurnGuard>) {
        self.hub.publish(|| Event::Sessions { active: desk.active(), follow: desk.follows() });
    }
}

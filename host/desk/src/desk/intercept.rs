//! Modes at work: which requests they pause, and what becomes of these when the mode changes.

use std::fmt::Write as _;
use std::sync::Arc;

use leafgate_admin::{ModeView, TurnClass, TurnMode};

use super::Desk;
use crate::effect::Effect;
use crate::error::DeskError;
use crate::mode::ModePause;
use crate::question::Question;
use crate::reason::{CancelReason, Dismissal};
use crate::reviewer::Reviewer;
use crate::tick::Tick;
use crate::turn::Turn;

/// What the desk says to a request that the policy lets pass, or pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing: the verdict of the policy stands.
    Nothing,
    /// A mode wants it to wait: pass this on with the arrival.
    Pause(ModePause),
    /// The same was asked before and cancelled. It must not be sent.
    Dismissed(Dismissal),
}

/// What will happen to the next turns, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Deref)]
pub struct Outlook {
    /// As far as the desk knows it: nothing of saved edits, and of what is switched off.
    #[deref]
    pub view: ModeView,
    /// The conversation that a person looks at.
    pub active: Option<Arc<str>>,
    /// Whether the mode pauses any turn.
    pub pauses: bool,
}

const WAITING: &str = "Waiting for chat request: send a prompt, and it is shown here before it leaves.";
const OFF: &str = "Prompt interception is off: `leafgate mode interceptAlways` turns it on.";

impl<G: Reviewer> Desk<G> {
    /// Returns whether a request of this session may ask what was cancelled a moment ago. Only then
    /// [`Desk::ask`] needs its question, which takes as long as its body is large.
    pub fn has_cancelled(&self, session: &str, now: Tick) -> bool {
        self.cancels.any(session, now)
    }

    /// Event: the policy has judged a request and does not block it. Says whether a mode pauses it,
    /// or whether it was cancelled before; a pause that was asked for once is used up.
    ///
    /// Where its conversation has a turn that waits by a mode, the request is to take that place,
    /// whatever the mode is now: a person asked to see what this conversation sends next.
    pub fn ask(&mut self, session: &str, class: TurnClass, question: Option<&Question>, now: Tick) -> Asked {
        self.run_clock(now);
        if let Some(reason) = question.and_then(|question| self.cancels.of(session, question, now)) {
            let again = Dismissal::CancelledBefore { reason, limit: self.limits.cancel_holds };
            return Asked::Dismissed(again);
        }
        let asked = match class {
            TurnClass::Main => self.pause_by_mode(session),
            TurnClass::Subagent | TurnClass::Side => None,
        };
        asked.map_or(Asked::Nothing, Asked::Pause)
    }

    fn pause_by_mode(&mut self, session: &str) -> Option<ModePause> {
        if let Some(mode) =
            self.main_line(session).filter(|turn| turn.waits_by_mode()).find_map(|turn| Some(turn.mode?.mode))
        {
            return Some(self.modes.pause_again(mode));
        }
        if !self.sessions.is_watched(session) {
            return None;
        }
        let before = self.modes.mode;
        let pause = self.modes.pause_next(session);
        if self.modes.mode != before {
            self.todo.push(Effect::ModeChanged);
        }
        pause
    }

    /// Event: a person chooses a mode.
    ///
    /// Turning off gives up what waits because of a mode, and leaves alone what a rule paused. Any
    /// other choice gives nothing up: what waits under `autoOverride` is what it captures.
    pub fn set_mode(&mut self, mode: TurnMode, now: Tick) {
        self.run_clock(now);
        let before = self.modes.mode;
        self.modes.choose(mode);
        if before != mode {
            self.todo.push(Effect::ModeChanged);
        }
        match mode {
            TurnMode::Off => self.end_modes(now),
            TurnMode::AutoOverride => self.capture_what_waits(),
            TurnMode::InterceptOnce | TurnMode::InterceptAlways => {}
        }
    }

    fn end_modes(&mut self, now: Tick) {
        let by_mode: Vec<_> =
            self.turns.values().filter(|turn| turn.waits_by_mode()).map(|turn| turn.id).collect();
        self.discard(by_mode, CancelReason::ModeDisabled, now);
        let asked: Vec<_> =
            self.turns.values().filter(|turn| turn.mode.is_some()).map(|turn| turn.id).collect();
        for id in asked {
            let Some(turn) = self.turns.get_mut(&id) else { continue };
            turn.leave_mode();
            let session = Arc::clone(&turn.session);
            self.todo.push(Effect::Changed(id));
            self.space_out(&session);
        }
    }

    fn capture_what_waits(&mut self) {
        let other = |turn: &&mut Turn<G>| turn.mode.is_some_and(|pause| pause.mode != TurnMode::AutoOverride);
        for turn in self.turns.values_mut().filter(other) {
            turn.arrival.paused.mode = Some(self.modes.pause_again(TurnMode::AutoOverride));
            self.todo.push(Effect::Changed(turn.id));
        }
    }

    /// Event: a turn that waited to be captured was let go, and its edits are saved. Nothing is
    /// left to capture, whether there were any or not.
    pub fn captured(&mut self) {
        self.modes.captured();
        self.todo.push(Effect::ModeChanged);
    }

    /// Event: there are saved edits for every conversation, or none any more.
    pub fn save(&mut self, saved: bool) {
        self.todo.extend(self.modes.save(saved).then_some(Effect::ModeChanged));
    }

    /// Event: these conversations have saved edits of their own, and no others. They end with
    /// them.
    pub fn save_in(&mut self, sessions: &[Arc<str>]) {
        self.todo.extend(self.modes.save_in(sessions).then_some(Effect::ModeChanged));
    }

    /// Returns whether saved edits are applied to requests.
    pub fn applies_saved(&self) -> bool {
        self.modes.lasting() == TurnMode::AutoOverride
    }

    /// Event: a person wants to make the saved edits anew: the next turn pauses.
    ///
    /// # Errors
    /// [`DeskError::NoCapture`] where no saved edits are applied.
    pub fn capture(&mut self) -> Result<(), DeskError> {
        if !self.modes.capture() {
            return Err(DeskError::NoCapture);
        }
        self.todo.push(Effect::ModeChanged);
        Ok(())
    }

    /// Returns the mode in force, and what it means for the next turns.
    pub fn outlook(&self) -> Outlook {
        let mode = self.modes.mode;
        let active = self.sessions.active.as_deref();
        let (pauses, text) = self.what_will_pause();
        let idle = if mode == TurnMode::Off { OFF } else { WAITING };
        let view = ModeView {
            mode,
            label: mode.label().to_owned(),
            lasting: self.modes.lasting(),
            auto: self.applies_saved().then(|| self.modes.auto(active)),
            pending: self.waiting().count(),
            text,
            idle: self.turns.is_empty().then(|| idle.to_owned()),
            ..ModeView::default()
        };
        Outlook { view, active: self.sessions.active.clone(), pauses }
    }

    /// Whether the mode pauses any turn, and which, in words. A conversation that was selected is the
    /// only one that is asked about; else a new one may fare otherwise than the active one.
    fn what_will_pause(&self) -> (bool, String) {
        let active = self.active();
        let key = active.as_ref().map(|active| &*active.id);
        let selected = active.as_ref().filter(|_| !self.sessions.follows);
        let wanted = self.modes.wants(key);
        let of_new = if selected.is_some() { wanted } else { self.modes.wants(None) };
        let differs = wanted.is_none() && of_new.is_some();
        let turns = match selected {
            Some(active) => format!("of {}", active.label),
            None if differs => "of a conversation that has saved none".to_owned(),
            None => "of any conversation".to_owned(),
        };
        let mut text = match wanted.or(of_new) {
            None if self.modes.mode == TurnMode::Off => {
                return (false, "Turns are sent. Only rules pause.".to_owned());
            }
            None => {
                let text = "Saved edits are applied, and turns are sent. Only rules pause.";
                return (false, text.to_owned());
            }
            Some(TurnMode::InterceptAlways) => format!("Every turn {turns} pauses before sending."),
            Some(TurnMode::AutoOverride) => {
                format!("The next turn {turns} pauses, so that its edits can be saved.")
            }
            Some(TurnMode::InterceptOnce | TurnMode::Off) => {
                let then = self.modes.lasting().label();
                format!("The next turn {turns} pauses before sending, then: {then}.")
            }
        };
        if differs && let Some(active) = &active {
            let _ = write!(text, " Saved edits are applied in {}, and its turns are sent.", active.label);
        }
        if selected.is_some() {
            text.push_str(" Turns of other conversations are sent.");
        }
        text.push_str(" Rules pause besides.");
        (true, text)
    }
}

//! Excepting a redaction in later requests: which one of what is chosen, why, and until when.
//!
//! The gate is asked first: what stands in the way is told before anything is typed. Two lines are
//! typed then, one after the other. What was typed stays until the gate has taken it.

use leafgate_admin::{ApiError, ErrorCode, Except};
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::keys::{edit_line, is_control, next_redaction};
use super::release::another;
use super::{Screen, TextEditor};
use crate::api::ApiCall;
use crate::model::Level;

/// What stands in the second line at first: long enough to mend a rule.
const UNTIL: &str = "30d";

/// An exception that is being typed.
#[derive(Clone, Debug, Default)]
pub(super) struct Excepting {
    /// The numbers of the redactions that it may be about.
    redactions: Vec<usize>,
    /// Which one.
    at: usize,
    /// Whether the gate would take one from that redaction.
    is_possible: bool,
    why: TextEditor,
    /// The second line, once the first one is typed.
    until: Option<TextEditor>,
}

impl Excepting {
    /// Returns the line that is being typed.
    pub(super) fn line(&self) -> &TextEditor {
        self.until.as_ref().unwrap_or(&self.why)
    }

    /// Returns that line, to type in it.
    pub(super) fn line_mut(&mut self) -> &mut TextEditor {
        self.until.as_mut().unwrap_or(&mut self.why)
    }

    /// Returns whether another redaction may still be chosen.
    pub(super) fn asks_why(&self) -> bool {
        self.until.is_none()
    }
}

impl Screen {
    /// Begins an exception from the first redaction of what is chosen that has a number.
    pub(super) fn begin_exception(&mut self) {
        let redactions = self.chosen_redactions(|_| true);
        if redactions.is_empty() {
            self.nothing_redacted("excepted");
            self.is_deaf = true;
            return;
        }
        self.ask_whether(Excepting { redactions, ..Excepting::default() });
    }

    /// Asks the gate whether it would take an exception, which it answers where no reason is given.
    fn ask_whether(&mut self, excepting: Excepting) {
        let redaction = excepting.redactions[excepting.at];
        self.excepting = Some(Excepting { is_possible: false, ..excepting });
        self.act(ApiCall::of(&Except::typed(redaction, "", UNTIL)));
    }

    /// Takes the answer to that. Returns whether it was one: all that lacks is a reason.
    pub(super) fn is_exceptable(&mut self, error: &ApiError) -> bool {
        let Some(excepting) = self.excepting.as_mut().filter(|excepting| !excepting.is_possible) else {
            return false;
        };
        excepting.is_possible = error.code == ErrorCode::Malformed;
        if !excepting.is_possible {
            self.excepting = None;
            self.is_deaf = true;
        }
        self.excepting.is_some()
    }

    pub(super) fn key_in_exception(&mut self, key: KeyEvent) {
        // A notice covers what is typed, so the key that takes it away does nothing else.
        let covered = self.model.notice.is_some();
        let Some(excepting) = &mut self.excepting else { return };
        match key.code {
            KeyCode::Esc => self.leave_exception(),
            KeyCode::Char('c') if is_control(key) => self.leave_exception(),
            _ if covered => self.model.notice = None,
            KeyCode::Tab | KeyCode::BackTab if excepting.asks_why() => {
                let mut other = excepting.clone();
                other.at = another(other.at, next_redaction(key).unwrap_or(1), other.redactions.len());
                self.ask_whether(other);
            }
            KeyCode::Enter => self.enter_exception(),
            _ => edit_line(excepting.line_mut(), key),
        }
    }

    fn leave_exception(&mut self) {
        self.excepting = None;
        self.model.notify(Level::Done, "Nothing was excepted.");
    }

    /// Goes from the first line to the second, and from there to the gate.
    fn enter_exception(&mut self) {
        let Some(excepting) = &mut self.excepting else { return };
        let reason = excepting.why.text().trim().to_owned();
        if reason.is_empty() {
            return;
        }
        // A wrong end is mended by typing it anew, a wrong reason too.
        let Some(until) = excepting.until.take() else {
            excepting.until = Some(TextEditor::new(UNTIL));
            return;
        };
        let except = Except::typed(excepting.redactions[excepting.at], &reason, until.text().trim());
        self.act(ApiCall::of(&except));
    }

    /// Returns the question above the line that is typed.
    pub(super) fn exception_text(&self, excepting: &Excepting) -> String {
        match excepting.asks_why() {
            true => {
                let what = self.redaction_text(&excepting.redactions, excepting.at);
                format!("Why may {what} leave from now on?")
            }
            false => "Until when? A last day (2027-03-31), a span (30d, 2w), or never".to_owned(),
        }
    }
}

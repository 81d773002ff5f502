//! Excepting a redaction in later requests: which one of a leaf, why, and until when.
//!
//! Two lines are typed, one after the other. What was typed stays until the gate has taken it.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::keys::{edit_line, is_control, next_redaction};
use super::view::find_leaf;
use super::{Screen, ScreenEffect, TextEditor};
use crate::api::{ExceptionDraft, TurnCall};
use crate::model::Level;

/// What stands in the second line at first: long enough to mend a rule.
const UNTIL: &str = "30d";

/// An exception that is being typed.
#[derive(Clone, Debug)]
pub(super) struct Excepting {
    pointer: String,
    /// Which redaction of the leaf.
    at: usize,
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

    /// Returns whether another redaction of the leaf may still be chosen.
    pub(super) fn asks_why(&self) -> bool {
        self.until.is_none()
    }
}

impl Screen {
    /// Begins an exception from the first redaction of a leaf that has a number.
    pub(super) fn begin_exception(&mut self, pointer: String) {
        let Some((_, leaf)) = find_leaf(&self.model, &pointer) else { return };
        if leaf.redacted.is_empty() {
            self.model.notify(Level::Error, "Nothing is redacted in this leaf.");
            return;
        }
        let at = leaf.redacted.iter().position(|span| span.redaction.is_some()).unwrap_or(0);
        self.model.clear_notice();
        self.excepting = Some(Excepting { pointer, at, why: TextEditor::default(), until: None });
    }

    pub(super) fn key_in_exception(&mut self, key: KeyEvent) -> Vec<ScreenEffect> {
        // A notice covers what is typed, so the key that takes it away does nothing else.
        let covered = self.model.notice().is_some();
        let Some(excepting) = &mut self.excepting else { return Vec::new() };
        match key.code {
            KeyCode::Esc => return self.leave_exception(),
            KeyCode::Char('c') if is_control(key) => return self.leave_exception(),
            _ if covered => {
                self.model.clear_notice();
                return Vec::new();
            }
            KeyCode::Tab | KeyCode::BackTab if excepting.asks_why() => {
                let (at, step) = (excepting.at, next_redaction(key).unwrap_or(1));
                let count =
                    find_leaf(&self.model, &excepting.pointer).map_or(0, |(_, leaf)| leaf.redacted.len());
                let next = at.saturating_add_signed(step + count as isize).checked_rem(count).unwrap_or(0);
                if let Some(excepting) = &mut self.excepting {
                    excepting.at = next;
                }
            }
            KeyCode::Enter => return self.enter_exception(),
            _ => edit_line(excepting.line_mut(), key),
        }
        Vec::new()
    }

    fn leave_exception(&mut self) -> Vec<ScreenEffect> {
        self.excepting = None;
        self.model.notify(Level::Done, "Nothing was excepted.");
        Vec::new()
    }

    /// Goes from the first line to the second, and from there to the gate.
    fn enter_exception(&mut self) -> Vec<ScreenEffect> {
        let Some(excepting) = &mut self.excepting else { return Vec::new() };
        if excepting.why.text().trim().is_empty() {
            return Vec::new();
        }
        let Some(until) = &excepting.until else {
            excepting.until = Some(TextEditor::new(UNTIL));
            return Vec::new();
        };
        let until = until.text().trim().to_owned();
        let reason = excepting.why.text().trim().to_owned();
        let span =
            find_leaf(&self.model, &excepting.pointer).and_then(|(_, leaf)| leaf.redacted.get(excepting.at));
        match span.and_then(|span| span.redaction) {
            Some(redaction) => {
                // A wrong end is mended by typing it anew, a wrong reason too.
                excepting.until = None;
                self.act(TurnCall::Except(ExceptionDraft { redaction, reason, until }))
            }
            None => {
                self.excepting = None;
                let text =
                    "Not excepted: it was made in a text that was written, so no value was received here.";
                self.model.notify(Level::Error, text);
                Vec::new()
            }
        }
    }

    /// Returns the question above the line that is typed.
    pub(super) fn exception_text(&self, excepting: &Excepting) -> String {
        match excepting.asks_why() {
            true => {
                let what = self.redaction_text(&excepting.pointer, excepting.at);
                format!("Why may {what} leave from now on?")
            }
            false => "Until when? A last day (2027-03-31), a span (30d, 2w), or never".to_owned(),
        }
    }
}

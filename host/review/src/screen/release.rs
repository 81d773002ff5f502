//! Releasing a redaction: the question about one of a leaf, and what becomes of the answer.

use leafgate_admin::{EditCommand, RedactedSpan};

use super::view::find_leaf;
use super::{Screen, ScreenEffect, ScreenQuestion};
use crate::api::TurnCall;
use crate::model::Level;

/// Characters of a replacement that a question shows.
const SHOWN: usize = 40;

impl Screen {
    /// Asks whether the first redaction of a leaf that a person may release is released; where there
    /// is none, about the first one, so that it is said whose it is.
    pub(super) fn ask_to_release(&mut self, pointer: String) {
        let Some((_, leaf)) = find_leaf(&self.model, &pointer) else { return };
        let first = leaf.redacted.iter().position(|span| span.releasable).unwrap_or(0);
        match (leaf.redacted.is_empty(), leaf.released.is_empty()) {
            (true, true) => self.model.notify(Level::Error, "Nothing is redacted in this leaf."),
            (true, false) => {
                self.model
                    .notify(Level::Error, "What was redacted here is released already: u takes that back.");
            }
            (false, _) => self.question = Some(ScreenQuestion::Release { pointer, at: first }),
        }
    }

    pub(super) fn ask_about_another(&mut self, pointer: String, at: usize, step: isize) {
        let count = find_leaf(&self.model, &pointer).map_or(0, |(_, leaf)| leaf.redacted.len());
        let at = at.saturating_add_signed(step + count as isize).checked_rem(count).unwrap_or(0);
        self.question = Some(ScreenQuestion::Release { pointer, at });
    }

    pub(super) fn release(&mut self, pointer: &str, at: usize) -> Vec<ScreenEffect> {
        let Some(span) = self.redaction(pointer, at) else { return Vec::new() };
        match span.redaction.filter(|_| span.releasable) {
            Some(redaction) => self.act(TurnCall::Edit(EditCommand::Release { redaction })),
            None => {
                let text = format!("Not released: {}.", keeper(span));
                self.model.notify(Level::Error, text);
                Vec::new()
            }
        }
    }

    /// Returns the question about a redaction: what stands there, and whose rule decides about it.
    pub(super) fn release_text(&self, pointer: &str, at: usize) -> String {
        let Some(span) = self.redaction(pointer, at) else { return String::new() };
        let what = self.redaction_text(pointer, at);
        match span.releasable {
            true => format!("Release {what}? The value leaves, with this request alone.  y/n"),
            false => format!("Not releasable: {what}. {}.", keeper(span)),
        }
    }

    /// Returns which redaction of a leaf it is, and whose.
    pub(super) fn redaction_text(&self, pointer: &str, at: usize) -> String {
        let Some((_, leaf)) = find_leaf(&self.model, pointer) else { return String::new() };
        let Some(span) = leaf.redacted.get(at) else { return String::new() };
        let written = leaf.text.expose().get(span.start..span.end).unwrap_or_default();
        let shown: String = match written.starts_with(&span.label) {
            true => written.chars().take(SHOWN).collect(),
            false => span.label.clone(),
        };
        let by = span.author.as_deref().unwrap_or("redaction");
        format!("‹{shown}› of {by} ({} of {})", at + 1, leaf.redacted.len())
    }

    fn redaction(&self, pointer: &str, at: usize) -> Option<&RedactedSpan> {
        find_leaf(&self.model, pointer)?.1.redacted.get(at)
    }
}

/// Says who keeps a redaction from being released.
fn keeper(span: &RedactedSpan) -> String {
    match &span.kept_by {
        Some(keeper) => format!("{keeper} keeps the value: it does not say `releasable = true`"),
        None => "it was made in a text that was written, so no value was received here".to_owned(),
    }
}

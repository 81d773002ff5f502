//! Releasing a redaction: the question about one of those that a person may release, and what becomes
//! of the answer.

use leafgate_admin::{LeafView, RedactedSpan};

use super::view::PageItem;
use super::{Screen, ScreenQuestion};

/// Characters of a replacement that a question shows.
const SHOWN: usize = 40;

impl Screen {
    /// Returns the leaves of what is chosen: one, or those of a section with all that is inside it.
    fn chosen_leaves(&self) -> Vec<&LeafView> {
        match (self.model.turn(), self.chosen()) {
            (_, Some((_, Some(leaf)))) => vec![leaf],
            (Some(turn), Some((sections, None))) => {
                let sections = turn.sections.get(sections).unwrap_or_default();
                sections.iter().flat_map(|section| &section.leaves).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the redactions in what is chosen.
    pub(super) fn chosen_spans(&self) -> Vec<&RedactedSpan> {
        self.chosen_leaves().into_iter().flat_map(|leaf| &leaf.redacted).collect()
    }

    /// Returns the numbers of those that can be acted on.
    pub(super) fn chosen_redactions(&self, can: impl Fn(&RedactedSpan) -> bool) -> Vec<usize> {
        let spans = self.chosen_spans().into_iter().filter(|span| can(span));
        spans.filter_map(|span| span.redaction).collect()
    }

    /// Says why nothing of what is chosen can be released or excepted.
    pub(super) fn nothing_redacted(&mut self, verb: &str) {
        let text = match (self.chosen_spans().first(), self.selected()) {
            (Some(span), _) => format!("Not {verb}: {}.", keeper(span)),
            (None, Some(PageItem::Group(_))) => "Enter unfolds it: choose a section in it.".to_owned(),
            (None, _) if self.chosen_leaves().iter().any(|leaf| !leaf.released.is_empty()) => {
                "What was redacted here is released already: u takes that back.".to_owned()
            }
            (None, _) => "Nothing is redacted here.".to_owned(),
        };
        self.refuse(&text);
    }

    /// Asks whether the first redaction of what is chosen that a person may release is released.
    pub(super) fn ask_to_release(&mut self) {
        let redactions = self.chosen_redactions(|span| span.releasable);
        match redactions.is_empty() {
            true => self.nothing_redacted("releasable"),
            false => self.question = Some(ScreenQuestion::Release { redactions, at: 0 }),
        }
    }

    /// Returns which redaction of how many it is, and whose.
    pub(super) fn redaction_text(&self, redactions: &[usize], at: usize) -> String {
        let leaves = self.model.turn().into_iter().flat_map(|turn| &turn.sections).flat_map(|it| &it.leaves);
        let mut spans = leaves.flat_map(|leaf| leaf.redacted.iter().map(move |span| (leaf, span)));
        let found = spans.find(|(_, span)| span.redaction == redactions.get(at).copied());
        let Some((leaf, span)) = found else { return String::new() };
        let written = leaf.text.expose().get(span.start..span.end).unwrap_or_default();
        let shown: String = match written.starts_with(&span.label) {
            true => written.chars().take(SHOWN).collect(),
            false => span.label.clone(),
        };
        let by = span.author.as_deref().unwrap_or("redaction");
        format!("‹{shown}› of {by} ({} of {})", at + 1, redactions.len())
    }
}

/// Returns the place of another one of so many, round the end.
pub(super) fn another(at: usize, step: isize, count: usize) -> usize {
    at.saturating_add_signed(step + count as isize).checked_rem(count).unwrap_or(0)
}

/// Says who keeps a redaction from being released or excepted.
fn keeper(span: &RedactedSpan) -> String {
    match &span.kept_by {
        Some(keeper) => format!("{keeper} keeps the value: it does not say `releasable = true`"),
        None => "it was made in a text that was written, so no value was received here".to_owned(),
    }
}

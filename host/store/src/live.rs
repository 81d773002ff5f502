//! Answers that are coming, as they will be saved.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use leafgate_answer::{Finish, Reply, Summary};
use leafgate_record::AnswerPart;
use serde::{Deserialize, Serialize};

/// An answer is saved at most so often while it comes.
pub(crate) const SAVES: Duration = Duration::from_millis(250);

/// A call, as it is saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedCall {
    /// What the result names.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, masked.
    pub arguments: String,
}

/// One answer that is coming.
pub(crate) struct LiveRow {
    /// The row of its request.
    pub(crate) row: i64,
    pub(crate) reply: Reply,
    pub(crate) model: String,
    pub(crate) failure: Option<String>,
    pub(crate) status: Option<u16>,
    pub(crate) head: Option<Duration>,
    pub(crate) began: Instant,
    pub(crate) state: &'static str,
    /// Whether its texts may end within a word: it broke off, or ended for a reason that lies outside of what was said.
    pub(crate) is_cut_short: bool,
    /// When it was saved, where there is something new.
    pub(crate) saved: Option<Instant>,
    pub(crate) is_new: bool,
}

impl LiveRow {
    pub(crate) fn new(row: i64) -> Self {
        LiveRow {
            row,
            reply: Reply::default(),
            model: String::new(),
            failure: None,
            status: None,
            head: None,
            began: Instant::now(),
            state: "none",
            is_cut_short: true,
            saved: None,
            is_new: false,
        }
    }

    /// Takes a part; gives whether it was the last.
    pub(crate) fn take(&mut self, part: &AnswerPart) -> bool {
        self.is_new = true;
        match part {
            AnswerPart::Head { status, after } => {
                (self.status, self.head) = (Some(status.as_u16()), Some(*after));
                self.state = "open";
                false
            }
            AnswerPart::Said(deltas) => {
                deltas.iter().for_each(|delta| self.reply.add(delta));
                false
            }
            AnswerPart::End { complete, answer } => {
                self.end(*complete, answer.as_deref());
                true
            }
            // It changes no text of it.
            AnswerPart::Ruled { .. } => false,
        }
    }

    fn end(&mut self, complete: bool, read: Option<&Summary>) {
        self.state = match (self.status, read, complete) {
            (None, ..) => "none",
            (_, _, false) => "broken",
            (_, None, true) => "unread",
            (_, Some(_), true) => "complete",
        };
        if let Some(answer) = read {
            let cuts = [Finish::Length, Finish::Filtered, Finish::Paused, Finish::Cancelled, Finish::Failed];
            let is_cut = answer.reply.finish.is_some_and(|finish| cuts.contains(&finish));
            self.is_cut_short = !complete || answer.is_cut_off || is_cut;
            self.reply.clone_from(&answer.reply);
            self.model = answer.model.expose().to_owned();
            self.failure = answer.failure.as_ref().map(|failure| {
                let (kind, message) = (failure.kind.expose(), failure.message.expose());
                format!("{kind}: {message}")
            });
        }
    }

    /// Returns how long it may stay unsaved; `None` where nothing is new.
    pub(crate) fn due(&self, now: Instant) -> Option<Duration> {
        let wait = |saved: Instant| SAVES.saturating_sub(now.duration_since(saved));
        self.is_new.then(|| self.saved.map_or(Duration::ZERO, wait))
    }
}

/// Returns a text that broke off, as it can be saved: its last word may be a part of a secret that nothing recognises.
pub(crate) fn cut_short(text: &str) -> Cow<'_, str> {
    let kept = settled(text);
    if kept.len() == text.trim_end().len() { text.into() } else { format!("{kept} ‹CUT›").into() }
}

/// Returns how much of a text that goes on can be saved: up to the last blank, since what comes next
/// may make one secret with what stands behind it, and to the beginning of a key that has not ended.
pub(crate) fn settled(text: &str) -> &str {
    let end = text.rfind(char::is_whitespace).map_or(0, |at| at);
    let settled = &text[..end];
    match settled.rfind("-----BEGIN ") {
        Some(begin) if !settled[begin..].contains("-----END ") => &settled[..begin],
        _ => settled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_become_a_secret_is_not_saved_yet() {
        assert_eq!(settled("use ghp_half"), "use");
        assert_eq!(settled("word"), "");
        assert_eq!(cut_short("use ghp_half"), "use ‹CUT›");
        assert_eq!(cut_short("it ends. "), "it ends. ");
        assert_eq!(settled("so far so good "), "so far so good");
        assert_eq!(settled("key:\n-----BEGIN PRIVATE KEY-----\nMIIE\nMIIF"), "key:\n");
        assert_eq!(
            settled("a -----BEGIN X-----\nM\n-----END X----- b c"),
            "a -----BEGIN X-----\nM\n-----END X----- b"
        );
    }
}

//! Puts values back where an answer repeats their tokens, in whole texts and in streams.
//!
//! There is one way to restore, the stream's; a whole text is a stream of one fragment. What a fragment ends with is
//! held back only if it begins a token that the session knows, so a token may be split anywhere and everything else
//! leaves at once.
//!
//! Where in a text for people a value must stay a token is the business of [`crate::context`]. It reads what was
//! emitted, restored values included: a value that is a link's beginning must not carry the next one away.

use std::{borrow::Cow, fmt};

use zeroize::Zeroizing;

use crate::{
    context::Context,
    memory::Value,
    vault::Vault,
    word::{self, MAX_LABEL, MAX_TOKEN, TAIL},
};

/// What the text is for, and so where values may be put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Channel {
    /// Text that a program may show as markdown or HTML: everywhere but inside URLs, link and image targets,
    /// reference definitions, autolinks and HTML tags, where a model that was talked into it could carry a value out.
    Text,
    /// Text that is taken as it is, as the content that an editing tool writes to a file: everywhere.
    Literal,
}

/// Restores one channel of one choice of one response stream. Fragments are decoded text.
pub struct Restorer {
    vault: Vault,
    /// `None` in a channel that restores everywhere.
    context: Option<Context>,
    /// What begins a token, not emitted yet: always shorter than the longest token.
    held: String,
    /// The last byte of the model's text before `held`.
    previous: Option<u8>,
}

/// A token that stands in a text from `start` to `end`.
struct Found {
    start: usize,
    end: usize,
    value: Value,
}

impl Restorer {
    pub(crate) fn new(vault: Vault, channel: Channel) -> Self {
        let context = match channel {
            Channel::Text => Some(Context::default()),
            Channel::Literal => None,
        };
        Self { vault, context, held: String::new(), previous: None }
    }

    /// Takes the next fragment and returns what can be emitted now.
    pub fn push(&mut self, fragment: &str) -> String {
        if self.held.is_empty() {
            return self.take(fragment);
        }
        let mut joined = std::mem::take(&mut self.held);
        joined.push_str(fragment);
        self.take(&joined)
    }

    /// Ends the text and returns what was held back.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        self.emit(&rest, &mut String::new());
        rest
    }

    /// Returns whether something is held back.
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    fn take(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        while let Some(found) = next_token(&self.vault, &text[from..], self.previous) {
            self.emit(&text[from..from + found.start], &mut out);
            self.put_back(&text[from + found.start..from + found.end], found.value, &mut out);
            from += found.end;
        }
        let rest = &text[from..];
        let hold = held_from(&self.vault, rest, self.previous);
        self.emit(&rest[..hold], &mut out);
        self.held.push_str(&rest[hold..]);
        out
    }

    /// Emits the model's own text.
    fn emit(&mut self, text: &str, out: &mut String) {
        if let Some(context) = &mut self.context {
            context.read(text);
        }
        self.previous = text.as_bytes().last().copied().or(self.previous);
        out.push_str(text);
    }

    /// Emits a token's value, or the token where its value must not stand.
    fn put_back(&mut self, token: &str, value: Value, out: &mut String) {
        match &mut self.context {
            Some(context) if context.vetoes() => return self.emit(token, out),
            Some(context) => context.read(&value),
            None => {}
        }
        self.previous = token.as_bytes().last().copied();
        out.push_str(&value);
    }
}

impl fmt::Debug for Restorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restorer").field("held", &self.held.len()).finish_non_exhaustive()
    }
}

impl Drop for Restorer {
    fn drop(&mut self) {
        // What is held is the client's answer cut short, not a value; but answers are not left lying about either.
        drop(Zeroizing::new(std::mem::take(&mut self.held)));
    }
}

/// Restores a whole text; borrowed when no token of this session is in it.
pub(crate) fn restore<'t>(vault: &Vault, text: &'t str, channel: Channel) -> Cow<'t, str> {
    if vault.is_empty() || next_token(vault, text, None).is_none() {
        return Cow::Borrowed(text);
    }
    let mut restorer = Restorer::new(vault.clone(), channel);
    let mut out = restorer.push(text);
    out.push_str(&restorer.finish());
    Cow::Owned(out)
}

/// Finds the first token that the session knows. `previous` is the byte before `text`.
fn next_token(vault: &Vault, text: &str, previous: Option<u8>) -> Option<Found> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'_', bytes).find_map(|underscore| {
        let tail = word::read_tail(&bytes[underscore + 1..])?;
        let from = underscore.saturating_sub(MAX_LABEL + 1);
        let previous = if from == 0 { previous } else { Some(bytes[from - 1]) };
        let known = vault.recall(&bytes[from..underscore], previous, &tail)?;
        Some(Found { start: underscore - known.label, end: underscore + 1 + TAIL, value: known.value })
    })
}

/// Returns where the longest ending of `text` starts that begins a known token; its length where none does.
fn held_from(vault: &Vault, text: &str, previous: Option<u8>) -> usize {
    let bytes = text.as_bytes();
    let word = bytes.iter().rev().take(MAX_TOKEN - 1).take_while(|&&b| word::is_word(b)).count();
    let starts = bytes.len() - word..bytes.len();
    let before = |at: usize| if at == 0 { previous } else { Some(bytes[at - 1]) };
    starts.into_iter().find(|&at| vault.begins(&bytes[at..], before(at))).unwrap_or(bytes.len())
}

//! Puts values back where an answer repeats their tokens, in whole texts and in streams.
//!
//! A text for people is restored as a stream; a whole one is a stream of one fragment. The end of
//! a fragment is held back only if it begins a token that the session knows. So a token may be
//! split anywhere, and everything else leaves at once.
//!
//! [`crate::context`] decides where in a text for people a value must stay a token. It reads the
//! emitted text, restored values included, because a value that begins a link must not carry the
//! next value away. An answer of many texts is read as each of them alone and as a client may join
//! them. The veto of one reading is enough.

use std::fmt;

use zeroize::Zeroizing;

use crate::{
    context::Watchers,
    file::FileName,
    memory::{Value, Whence},
    vault::Vault,
    word::{self, MAX_LABEL, MAX_TOKEN, TAIL},
};

/// Restores one text of one answer, which a program may show as markdown or HTML: everywhere but inside URLs, link and
/// image targets, reference definitions, autolinks and HTML tags, through which a deceived model could carry a value out.
/// Fragments are decoded text.
pub struct Restorer {
    vault: Vault,
    /// The ways to read the emitted text, without duplicates: first this text alone. While a
    /// fragment is taken, also what a client may have joined before it.
    readings: Vec<Joined>,
    /// The beginning of a token that is not emitted yet. It is shorter than the longest token.
    held: String,
    /// The end of the model's own text, in which an altered token may have begun.
    recent: String,
}

/// One way to read what was emitted: a text alone, or several texts of an answer, in the order in which they were
/// emitted, as a client may join them.
///
/// A client shows the parts of an answer one behind the other, so a link that begins in one part
/// may end in the next. Each text is therefore restored within everything that may stand before it,
/// see [`Restorer::push`].
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Joined {
    context: Watchers,
    /// The last byte of the model's own text.
    previous: Option<u8>,
}

impl Joined {
    /// Reads a text that was emitted as it is.
    pub fn read(&mut self, text: &str) {
        self.context.read(text);
        self.previous = text.as_bytes().last().copied().or(self.previous);
    }
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joined").field("vetoes", &self.context.vetoes()).finish()
    }
}

/// A known token in a text, from `start` to `end`.
struct FoundToken {
    start: usize,
    end: usize,
    value: Value,
    whence: Whence,
}

impl Restorer {
    pub(crate) fn new(vault: Vault) -> Self {
        Self { vault, readings: vec![Joined::default()], held: String::new(), recent: String::new() }
    }

    /// Takes the next fragment and returns what can be emitted now. Restored is only what each of the
    /// joined texts would restore too. The joined texts then read the returned text.
    pub fn push(&mut self, fragment: &str, joined: &mut [Joined]) -> String {
        if self.held.is_empty() {
            return self.within(joined, |this| this.take(fragment));
        }
        let text = std::mem::take(&mut self.held) + fragment;
        self.within(joined, |this| this.take(&text))
    }

    /// Ends the text and returns what was held back. The joined texts then read the returned text.
    pub fn finish(&mut self, joined: &mut [Joined]) -> String {
        let rest = std::mem::take(&mut self.held);
        self.within(joined, |this| this.emit(&rest, &mut String::new()));
        self.vault.count(0, 0, altered(&self.vault, &self.recent, self.recent.len(), true));
        self.recent.clear();
        rest
    }

    /// Returns whether something is held back.
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Emits text for all readings at once. Equal joined texts are read once.
    fn within<R>(&mut self, joined: &mut [Joined], emit: impl FnOnce(&mut Self) -> R) -> R {
        let mut places = Vec::with_capacity(joined.len());
        for reading in joined.iter() {
            let known = self.readings.iter().position(|known| known == reading);
            places.push(known.unwrap_or(self.readings.len()));
            if known.is_none() {
                self.readings.push(*reading);
            }
        }
        let emitted = emit(self);
        for (reading, place) in joined.iter_mut().zip(places) {
            *reading = self.readings[place];
        }
        self.readings.truncate(1);
        emitted
    }

    fn take(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        while let Some(found) = next_token(&self.vault, &text[from..], self.previous()) {
            self.emit(&text[from..from + found.start], &mut out);
            self.put_back(&text[from + found.start..from + found.end], found.value, &mut out);
            from += found.end;
        }
        let rest = &text[from..];
        let hold = held_from(&self.vault, rest, self.previous());
        self.emit(&rest[..hold], &mut out);
        self.held.push_str(&rest[hold..]);
        out
    }

    /// Returns the last byte of the model's text. A byte of a word in any reading comes first,
    /// because tokens behind one are read more strictly.
    fn previous(&self) -> Option<u8> {
        let glues =
            self.readings.iter().find_map(|reading| reading.previous.filter(|&byte| word::is_word(byte)));
        glues.or(self.readings[0].previous)
    }

    /// Emits the model's own text.
    fn emit(&mut self, text: &str, out: &mut String) {
        self.readings.iter_mut().for_each(|reading| reading.read(text));
        out.push_str(text);
        self.look_for_altered(text);
    }

    /// Counts the altered tokens that end in a further piece of the model's text.
    fn look_for_altered(&mut self, text: &str) {
        let read = self.recent.len();
        self.recent.push_str(text);
        self.vault.count(0, 0, altered(&self.vault, &self.recent, read, false));
        let done = self.recent.floor_char_boundary(self.recent.len().saturating_sub(MAX_TOKEN + 1));
        drop(Zeroizing::new(self.recent.drain(..done).collect::<String>()));
    }

    /// Emits a token's value, or the token where its value must not stand.
    fn put_back(&mut self, token: &str, value: Value, out: &mut String) {
        if self.readings.iter().any(|reading| reading.context.vetoes()) {
            self.vault.count(0, 1, 0);
            return self.emit(token, out);
        }
        self.vault.count(1, 0, 0);
        self.recent.clear();
        for reading in &mut self.readings {
            reading.context.read(&value);
            reading.previous = token.as_bytes().last().copied();
        }
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
        // The held text is a piece of the answer and no value, but answers are wiped from memory
        // too.
        drop(Zeroizing::new(std::mem::take(&mut self.held)));
        drop(Zeroizing::new(std::mem::take(&mut self.recent)));
    }
}

impl Vault {
    /// Puts values back into a text that a tool writes into these files, where their rules let them.
    pub fn restore_into(&self, text: &str, tool: &str, files: &[FileName]) -> Zeroizing<String> {
        let mut out = Zeroizing::new(String::with_capacity(text.len()));
        let mut from = 0;
        while let Some(found) = next_token(self, &text[from..], previous(text, from)) {
            out.push_str(&text[from..from + found.start]);
            let may_return = found.whence.flow.allows(&found.whence.seen, tool, files);
            out.push_str(if may_return { &found.value } else { &text[from + found.start..from + found.end] });
            from += found.end;
        }
        out.push_str(&text[from..]);
        out
    }

    /// Returns how many tokens of this session a text has.
    pub fn tokens_in(&self, text: &str) -> usize {
        let (mut count, mut from) = (0, 0);
        while let Some(found) = next_token(self, &text[from..], previous(text, from)) {
            from += found.end;
            count += 1;
        }
        count
    }

    /// Returns how many words of a text look like tokens of this session and have a wrong check.
    pub fn altered_in(&self, text: &str) -> usize {
        altered(self, text, 0, false) + altered(self, text, text.len(), true)
    }

    /// Returns where in a text, from a place on, a token of this session begins, or may begin at the
    /// text's end; `None` where no token does.
    pub fn first_token(&self, text: &str, from: usize) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        let (rest, previous) = (&text[from..], previous(text, from));
        let whole = next_token(self, rest, previous).map(|found| found.start);
        let begun = Some(held_from(self, rest, previous)).filter(|&at| at < rest.len());
        whole.into_iter().chain(begun).min().map(|at| from + at)
    }
}

/// Counts the words that have the shape of this session's tokens and a wrong check. Such a word ends
/// before a byte at `read` or behind it, or, where the text has ended, with the text.
fn altered(vault: &Vault, text: &str, read: usize, ended: bool) -> usize {
    if vault.is_empty() {
        return 0;
    }
    let bytes = text.as_bytes();
    let first = read.saturating_sub(TAIL + 1);
    let ends_word = |end: usize| match bytes.get(end) {
        Some(&byte) => end >= read && !word::is_word(byte),
        None => ended && end == bytes.len(),
    };
    let found = memchr::memchr_iter(b'_', &bytes[first..]).map(|at| first + at).filter(|&underscore| {
        let Some(tail) = word::read_tail(&bytes[underscore + 1..]) else { return false };
        let from = underscore.saturating_sub(MAX_LABEL + 1);
        ends_word(underscore + 1 + TAIL)
            && vault.is_altered(&bytes[from..underscore], previous(text, from), &tail)
    });
    found.count()
}

fn previous(text: &str, from: usize) -> Option<u8> {
    from.checked_sub(1).map(|before| text.as_bytes()[before])
}

/// Finds the first token that the session knows. `previous` is the byte before `text`.
fn next_token(vault: &Vault, text: &str, previous: Option<u8>) -> Option<FoundToken> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'_', bytes).find_map(|underscore| {
        let tail = word::read_tail(&bytes[underscore + 1..])?;
        let from = underscore.saturating_sub(MAX_LABEL + 1);
        let previous = if from == 0 { previous } else { Some(bytes[from - 1]) };
        let known = vault.recall(&bytes[from..underscore], previous, &tail)?;
        Some(FoundToken {
            start: underscore - known.label,
            end: underscore + 1 + TAIL,
            value: known.value?,
            whence: known.whence,
        })
    })
}

/// Returns the start of the longest ending of `text` that begins a known token, or the length of
/// `text` if none does.
fn held_from(vault: &Vault, text: &str, previous: Option<u8>) -> usize {
    let bytes = text.as_bytes();
    let word = bytes.iter().rev().take(MAX_TOKEN - 1).take_while(|&&b| word::is_word(b)).count();
    let starts = bytes.len() - word..bytes.len();
    let before = |at: usize| if at == 0 { previous } else { Some(bytes[at - 1]) };
    starts.into_iter().find(|&at| vault.begins(&bytes[at..], before(at))).unwrap_or(bytes.len())
}

//! Character-wise encodings: windows of a text in which characters are spelled in another way, or
//! hidden between others.
//!
//! A spelling that hides a character opens a window around it; inside a window every spelling is
//! undone in one pass, one level of each but for rows of backslashes. Windows reach so far that a detector sees what it needs
//! around a finding, and they do not overlap.

use std::ops::Range;

use memchr::{memchr3_iter, memmem};

use super::map::{Units, Window};
use super::text::may_spell;
use super::{Encoding, Encodings, entity, escape, invisible, percent, terminal};
use crate::work::spend;

/// How far a window reaches before a spelling, at least: names stand before values, and some
/// detectors look for a word there.
const BEFORE: usize = 512;

/// And behind it: more than the values that are judged by a name before them.
const BEHIND: usize = 1024;

/// And if a key's block begins in it: the longest that a block is followed.
const BEHIND_KEY: usize = 64 << 10;

/// Calls `f` with each window's text without its spellings.
pub(super) fn each_window(text: &str, mut f: impl FnMut(String, Encodings, Units)) {
    let bytes = text.as_bytes();
    let mut windows = windows(bytes).into_iter().peekable();
    let mut done = 0;
    while let Some(window) = windows.next() {
        let start = window.start.max(done);
        if window.end <= start {
            continue;
        }
        let (encodings, looked) = (Vec::new(), 0);
        let mut view = Respelled { source: text, window: Window::new(text, start), encodings, looked };
        let mut end = window.end;
        view.extend(end);
        while view.ends_inside_a_key() && end < text.len() {
            end = text.floor_char_boundary(end + BEHIND_KEY);
            while let Some(next) = windows.next_if(|next| next.start <= end) {
                end = end.max(next.end);
            }
            view.extend(end);
        }
        done = view.window.at.max(end);
        if !view.window.units.is_empty() {
            f(view.window.text, view.encodings.into_iter().collect(), view.window.units);
        }
    }
}

/// The windows of a text, in order and apart.
fn windows(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    add_windows(bytes, memchr3_iter(b'%', b'&', b'\\', bytes), &mut all);
    if bytes.is_ascii() {
        add_windows(bytes, memchr::memchr_iter(0x1b, bytes), &mut all);
    } else {
        add_windows(bytes, memchr3_iter(0x1b, 0xc2, 0xe2, bytes), &mut all);
        add_windows(bytes, memchr3_iter(0xcd, 0xef, 0xf3, bytes), &mut all);
        add_windows(bytes, memchr3_iter(0xe1, 0xe3, 0xe3, bytes), &mut all);
    }
    all.sort_unstable_by_key(|window| window.start);
    all.dedup_by(|next, last| {
        let meets = next.start <= last.end;
        if meets {
            last.end = last.end.max(next.end);
        }
        meets
    });
    all
}

/// Adds a window around each place that hides something.
fn add_windows(bytes: &[u8], places: impl Iterator<Item = usize>, all: &mut Vec<Range<usize>>) {
    let mut last: Option<Range<usize>> = None;
    for at in places.filter(|&at| hides(bytes, at)) {
        let floor = last.as_ref().map_or(0, |last| last.end);
        let reach = at.saturating_add(BEHIND).min(bytes.len());
        if reach <= floor {
            continue;
        }
        let end = word_end(bytes, reach);
        match &mut last {
            Some(last) if at.saturating_sub(BEFORE) <= last.end => last.end = end,
            _ => all.extend(last.replace(word_start(bytes, at.saturating_sub(BEFORE), floor)..end)),
        }
    }
    all.extend(last);
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

fn word_start(bytes: &[u8], at: usize, floor: usize) -> usize {
    let start = bytes[floor..at.max(floor)].iter().rposition(|&byte| is_space(byte));
    let start = start.map_or(floor, |n| floor + n + 1);
    spend(at.saturating_sub(start));
    start
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    let end = bytes[at..].iter().position(|&byte| is_space(byte)).map_or(bytes.len(), |n| at + n);
    spend(end - at);
    end
}

/// Returns true if and only if a spelling begins at `at` without which the text may say something
/// else.
fn hides(bytes: &[u8], at: usize) -> bool {
    let rest = &bytes[at..];
    match bytes[at] {
        b'%' => percent::character(rest).is_some(),
        b'&' => entity::character(rest).is_some(),
        b'\\' => escape::hides(bytes, at),
        0x1b => true,
        0xc2 if rest.get(1) == Some(&0x9b) => true,
        _ => invisible::character(rest).is_some_and(|(seen, _)| invisible::hides(bytes, at, seen)),
    }
}

/// Reads the spelling that begins at `at`; returns its encoding, what it means and its length.
fn spelling(bytes: &[u8], at: usize) -> Option<(Encoding, Option<char>, usize)> {
    let rest = &bytes[at..];
    let (encoding, character) = match bytes[at] {
        b'%' => (Encoding::Percent, percent::character(rest)),
        // A blank in a query, where what stands beside it is encoded too. In base64 a plus sign
        // would be encoded itself.
        b'+' if between_percents(bytes, at) => (Encoding::Percent, Some((' ', 1))),
        b'&' => (Encoding::Entity, entity::character(rest)),
        b'\\' => (Encoding::Escape, escape::spelling(bytes, at)),
        _ => {
            if let Some(length) = terminal::sequence(rest) {
                return Some((Encoding::Terminal, None, length));
            }
            let (seen, length) = invisible::character(rest)?;
            return Some((Encoding::Invisible, seen, length));
        }
    };
    let (means, length) = character?;
    Some((encoding, Some(means), length))
}

fn between_percents(bytes: &[u8], at: usize) -> bool {
    let before =
        at.checked_sub(3).is_some_and(|from| percent::character(&bytes[from..]).is_some_and(|(_, n)| n == 3));
    before && bytes.get(at + 1) == Some(&b'%')
}

/// A window in which spellings are undone.
struct Respelled<'a> {
    source: &'a str,
    window: Window<'a>,
    /// Each once, and few: a set of them costs more than the text.
    encodings: Vec<Encoding>,
    /// How far its text was looked at for a key's block.
    looked: usize,
}

impl Respelled<'_> {
    /// Decodes up to `end`; a spelling that begins before it is read whole.
    fn extend(&mut self, end: usize) {
        let bytes = self.source.as_bytes();
        while self.window.at < end {
            let plain = bytes[self.window.at..end].iter().position(|&byte| may_spell(byte));
            let next = plain.map_or(end, |n| self.window.at + n);
            spend(next - self.window.at + 1);
            self.window.plain_to(next);
            if next < end {
                self.one();
            }
        }
    }

    /// Decodes what begins at a byte that may begin a spelling.
    fn one(&mut self) {
        match spelling(self.source.as_bytes(), self.window.at) {
            Some((encoding, means, length)) => {
                let end = self.window.at + length;
                self.window.spelled_to(end, means);
                if !self.encodings.contains(&encoding) {
                    self.encodings.push(encoding);
                }
            }
            None => {
                let plain = self.source[self.window.at..].chars().next();
                let end = self.window.at + plain.map_or(1, char::len_utf8);
                self.window.plain_to(end);
            }
        }
    }

    /// Whether a key's block has begun since the last look and not ended.
    fn ends_inside_a_key(&mut self) -> bool {
        const HEADER: &[u8] = b"-----BEGIN ";
        let from = self.looked.saturating_sub(HEADER.len());
        self.looked = self.window.text.len();
        let bytes = self.window.text.as_bytes();
        spend(bytes.len() - from);
        match memmem::rfind(&bytes[from..], HEADER) {
            Some(at) => memmem::find(&bytes[from + at..], b"-----END").is_none(),
            None => false,
        }
    }
}

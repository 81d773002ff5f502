//! Runs of base64's alphabet: base64, base32 and plain hexadecimal digits.
//!
//! A run counts where its first bytes already are text, so hashes and identifiers cost one look at
//! sixteen characters. What is decoded is cut where it stops being text, because a stretch may be
//! glued to what stands behind it. A long run that begins with other bytes is decoded whole, once
//! for each way in which its characters may be grouped, and the texts in it count.
//!
//! Linear: a decoder that meets no more text stops within one block.

use std::ops::Range;

use super::marks::Marks;
use super::source::{self, LEAST_BASE32};
use super::text::{LEAST_AMONG_BYTES, each_among_bytes, is_hex, is_sign};
use super::{Block, Encoding, url};

/// Shorter runs of the alphabet are words. A key of twenty characters is 27 in base64, a card
/// number 22.
pub(super) const LEAST: usize = 20;

/// Bytes of text that a stretch must spell to count.
pub(super) const LEAST_TEXT: usize = 12;

/// From here on a run is decoded whole: a card number behind two other bytes.
const LEAST_WHOLE: usize = 24;

/// Calls `f` with each encoded stretch, but for those inside data URLs.
pub(super) fn each(text: &str, marks: &Marks, urls: &[Block], f: &mut impl FnMut(Block)) {
    let mut urls = urls.iter().map(|url| url.range.clone()).peekable();
    let mut done = Done::default();
    marks.each_run(|run| {
        let run = behind_escape(text.as_bytes(), run.start)..run.end;
        while urls.next_if(|url| url.end <= run.start).is_some() {}
        let inside_url = urls.peek().is_some_and(|url| url.start <= run.start);
        let from = run.start.max(done.stretches);
        if !inside_url && from + LEAST <= run.end {
            stretches(text.as_bytes(), from..run.end, &mut done, f);
        }
    });
}

/// How far a text has been read.
#[derive(Default)]
pub(super) struct Done {
    /// For stretches that begin with text, and for those among bytes that held some.
    stretches: usize,
    /// For bytes without text in them: their lines may be followed by a line that is encoded in
    /// another way.
    bytes: usize,
}

/// Reads a text that is encoded as a whole, as media is: nothing but its first bytes decides.
pub(super) fn whole(text: &str) -> Option<Block> {
    let start = text.len() - text.trim_start().len();
    match text[start..].starts_with(url::SCHEME) {
        true => url::whole(text, start),
        false => source::base64(text.as_bytes(), start, LEAST_TEXT).map(|found| found.stretch),
    }
}

/// Texts quote texts: the letter of `\n` and the digits of `%2F` or `\u0026` belong to the escape.
fn behind_escape(bytes: &[u8], start: usize) -> usize {
    match (start.checked_sub(1).map(|before| bytes[before]), bytes[start]) {
        (Some(b'\\'), b'n' | b'r' | b't') => start + 1,
        (Some(b'\\'), b'u') => start + "u0026".len(),
        (Some(b'%'), _) => start + 2,
        _ => start,
    }
}

/// Adds each stretch of a run: from its beginning, or from behind a sign on.
pub(super) fn stretches(bytes: &[u8], run: Range<usize>, done: &mut Done, f: &mut impl FnMut(Block)) {
    let (mut from, mut read) = (run.start, run.start);
    while from + LEAST <= run.end {
        let mut behind = from + 1;
        let sign = (from..run.end).find(|&at| is_sign(bytes[at])).unwrap_or(run.end);
        // In most runs signs part words.
        let in_few_characters = match sign - from >= LEAST_BASE32 {
            true => source::hex(bytes, from).or_else(|| source::base32(bytes, from)),
            false => None,
        };
        let decoded = in_few_characters.or_else(|| source::base64(bytes, from, LEAST_TEXT));
        if let Some(decoded) = decoded {
            behind = behind.max(decoded.resume);
            read = read.max(decoded.resume);
            f(decoded.stretch);
        }
        from = (sign.max(behind - 1)..run.end)
            .find(|&at| is_sign(bytes[at]))
            .map_or(behind.max(run.end), |sign| sign + 1);
    }
    done.stretches = from;
    among_bytes(bytes, read.max(done.bytes)..run.end, done, f);
}

/// Adds the texts among the bytes that a run spells, however its characters are grouped: from its
/// beginning, or from behind the first sign that its path ends with.
fn among_bytes(bytes: &[u8], run: Range<usize>, done: &mut Done, f: &mut impl FnMut(Block)) {
    if run.len() < LEAST_WHOLE {
        return;
    }
    // Most runs are words in small letters, of which nothing but hexadecimal digits is asked.
    let capitals = source::holds_capitals(&bytes[run.clone()]);
    let starts = (run.start..run.end + 1 - LEAST_WHOLE)
        .filter(|&at| at == run.start || is_sign(bytes[at - 1]))
        .filter(|&at| capitals || is_hex(bytes[at]));
    let found = starts.filter_map(|at| Some((at, source::alphabet_of(&bytes[at..run.end])?))).next();
    let Some((from, alphabet)) = found else { return };
    let (values, end) = source::values(bytes, from, alphabet);
    for shift in 0..alphabet.group() {
        let decoded = source::bytes_of(&values[shift.min(values.len())..], alphabet);
        each_among_bytes(&decoded, LEAST_AMONG_BYTES, |text, wide| {
            let encoding = match alphabet.encoding {
                Encoding::Base64 if wide => Encoding::Base64Utf16,
                encoding => encoding,
            };
            f(Block { encoding, range: from..end, text });
            done.stretches = done.stretches.max(end);
        });
    }
    done.bytes = done.bytes.max(end);
}

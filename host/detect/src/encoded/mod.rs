//! Encoded stretches of a text: base64, hexadecimal digits and data URLs that spell text again.
//!
//! Nothing is decoded for its own sake: a stretch counts where its first bytes already are text, so pictures, signatures, hashes and
//! identifiers cost one look at sixteen characters. What is decoded is cut where it stops being text, because a stretch may be glued to
//! what stands behind it. Both alphabets of base64 are read, with or without padding, over the line breaks of MIME and PEM.
//!
//! Linear: a long run is looked for from its twentieth character backwards, and a decoder that meets no more text stops within one
//! block. What comes out is shorter than what went in, so decoding the outcome once more costs less than the first time.

mod source;
#[cfg(test)]
mod tests;
mod url;

use std::fmt;
use std::ops::Range;

use source::{base64, hex};
use url::{DataUrls, SCHEME};

/// Shorter runs of the alphabet are words. A key of twenty characters is 27 in base64, a card number 22.
const LEAST: usize = 20;

/// Bytes of text that a stretch must spell to count.
const LEAST_TEXT: usize = 12;

/// How a stretch is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Base64 in either alphabet.
    Base64,
    /// Hexadecimal digits.
    Hex,
    /// A data URL, in base64 or percent-encoded.
    DataUrl,
}

impl Encoding {
    /// The name used in reports, to be read behind "in".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Hex => "hexadecimal digits",
            Self::DataUrl => "a data URL",
        }
    }
}

/// A stretch that spells text. `Debug` prints lengths only.
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded {
    /// How.
    pub encoding: Encoding,
    /// Where its encoded form lies in the text that it was found in.
    pub range: Range<usize>,
    /// What it spells.
    pub text: String,
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in {:?} at {:?}", self.text.len(), self.encoding, self.range)
    }
}

/// Finds every encoded stretch of a text, in order.
pub fn encoded(text: &str) -> Vec<Encoded> {
    if text.len() < SCHEME.len() + 2 {
        return Vec::new();
    }
    let mut found = DataUrls::of(text).all();
    let urls: Vec<Range<usize>> = found.iter().map(|url| url.range.clone()).collect();
    let mut urls = urls.into_iter().peekable();
    let mut done = 0;
    each_run(text.as_bytes(), |run| {
        while urls.next_if(|url| url.end <= run.start).is_some() {}
        let inside_url = urls.peek().is_some_and(|url| url.start <= run.start);
        let from = run.start.max(done);
        if !inside_url && from + LEAST <= run.end {
            done = stretches(text.as_bytes(), from..run.end, &mut found);
        }
    });
    found.sort_by_key(|stretch| stretch.range.start);
    found
}

/// Reads a text that is encoded as a whole, as media is: nothing but its first bytes decides.
pub fn encoded_whole(text: &str) -> Option<Encoded> {
    let start = text.len() - text.trim_start().len();
    match text[start..].starts_with(SCHEME) {
        true => DataUrls::of(text).at(start),
        false => base64(text.as_bytes(), start, LEAST_TEXT).map(|found| found.stretch),
    }
}

/// What a byte is to the two alphabets.
mod class {
    pub(super) const BASE64: u8 = 0b001;
    pub(super) const HEX: u8 = 0b010;
    /// One of the alphabets' signs, which in other texts stand between words.
    pub(super) const SIGN: u8 = 0b100;
}

const CLASS: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let it = byte as u8;
        if it.is_ascii_alphanumeric() {
            classes[byte] |= class::BASE64;
        }
        if it.is_ascii_hexdigit() {
            classes[byte] |= class::HEX;
        }
        if matches!(it, b'+' | b'/' | b'-' | b'_') {
            classes[byte] |= class::BASE64 | class::SIGN;
        }
        byte += 1;
    }
    classes
};

fn is(byte: u8, class: u8) -> bool {
    CLASS[usize::from(byte)] & class != 0
}

/// Calls `f` with each run of [`LEAST`] or more characters of the alphabet.
fn each_run(bytes: &[u8], mut f: impl FnMut(Range<usize>)) {
    // A run that begins at `start` or later is looked at from its twentieth character backwards: whatever is none lies before it.
    let mut start = 0;
    while start + LEAST <= bytes.len() {
        let window = &bytes[start..start + LEAST];
        if let Some(none) = window.iter().rposition(|&b| !is(b, class::BASE64)) {
            start += none + 1;
            continue;
        }
        let rest = &bytes[start + LEAST..];
        let more = rest.iter().position(|&b| !is(b, class::BASE64)).unwrap_or(rest.len());
        let end = start + LEAST + more;
        f(behind_escape(bytes, start)..end);
        start = end + 1;
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

/// Adds each stretch of a run: from its beginning, or from behind a sign on. Gives where to go on.
fn stretches(bytes: &[u8], run: Range<usize>, found: &mut Vec<Encoded>) -> usize {
    let mut from = run.start;
    while from + LEAST <= run.end {
        let mut behind = from + 1;
        if let Some(decoded) = hex(bytes, from).or_else(|| base64(bytes, from, LEAST_TEXT)) {
            behind = behind.max(decoded.resume);
            found.push(decoded.stretch);
        }
        from = (behind..run.end).find(|&at| is(bytes[at - 1], class::SIGN)).unwrap_or(behind.max(run.end));
    }
    from
}

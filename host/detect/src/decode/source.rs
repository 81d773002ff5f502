//! From an encoded form to text, a block at a time, as long as text comes out.

use super::runs::{LEAST, LEAST_TEXT};
use super::text::{is_base64, is_hex};
use super::{Block, Encoding};
use crate::work::spend;

/// As many hexadecimal digits as sixteen characters of text need; shorter ones name colours and
/// commits.
const LEAST_HEX: usize = 32;

/// Characters of base32 that fifteen characters of text need.
pub(super) const LEAST_BASE32: usize = 24;

/// Characters that are looked at before anything is decoded: twelve bytes are text by chance once
/// in thirty thousand times.
const HEAD: usize = 16;

/// Characters that are decoded at a time.
const BLOCK: usize = 64;

/// One control character among so many others is still text.
const CONTROLS: usize = 8;

/// A stretch, and from where on another may begin: what follows it in the same run may be glued to
/// it.
pub(super) struct Decoded {
    pub(super) stretch: Block,
    pub(super) resume: usize,
}

pub(super) fn hex(bytes: &[u8], from: usize) -> Option<Decoded> {
    let head = bytes.get(from..from + LEAST_HEX)?;
    if !head.iter().all(|&byte| is_hex(byte)) {
        return None;
    }
    // A digit of something else may stand before the first pair.
    (from..from + 2).find_map(|from| decode(Characters::new(bytes, from, &HEX), LEAST_TEXT))
}

pub(super) fn base32(bytes: &[u8], from: usize) -> Option<Decoded> {
    let head = bytes.get(from..from + LEAST_BASE32)?;
    let upper = head.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7'));
    let lower = head.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'));
    if !upper && !lower {
        return None;
    }
    decode(Characters::new(bytes, from, &BASE32), LEAST_TEXT)
}

pub(super) fn base64(bytes: &[u8], from: usize, least: usize) -> Option<Decoded> {
    decode(Characters::new(bytes, from, &BASE64), least)
}

/// Decodes as long as text comes out, if at least `least` bytes of it do.
#[inline(always)]
fn decode(source: Characters<'_>, least: usize) -> Option<Decoded> {
    if source.begins_with_no_text() { None } else { decode_on(source, least) }
}

fn decode_on(mut source: Characters<'_>, least: usize) -> Option<Decoded> {
    let (start, encoding) = (source.at, source.alphabet.encoding);
    let mut out = Vec::with_capacity(BLOCK);
    let mut text = Prefix::default();
    let mut resume = start;
    let mut goes_on = source.block(HEAD, &mut out) && text.extend(&out);
    if !goes_on && !text.extend(&out) {
        return None;
    }
    while goes_on {
        resume = source.at;
        let more = source.block(BLOCK, &mut out);
        goes_on = text.extend(&out) && more;
    }
    if !text.broken {
        resume = source.at;
    }
    out.truncate(text.checked);
    let text = String::from_utf8(out).ok().filter(|text| text.len() >= least)?;
    Some(Decoded { stretch: Block { encoding, range: start..source.at, text }, resume })
}

/// How much of some bytes is text.
#[derive(Default)]
struct Prefix {
    checked: usize,
    controls: usize,
    broken: bool,
}

impl Prefix {
    /// Looks at what was added; `true` where all of it is text, but for a character that is not
    /// complete yet.
    fn extend(&mut self, out: &[u8]) -> bool {
        let new = &out[self.checked..];
        let valid = match std::str::from_utf8(new) {
            Ok(_) => new.len(),
            Err(error) => {
                self.broken = error.error_len().is_some();
                error.valid_up_to()
            }
        };
        let is_control =
            |byte: &&u8| (**byte < b' ' && !matches!(**byte, b'\t' | b'\n' | b'\r')) || **byte == 0x7f;
        let controls = self.controls + new[..valid].iter().filter(is_control).count();
        if controls * CONTROLS > self.checked + valid {
            self.broken = true;
            return false;
        }
        self.controls = controls;
        self.checked += valid;
        !self.broken
    }
}

/// An alphabet of characters that stand for some bits each.
pub(super) struct Alphabet {
    pub(super) encoding: Encoding,
    /// What each byte stands for, [`NONE`] for those of no alphabet.
    values: [u8; 256],
    bits: u32,
}

/// More than any character's value, and a bit of its own.
const NONE: u8 = 0x80;

static HEX: Alphabet =
    Alphabet { encoding: Encoding::Hex, values: values_of(&[(b"09", 0), (b"af", 10), (b"AF", 10)]), bits: 4 };
static BASE32: Alphabet = Alphabet {
    encoding: Encoding::Base32,
    values: values_of(&[(b"AZ", 0), (b"az", 0), (b"27", 26)]),
    bits: 5,
};
static BASE64: Alphabet = Alphabet {
    encoding: Encoding::Base64,
    values: values_of(&[
        (b"AZ", 0),
        (b"az", 26),
        (b"09", 52),
        (b"++", 62),
        (b"--", 62),
        (b"//", 63),
        (b"__", 63),
    ]),
    bits: 6,
};

/// Makes the table of some ranges of characters, each given with its first one's value.
const fn values_of(ranges: &[(&[u8; 2], u8)]) -> [u8; 256] {
    let mut values = [NONE; 256];
    let mut range = 0;
    while range < ranges.len() {
        let (&[first, last], value) = ranges[range];
        let mut byte = first;
        while byte <= last {
            values[byte as usize] = value + (byte - first);
            byte += 1;
        }
        range += 1;
    }
    values
}

/// Characters of an alphabet, over line breaks.
struct Characters<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the present line begins.
    line: usize,
    alphabet: &'static Alphabet,
    /// A line that begins with a short word and a blank is prose: among bytes nothing else would
    /// tell it.
    before_prose: bool,
}

impl<'a> Characters<'a> {
    fn new(bytes: &'a [u8], at: usize, alphabet: &'static Alphabet) -> Self {
        Characters { bytes, at, line: at, alphabet, before_prose: false }
    }

    /// Returns true if and only if [`HEAD`] characters stand side by side here and spell what is no
    /// text: most runs are words and identifiers, and end with this.
    #[inline(always)]
    fn begins_with_no_text(&self) -> bool {
        let Some(head) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<HEAD>()) else {
            return false;
        };
        let bits = self.alphabet.bits;
        let value = |at: usize| u128::from(self.alphabet.values[usize::from(head[at])]);
        // No character begins with such a byte, so nothing further needs to be decoded.
        if value(0) | value(1) < u128::from(NONE)
            && matches!((value(0) << bits | value(1)) >> (2 * bits - 8), 0x80..0xc2 | 0xf5..)
        {
            return true;
        }
        let values: [u128; HEAD] = std::array::from_fn(value);
        if values.iter().fold(0, |all, value| all | value) >= u128::from(NONE) {
            return false;
        }
        spend(HEAD);
        let length = HEAD * bits as usize / 8;
        let all = values.iter().fold(0, |all, value| all << bits | value);
        let out = (all << (u128::BITS - HEAD as u32 * bits)).to_be_bytes();
        !Prefix::default().extend(&out[..length])
    }

    /// Appends what the next characters spell; `false` where the stretch ends. Blocks are whole
    /// groups, so none leaves bits to the next.
    fn block(&mut self, characters: usize, out: &mut Vec<u8>) -> bool {
        let (mut bits, mut held) = (0u32, 0u32);
        for _ in 0..characters {
            let Some(value) = self.next() else { return false };
            bits = bits << self.alphabet.bits | u32::from(value);
            held += self.alphabet.bits;
            if held >= 8 {
                held -= 8;
                out.push((bits >> held) as u8);
            }
        }
        true
    }

    fn next(&mut self) -> Option<u8> {
        spend(1);
        let mut at = self.at;
        if matches!(self.bytes.get(at), Some(b'\r' | b'\n')) {
            at = self.next_line()?;
        }
        let value = self.alphabet.values[usize::from(*self.bytes.get(at)?)];
        if value == NONE {
            return None;
        }
        if at != self.at {
            self.line = at;
        }
        self.at = at + 1;
        Some(value)
    }

    /// Lines are broken at the same width, which is never a short one; the next may be indented.
    fn next_line(&self) -> Option<usize> {
        if self.at - self.line < LEAST {
            return None;
        }
        let rest = &self.bytes[self.at..];
        let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
        let rest = rest.strip_prefix(b"\n")?;
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let word = rest[blanks..].iter().take(LEAST).take_while(|&&byte| is_base64(byte)).count();
        let prose = self.before_prose && word < LEAST && rest.get(blanks + word) == Some(&b' ');
        (word > 0 && !prose).then(|| self.bytes.len() - rest.len() + blanks)
    }
}

impl Alphabet {
    /// Returns how many characters stand together for whole bytes: two, or four for three of them.
    pub(super) fn group(&self) -> usize {
        if self.bits == 4 { 2 } else { 4 }
    }
}

/// Returns in which alphabet a run may be, of hexadecimal digits and base64, that begins with no text but some
/// bytes; `None` for identifiers and paths.
pub(super) fn alphabet_of(bytes: &[u8]) -> Option<&'static Alphabet> {
    const LOOK: usize = 32;
    /// So few capitals or small letters are among 32 random characters of base64 once in a
    /// thousand times, and among longer identifiers seldom more.
    const LEAST_OF_A_CASE: usize = 3;
    /// Every second byte of ASCII in UTF-16 is zero.
    const LEAST_ZEROS: usize = 8;
    let head = &bytes[..bytes.len().min(LOOK)];
    if head.iter().all(|&byte| is_hex(byte)) {
        return Some(&HEX);
    }
    // Most are words in small letters.
    if !holds_capitals(head) {
        return None;
    }
    let count = |is: fn(&u8) -> bool| head.iter().filter(|byte| is(byte)).count();
    let mixed = count(u8::is_ascii_uppercase) >= LEAST_OF_A_CASE
        && count(u8::is_ascii_lowercase) >= LEAST_OF_A_CASE
        && count(u8::is_ascii_digit) > 0;
    let wide = count(|&byte| byte == b'A') >= LEAST_ZEROS;
    ((mixed || wide) && head.iter().all(|&byte| is_base64(byte))).then_some(&BASE64)
}

/// Returns false for a run that has no place from which on [`alphabet_of`] says base64.
pub(super) fn holds_capitals(run: &[u8]) -> bool {
    run.iter().fold(false, |any, byte| any | byte.is_ascii_uppercase())
}

/// Reads the values of a run's characters, over line breaks; returns where it ends, too.
pub(super) fn values(bytes: &[u8], from: usize, alphabet: &'static Alphabet) -> (Vec<u8>, usize) {
    let mut characters = Characters { before_prose: true, ..Characters::new(bytes, from, alphabet) };
    let values = std::iter::from_fn(|| characters.next()).collect();
    (values, characters.at)
}

/// Puts values together to bytes: those of hexadecimal digits, or else of base64.
pub(super) fn bytes_of(values: &[u8], alphabet: &Alphabet) -> Vec<u8> {
    spend(values.len());
    match alphabet.encoding {
        Encoding::Hex => values.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect(),
        _ => {
            let mut out = Vec::with_capacity(values.len() / 4 * 3 + 2);
            let (groups, rest) = values.as_chunks::<4>();
            for [a, b, c, d] in groups {
                out.extend([a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]);
            }
            match rest {
                [a, b] => out.push(a << 2 | b >> 4),
                [a, b, c] => out.extend([a << 2 | b >> 4, b << 4 | c >> 2]),
                _ => {}
            }
            out
        }
    }
}

/// Decodes base64 in either alphabet up to the first byte that is none; padding is not asked for.
pub(crate) fn base64_prefix(text: &[u8], limit: usize) -> Vec<u8> {
    let values = text.iter().map(|&byte| BASE64.values[usize::from(byte)]);
    let values: Vec<u8> = values.take_while(|&value| value != NONE).take(limit.div_ceil(3) * 4).collect();
    let mut out = bytes_of(&values, &BASE64);
    out.truncate(limit);
    out
}

pub(super) fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let value = |digit: u8| Some(HEX.values[usize::from(digit)]).filter(|&value| value != NONE);
    Some(value(high)? << 4 | value(low)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_begins_with_no_text_spells_none(head in "([A-Za-z0-9+/_-]{16,40}|[a-f0-9]{16,40}|[A-Z2-7]{16,40}|A{16,20}|YWFh[a-z(\n]{0,40})") {
            for alphabet in [&HEX, &BASE32, &BASE64] {
                let source = || Characters::new(head.as_bytes(), 0, alphabet);
                let (mut out, mut text) = (Vec::new(), Prefix::default());
                let whole = source().block(HEAD, &mut out);
                let is_text = text.extend(&out);
                if source().begins_with_no_text() {
                    prop_assert!(!is_text || matches!(out[0], 0x80..0xc2 | 0xf5..));
                } else {
                    prop_assert!(!whole || is_text);
                }
            }
        }

        #[test]
        fn bytes_without_capitals_begin_with_hexadecimal_digits(run in "[a-z0-9+/_-]{24,40}|[a-f0-9]{24,40}|[A-Za-z0-9]{24,40}") {
            let begins = holds_capitals(run.as_bytes()) || is_hex(run.as_bytes()[0]);
            prop_assert!(begins || alphabet_of(run.as_bytes()).is_none());
        }
    }
}

//! From an encoded form to text, a block at a time, as long as text comes out.

use super::{Encoded, Encoding, LEAST, LEAST_TEXT, class, is};

/// As many hexadecimal digits as sixteen characters of text need; shorter ones name colours and commits.
const LEAST_HEX: usize = 32;

/// Characters that are looked at before anything is decoded: twelve bytes are text by chance once in thirty thousand times.
const HEAD: usize = 16;

/// Characters that are decoded at a time.
const BLOCK: usize = 64;

/// One control character among so many others is still text.
const CONTROLS: usize = 8;

/// A stretch, and from where on another may begin: what follows it in the same run may be glued to it.
pub(super) struct Decoded {
    pub(super) stretch: Encoded,
    pub(super) resume: usize,
}

pub(super) fn hex(bytes: &[u8], from: usize) -> Option<Decoded> {
    let head = bytes.get(from..from + LEAST_HEX)?;
    if !head.iter().all(|&byte| is(byte, class::HEX)) {
        return None;
    }
    // A digit of something else may stand before the first pair.
    (from..from + 2).find_map(|from| decode(Digits { bytes, at: from }, Encoding::Hex, LEAST_TEXT))
}

pub(super) fn base64(bytes: &[u8], from: usize, least: usize) -> Option<Decoded> {
    decode(Sextets { bytes, at: from, line: from }, Encoding::Base64, least)
}

/// Something that gives bytes a block at a time.
trait Source {
    /// Appends what the next `characters` spell; `false` where the stretch ends.
    fn block(&mut self, characters: usize, out: &mut Vec<u8>) -> bool;

    /// How far it has read.
    fn at(&self) -> usize;
}

/// Decodes as long as text comes out, if at least `least` bytes of it do.
fn decode(mut source: impl Source, encoding: Encoding, least: usize) -> Option<Decoded> {
    let start = source.at();
    let mut out = Vec::with_capacity(BLOCK);
    let mut text = Prefix::default();
    let mut resume = start;
    let mut goes_on = source.block(HEAD, &mut out) && text.extend(&out);
    if !goes_on && !text.extend(&out) {
        return None;
    }
    while goes_on {
        resume = source.at();
        let more = source.block(BLOCK, &mut out);
        goes_on = text.extend(&out) && more;
    }
    if !text.broken {
        resume = source.at();
    }
    out.truncate(text.checked);
    let text = String::from_utf8(out).ok().filter(|text| text.len() >= least)?;
    Some(Decoded { stretch: Encoded { encoding, range: start..source.at(), text }, resume })
}

/// How much of some bytes is text.
#[derive(Default)]
struct Prefix {
    checked: usize,
    controls: usize,
    broken: bool,
}

impl Prefix {
    /// Looks at what was added; `true` where all of it is text, but for a character that is not complete yet.
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

/// Base64, over line breaks.
struct Sextets<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the present line begins.
    line: usize,
}

impl Source for Sextets<'_> {
    fn block(&mut self, characters: usize, out: &mut Vec<u8>) -> bool {
        let (mut bits, mut held) = (0u32, 0u32);
        // Blocks are whole groups of four, so none leaves bits to the next.
        for _ in 0..characters {
            let Some(six) = self.next() else { return false };
            bits = bits << 6 | u32::from(six);
            held += 6;
            if held >= 8 {
                held -= 8;
                out.push((bits >> held) as u8);
            }
        }
        true
    }

    fn at(&self) -> usize {
        self.at
    }
}

impl Sextets<'_> {
    fn next(&mut self) -> Option<u8> {
        let mut at = self.at;
        if matches!(self.bytes.get(at), Some(b'\r' | b'\n')) {
            at = self.next_line()?;
            self.line = at;
        }
        let six = sextet(*self.bytes.get(at)?)?;
        self.at = at + 1;
        Some(six)
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
        is(*rest.get(blanks)?, class::BASE64).then(|| self.bytes.len() - rest.len() + blanks)
    }
}

fn sextet(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Hexadecimal digits in pairs.
struct Digits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Source for Digits<'_> {
    fn block(&mut self, characters: usize, out: &mut Vec<u8>) -> bool {
        for _ in 0..characters / 2 {
            let pair = self.bytes.get(self.at..self.at + 2).and_then(|pair| hex_byte(pair[0], pair[1]));
            let Some(byte) = pair else { return false };
            out.push(byte);
            self.at += 2;
        }
        true
    }

    fn at(&self) -> usize {
        self.at
    }
}

pub(super) fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

//! What of some bytes is text, and which bytes spell which encoding.

use crate::known::LEAST_KNOWN;
use crate::work::spend;

/// Least characters of one kind in a row among bytes that a run may only seem to spell: a card
/// number. Random bytes hold such a row once in five million.
pub(super) const LEAST_AMONG_BYTES: usize = 16;

/// And among bytes that are written so that nothing else can be meant: a value that somebody named.
pub(super) const LEAST_AMONG_PAIRS: usize = LEAST_KNOWN;

/// Classes of bytes.
mod class {
    pub(super) const BASE64: u8 = 0b0001;
    pub(super) const HEX: u8 = 0b0010;
    /// One of base64's signs, which in other texts stand between words.
    pub(super) const SIGN: u8 = 0b0100;
    /// Begins a spelling that may mean another character, or none.
    pub(super) const SPELLS: u8 = 0b1000;
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
        if matches!(it, b'%' | b'&' | b'\\' | b'+' | 0x1b | 0xc2 | 0xcd | 0xe1..=0xe3 | 0xef | 0xf3) {
            classes[byte] |= class::SPELLS;
        }
        byte += 1;
    }
    classes
};

pub(super) fn is_base64(byte: u8) -> bool {
    CLASS[usize::from(byte)] & class::BASE64 != 0
}

pub(super) fn is_hex(byte: u8) -> bool {
    CLASS[usize::from(byte)] & class::HEX != 0
}

pub(super) fn is_sign(byte: u8) -> bool {
    CLASS[usize::from(byte)] & class::SIGN != 0
}

pub(super) fn may_spell(byte: u8) -> bool {
    CLASS[usize::from(byte)] & class::SPELLS != 0
}

/// Calls `f` with each stretch of some bytes that is text of so many characters: ASCII, or ASCII in
/// UTF-16 of either byte order, and whether it was written in that.
pub(super) fn each_among_bytes(bytes: &[u8], least: usize, mut f: impl FnMut(String, bool)) {
    let mut at = 0;
    while at < bytes.len() {
        let count = bytes[at..].iter().take_while(|&&byte| is_text(byte)).count();
        spend(count + 1);
        if count >= least {
            f(String::from_utf8_lossy(&bytes[at..at + count]).into_owned(), false);
        }
        let wide_at = at + count.saturating_sub(1);
        let wide = if count > 0 { wide_text(bytes, wide_at) } else { String::new() };
        at = match wide.len() {
            0 | 1 => at + count + 1,
            units => wide_at + 2 * units - 1,
        };
        if wide.len() >= least {
            f(wide, true);
        }
    }
}

/// Reads every second byte, as long as those are text and the others zero.
fn wide_text(bytes: &[u8], from: usize) -> String {
    let pairs = bytes[from..].chunks(2).take_while(|pair| is_text(pair[0]) && matches!(pair, [_] | [_, 0]));
    let mut text: String = pairs.map(|pair| char::from(pair[0])).collect();
    spend(text.len() + 1);
    // The low byte stands second in big endian, so that nothing, or the next character's zero,
    // follows the last one.
    let big = from > 0 && bytes[from - 1] == 0;
    let last = from + 2 * text.len();
    if big && bytes.get(last).is_some_and(|&byte| is_text(byte)) {
        text.push(char::from(bytes[last]));
    }
    text
}

fn is_text(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches(bytes: &[u8]) -> Vec<(String, bool)> {
        let mut all = Vec::new();
        each_among_bytes(bytes, LEAST_AMONG_BYTES, |text, wide| all.push((text, wide)));
        all
    }

    #[test]
    fn text_is_found_among_bytes_in_one_byte_and_in_two() {
        let words = "what is said here";
        let little: Vec<u8> = words.bytes().flat_map(|byte| [byte, 0]).collect();
        let big: Vec<u8> = words.bytes().flat_map(|byte| [0, byte]).collect();
        for before in [&b""[..], b"\xff\xfe", b"\x01\x02\x03", b"\0\0\0", b"a\x80"] {
            for after in [&b""[..], b"\xff\xff", b"\x07\x08\x09\x0a\xff"] {
                let around = |inner: &[u8]| [before, inner, after].concat();
                assert!(stretches(&around(words.as_bytes())).iter().any(|(text, _)| text.starts_with(words)));
                for wide in [&little, &big] {
                    let found = stretches(&around(wide));
                    assert!(
                        found.iter().any(|(text, wide)| *wide && text.contains(words)),
                        "{before:?} {after:?} {found:?}"
                    );
                }
            }
        }
        assert_eq!(stretches(&[0x9a; 400]), []);
        assert_eq!(stretches(b"shorter than any"[1..].as_ref()), []);
    }
}

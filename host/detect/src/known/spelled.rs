//! How a value stands inside base64, base32 and hexadecimal digits, wherever it begins in what was
//! encoded.
//!
//! Decoding needs a stretch of text to go by, which a short value or one among other bytes is not.
//! But each character of these alphabets stands for some bits, so all characters but those at the
//! value's ends say nothing but the value, and are as well known as the value itself.
//!
//! Not found is a value of less than 15 bytes in base64 that is broken into lines of eight characters:
//! two such lines may as well be two words.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{KnownKey, LEAST_KNOWN, PIECE, Print};

/// Longer values are long enough to be decoded wherever they stand.
const MOST: usize = 64;

/// Fewer characters than this are no spelling of a value of [`LEAST_KNOWN`] bytes.
const LEAST: usize = LEAST_KNOWN * 8 / 6;

/// One spelling of a value, or the value itself, as it is known: fingerprints of what the value alone decides.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spelled {
    /// Characters that the value alone decides.
    pub length: usize,
    /// The fingerprint of the first of them, at most [`PIECE`].
    pub anchor: Print,
    /// The fingerprint of all of them.
    pub whole: [u8; 16],
    /// Whether the character before them spells the value's first bits.
    pub before: bool,
    /// Whether the character behind them spells its last bits.
    pub behind: bool,
}

impl Spelled {
    /// Returns where it stands with the characters beside it that belong to the value in part.
    pub(super) fn around(&self, bytes: &[u8], range: Range<usize>) -> Range<usize> {
        let is_sign = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
        let before = self.before && range.start.checked_sub(1).is_some_and(|at| is_sign(&bytes[at]));
        let behind = self.behind && bytes.get(range.end).is_some_and(is_sign);
        range.start - usize::from(before)..range.end + usize::from(behind)
    }
}

/// An encoding whose characters stand for some bits each.
struct Alphabet {
    bits: usize,
    /// How many bits of a value may belong to the character before: every multiple of this.
    step: usize,
    /// By value of the bits, in the ways in which it is written.
    characters: &'static [&'static [u8]],
}

const BASE64: Alphabet = Alphabet {
    bits: 6,
    step: 2,
    characters: &[
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    ],
};

const BASE32: Alphabet = Alphabet {
    bits: 5,
    step: 1,
    characters: &[b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"abcdefghijklmnopqrstuvwxyz234567"],
};

const HEX: Alphabet = Alphabet { bits: 4, step: 4, characters: &[b"0123456789abcdef", b"0123456789ABCDEF"] };

/// Returns all spellings of a value, each once.
pub(super) fn spellings(key: &KnownKey, value: &str) -> Vec<Spelled> {
    let mut all: Vec<(Vec<u8>, bool, bool)> = Vec::new();
    if value.len() <= MOST {
        let wide = |bytes: fn(u16) -> [u8; 2]| value.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        for alphabet in [&BASE64, &BASE32, &HEX] {
            add(value.as_bytes(), alphabet, &mut all);
        }
        add(&wide(u16::to_le_bytes), &BASE64, &mut all);
        add(&wide(u16::to_be_bytes), &BASE64, &mut all);
        // Of the shortest values, base64 of base64 is too short to be decoded.
        let twice = padded(value.as_bytes());
        if twice.len() <= PIECE {
            add(&twice, &BASE64, &mut all);
        }
    }
    all.sort_unstable();
    all.dedup();
    let spelled = |(characters, before, behind): (Vec<u8>, bool, bool)| Spelled {
        length: characters.len(),
        anchor: key.print(&characters[..characters.len().min(PIECE)]),
        whole: key.whole(&characters),
        before,
        behind,
    };
    all.into_iter().map(spelled).collect()
}

fn add(value: &[u8], alphabet: &Alphabet, all: &mut Vec<(Vec<u8>, bool, bool)>) {
    for &characters in alphabet.characters {
        for skipped in (0..alphabet.bits).step_by(alphabet.step) {
            let bits = 8 * value.len() - skipped;
            let spelled: Vec<u8> = (0..bits / alphabet.bits)
                .map(|n| characters[bits_at(value, skipped + n * alphabet.bits, alphabet.bits)])
                .collect();
            if spelled.len() >= LEAST {
                all.push((spelled, skipped > 0, !bits.is_multiple_of(alphabet.bits)));
            }
        }
    }
}

/// So many bits of some bytes, at most eight, from the bit `at` on; zeros behind the end.
fn bits_at(bytes: &[u8], at: usize, count: usize) -> usize {
    let byte = |n: usize| bytes.get(n).map_or(0, |&byte| usize::from(byte));
    let two = byte(at / 8) << 8 | byte(at / 8 + 1);
    two >> (16 - count - at % 8) & ((1 << count) - 1)
}

/// Base64 as it is usually written.
fn padded(value: &[u8]) -> Vec<u8> {
    let characters =
        (0..(8 * value.len()).div_ceil(6)).map(|n| BASE64.characters[0][bits_at(value, 6 * n, 6)]);
    let mut all: Vec<u8> = characters.collect();
    all.resize(all.len().next_multiple_of(4), b'=');
    all
}

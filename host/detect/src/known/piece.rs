//! Which stretches of a value tell that it is this value: those that stand in no other text.

use std::ops::Range;

use crate::score::score;

/// Bytes of the shortest piece of a value that is found.
pub const PIECE: usize = 12;

/// From here on a whole value is taken for generated, so that each piece of it tells.
const GENERATED: f32 = -1.0;

/// From here on a piece of a value that has words in it tells.
const TELLS: f32 = 0.5;

/// What makers of tokens put before them is at most so long: `github_pat_`, `sk-ant-api03-`.
const LONGEST_PREFIX: usize = 16;

/// A piece with this many bytes behind such a prefix, or fewer, stands in documentation too.
const BEHIND_PREFIX: usize = 2;

/// Blanks and controls, which end a word.
pub(super) fn is_blank(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7f
}

/// Calls `f` with each word of at least so many bytes.
pub(super) fn each_word(bytes: &[u8], least: usize, mut f: impl FnMut(Range<usize>)) {
    let mut start = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if is_blank(byte) {
            if at - start >= least {
                f(start..at);
            }
            start = at + 1;
        }
    }
    if bytes.len() - start >= least {
        f(start..bytes.len());
    }
}

/// Returns where in a value pieces without blanks begin.
pub(super) fn words(value: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut free = 0;
    value.iter().enumerate().filter_map(move |(at, &byte)| {
        free = if is_blank(byte) { 0 } else { free + 1 };
        (free >= PIECE).then(|| at + 1 - PIECE)
    })
}

/// Returns where in a value the pieces begin that are found alone.
pub(super) fn telling(value: &str) -> Vec<usize> {
    let bytes = value.as_bytes();
    let first = public_part(value);
    let generated = !value.contains("://") && !bytes.iter().any(|&b| is_blank(b)) && score(value) > GENERATED;
    words(bytes)
        .filter(|&at| at >= first)
        .filter(|&at| {
            let piece = &bytes[at..at + PIECE];
            let varied = piece.iter().any(|byte| *byte != piece[0]);
            let dashes = piece.windows(5).any(|five| five == b"-----");
            let text = std::str::from_utf8(piece);
            // A piece that begins or ends in a character cannot be judged, and stands nowhere else.
            varied && !dashes && (generated || text.map_or(true, |text| score(text) > TELLS))
        })
        .collect()
}

/// Returns from where on a piece may tell: what comes before, others have too.
fn public_part(value: &str) -> usize {
    let bytes = value.as_bytes();
    // The header of a JWT says no more than its algorithm.
    if value.starts_with("eyJ") {
        return value.find('.').unwrap_or(0);
    }
    let mut run = 0;
    for (at, byte) in bytes.iter().enumerate() {
        run = if byte.is_ascii_alphanumeric() { run + 1 } else { 0 };
        if run == PIECE {
            let prefix = at + 1 - PIECE;
            let has = prefix > 0 && prefix <= LONGEST_PREFIX && is_prefix(&value[..prefix]);
            return if has { (prefix + BEHIND_PREFIX + 1).saturating_sub(PIECE) } else { 0 };
        }
    }
    0
}

/// Whether a text is what makers put before their tokens: short words in lower case, each with one
/// sign behind it.
fn is_prefix(text: &str) -> bool {
    let is_word = |word: &str| {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
        (1..=8).contains(&word.len())
            && word.len() - name.len() <= 2
            && name.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    text.ends_with(['-', '_']) && text[..text.len() - 1].split(['-', '_']).all(is_word)
}

//! Hexadecimal digits in pairs with something between them: `41:42`, `41-42`, `41 42`, `0x41,
//! 0x42`.

use std::sync::LazyLock;

use memchr::memmem;

use super::marks::Marks;
use super::source::hex_byte;
use super::text::{LEAST_AMONG_PAIRS, each_among_bytes, is_hex};
use super::{Block, Encoding};
use crate::work::spend;

/// Fewer pairs than this spell no secret.
const LEAST_PAIRS: usize = LEAST_AMONG_PAIRS;

/// Most signs between two numbers of a list: a comma, a line break and an indentation.
const MOST_BETWEEN: usize = 24;

/// Calls `f` with each text that such pairs spell.
pub(super) fn each(text: &str, marks: &Marks, f: &mut impl FnMut(Block)) {
    pairs(text.as_bytes(), marks, f);
    listed(text.as_bytes(), f);
}

fn pairs(bytes: &[u8], marks: &Marks, f: &mut impl FnMut(Block)) {
    let mut done = 0;
    // A stretch worth decoding has more than four pairs.
    marks.each_four_pairs(|place| {
        let is_pair = |pair: &[u8; 3]| is_hex(pair[0]) && is_hex(pair[1]) && is_sign(pair[2]);
        let four = bytes[place..].as_chunks().0;
        if place >= done && four.len() >= 4 && four[..4].iter().all(is_pair) {
            done = stretch(bytes, place, f);
        }
    });
}

/// What may stand between two pairs.
fn is_sign(byte: u8) -> bool {
    matches!(byte, b':' | b'-' | b' ')
}

/// Reads the stretch of pairs and signs around a pair that a sign and another pair follow; gives where it ends.
fn stretch(bytes: &[u8], first: usize, f: &mut impl FnMut(Block)) -> usize {
    let sign = bytes[first + 2];
    let is_pair = |at: usize| matches!(bytes.get(at..at + 2), Some([a, b]) if is_hex(*a) && is_hex(*b));
    let mut start = first;
    while start >= 3 && bytes[start - 1] == sign && is_pair(start - 3) {
        start -= 3;
    }
    let mut end = first + 2;
    while bytes.get(end) == Some(&sign) && is_pair(end + 1) {
        end += 3;
    }
    spend(end - start);
    if (end - start + 1) / 3 >= LEAST_PAIRS {
        let decoded: Vec<u8> =
            bytes[start..end].chunks(3).filter_map(|pair| hex_byte(pair[0], pair[1])).collect();
        spelled(&decoded, start..end, f);
    }
    end
}

fn listed(bytes: &[u8], f: &mut impl FnMut(Block)) {
    static NUMBER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("0x"));
    let mut done = 0;
    for start in NUMBER.find_iter(bytes) {
        if start < done {
            continue;
        }
        let (mut decoded, mut at, mut end) = (Vec::new(), start, start);
        while let Some(byte) = number(&bytes[at..]) {
            decoded.push(byte);
            end = at + 4;
            let between = bytes[end..].iter().take(MOST_BETWEEN);
            at = end
                + between
                    .take_while(|byte| matches!(byte, b',' | b';' | b' ' | b'\n' | b'\r' | b'\t'))
                    .count();
        }
        done = end.max(start + 1);
        spend(at - start);
        if decoded.len() >= LEAST_PAIRS {
            spelled(&decoded, start..end, f);
        }
    }
}

fn number(bytes: &[u8]) -> Option<u8> {
    match bytes {
        [b'0', b'x' | b'X', high, low, rest @ ..] if !rest.first().is_some_and(|&next| is_hex(next)) => {
            hex_byte(*high, *low)
        }
        _ => None,
    }
}

fn spelled(decoded: &[u8], range: std::ops::Range<usize>, f: &mut impl FnMut(Block)) {
    each_among_bytes(decoded, LEAST_AMONG_PAIRS, |text, _| {
        f(Block { encoding: Encoding::Hex, range: range.clone(), text });
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pairs_without_a_mark_spell_nothing(
            text in "(6[1-9]:(6[1-9]:){0,12}|6[1-9]-(6[1-9]-){6,9}|(7[1-9] ){1,12}|[a-z]{0,3}|[:. -]|[0-9a-f]{1,40}|[a-z ]{30,70}){0,30}"
        ) {
            let bytes = text.as_bytes();
            let (mut short, mut long, mut done) = (Vec::new(), Vec::new(), 0);
            pairs(bytes, &Marks::of(bytes), &mut |block| short.push((block.range, block.text)));
            for place in 0..bytes.len() {
                let four = bytes[place..].as_chunks::<3>().0;
                let is_pair = |pair: &[u8; 3]| is_hex(pair[0]) && is_hex(pair[1]) && is_sign(pair[2]);
                if place >= done && four.len() >= 4 && four[..4].iter().all(is_pair) {
                    done = stretch(bytes, place, &mut |block| long.push((block.range, block.text)));
                }
            }
            prop_assert_eq!(short, long);
        }
    }
}

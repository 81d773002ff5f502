//! Hexadecimal digits in pairs with something between them: `41:42`, `41-42`, `41 42`, `0x41,
//! 0x42`.

use std::sync::LazyLock;

use memchr::memmem;

use super::source::hex_byte;
use super::text::{LEAST_AMONG_PAIRS, each_among_bytes, is_hex};
use super::{Block, Encoding};
use crate::runs as rows;
use crate::work::spend;

/// Fewer pairs than this spell no secret.
const LEAST_PAIRS: usize = LEAST_AMONG_PAIRS;

/// Most signs between two numbers of a list: a comma, a line break and an indentation.
const MOST_BETWEEN: usize = 24;

/// Calls `f` with each text that such pairs spell.
pub(super) fn each(text: &str, f: &mut impl FnMut(Block)) {
    pairs(text.as_bytes(), f);
    listed(text.as_bytes(), f);
}

fn pairs(bytes: &[u8], f: &mut impl FnMut(Block)) {
    /// A stretch worth decoding has 23 bytes, so that one of two blocks has this many pairs of it.
    const OVERLAP: usize = 16;
    let mut done = 0;
    rows::each_block(bytes, OVERLAP, |at, block| {
        let digits =
            rows::bits(block, |bytes| rows::digits(bytes) | rows::between(rows::small(bytes), b'a', b'f'));
        let signs = rows::bits(block, |bytes| {
            rows::equal(bytes, b':') | rows::equal(bytes, b'-') | rows::equal(bytes, b' ')
        });
        let pairs = digits & digits >> 1 & signs >> 2;
        let two = pairs & pairs >> 3;
        let mut first = two & two >> 6;
        while first != 0 {
            let place = at + first.trailing_zeros() as usize;
            first &= first - 1;
            if place >= done {
                done = stretch(bytes, place, f);
            }
        }
        done
    });
}

/// Reads the stretch of pairs and signs around a pair; gives where it ends.
fn stretch(bytes: &[u8], first: usize, f: &mut impl FnMut(Block)) -> usize {
    let Some(sign) = sign_behind(bytes, first) else { return first + 1 };
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

/// The sign behind the pair at `at`, if another pair and the same sign follow.
fn sign_behind(bytes: &[u8], at: usize) -> Option<u8> {
    match bytes.get(at..at + 5)? {
        [a, b, sign @ (b':' | b'-' | b' '), c, d] if [a, b, c, d].iter().all(|&&digit| is_hex(digit)) => {
            Some(*sign)
        }
        _ => None,
    }
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
    each_among_bytes(decoded, LEAST_AMONG_PAIRS, |stretch| {
        f(Block { encoding: Encoding::Hex, range: range.clone(), text: stretch.text });
    });
}

//! Rows of bytes of one kind, sixty-four bytes at a time.
//!
//! A kind is a comparison of sixteen bytes at once; what comes out is a bit for each byte, and a row
//! is bits side by side. Most texts hold no long row of digits or of base64, and cost one pass of
//! this and nothing else.

use std::ops::{BitAnd, Range, Shr};

pub(crate) use wide::u8x16;

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// A bit for each byte of a block: set where all bits of the byte are that `is` gives for it.
#[inline(always)]
pub(crate) fn bits(block: &[u8; BLOCK], is: impl Fn(u8x16) -> u8x16) -> u64 {
    const LANES: usize = 16;
    let (lanes, _) = block.as_chunks::<LANES>();
    let each = lanes.iter().map(|lanes| u64::from(is(u8x16::new(*lanes)).to_bitmask()));
    each.zip((0..).step_by(LANES)).fold(0, |all, (bits, shift)| all | bits << shift)
}

/// Which of the bytes equal `byte`.
#[inline(always)]
pub(crate) fn equal(bytes: u8x16, byte: u8) -> u8x16 {
    bytes.simd_eq(u8x16::splat(byte))
}

/// Which of the bytes lie between `first` and `last`, both included.
#[inline(always)]
pub(crate) fn between(bytes: u8x16, first: u8, last: u8) -> u8x16 {
    let above = bytes - u8x16::splat(first);
    above.min(u8x16::splat(last - first)).simd_eq(above)
}

/// Which of the bytes are digits.
#[inline(always)]
pub(crate) fn digits(bytes: u8x16) -> u8x16 {
    between(bytes, b'0', b'9')
}

/// The bytes with their capitals as small letters; other bytes may become small letters only where
/// they are capitals.
#[inline(always)]
pub(crate) fn small(bytes: u8x16) -> u8x16 {
    bytes | u8x16::splat(0x20)
}

/// Calls `f` with blocks that cover `bytes` and overlap by `overlap`, and with where each begins;
/// the last one is filled up with zeros. `f` says up to where it is done: no block begins before.
#[inline(always)]
pub(crate) fn each_block(bytes: &[u8], overlap: usize, mut f: impl FnMut(usize, &[u8; BLOCK]) -> usize) {
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        at = f(at, block).max(at + BLOCK - overlap);
    }
    if at < bytes.len() {
        f(at, &filled_up(&bytes[at..]));
    }
}

/// Calls `f` with each row of `LEAST` or more bytes of a kind, which zero is not of.
#[inline(always)]
pub(crate) fn each_run<const LEAST: usize>(
    bytes: &[u8],
    is: impl Fn(u8x16) -> u8x16,
    mut f: impl FnMut(Range<usize>),
) {
    let mut done = 0;
    each_block(bytes, LEAST - 1, |at, block| {
        let mut begins = in_a_row::<LEAST, _>(bits(block, &is));
        while begins != 0 {
            let start = at + begins.trailing_zeros() as usize;
            begins &= begins - 1;
            if start >= done {
                done = row_end(bytes, start + LEAST, &is);
                f(start..done);
            }
        }
        done
    });
}

/// Where a row ends that `from` may stand in.
#[inline(always)]
fn row_end(bytes: &[u8], from: usize, is: impl Fn(u8x16) -> u8x16) -> usize {
    let mut end = from;
    loop {
        let rest = &bytes[end..];
        let length = match rest.first_chunk() {
            Some(block) => bits(block, &is),
            None => bits(&filled_up(rest), &is),
        };
        end += length.trailing_ones() as usize;
        if length != u64::MAX {
            return end;
        }
    }
}

/// Less than a block, with zeros behind it.
fn filled_up(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// Where `COUNT` bits in a row begin.
#[inline(always)]
pub(crate) fn in_a_row<const COUNT: usize, B>(mut bits: B) -> B
where
    B: Copy + BitAnd<Output = B> + Shr<usize, Output = B>,
{
    let mut have = 1;
    while have < COUNT {
        let more = have.min(COUNT - have);
        bits = bits & bits >> more;
        have += more;
    }
    bits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slowly(bytes: &[u8], least: usize) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if length >= least {
                all.push(at..at + length);
            }
            at += length + 1;
        }
        all
    }

    proptest! {
        #[test]
        fn every_row_is_seen_once_and_whole(parts in prop::collection::vec(("[0-9]{0,90}", "[a-z/:]{0,40}"), 0..8)) {
            let text: String = parts.into_iter().flat_map(|(digits, others)| [digits, others]).collect();
            let (mut of_four, mut of_twenty) = (Vec::new(), Vec::new());
            each_run::<4>(text.as_bytes(), digits, |run| of_four.push(run));
            each_run::<20>(text.as_bytes(), digits, |run| of_twenty.push(run));
            prop_assert_eq!(of_four, slowly(text.as_bytes(), 4));
            prop_assert_eq!(of_twenty, slowly(text.as_bytes(), 20));
        }
    }
}

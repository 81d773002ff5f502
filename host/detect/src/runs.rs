//! Rows of bytes of one kind, sixty-four bytes at a time.
//!
//! A kind is a comparison of a byte without a branch, so that the compiler compares a register of
//! bytes at once; what comes out is a bit for each byte, and a row is bits side by side. Most
//! texts hold no long row of digits or of base64, and cost one pass of this and nothing else.

use std::ops::Range;

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// A bit for each byte of a block.
#[inline(always)]
pub(crate) fn bits(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u64 {
    /// Moves the lowest bit of each of eight bytes into one byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let each: [u8; BLOCK] = std::array::from_fn(|at| u8::from(is(block[at])));
    let (eights, _) = each.as_chunks::<8>();
    let gathered = eights.iter().map(|eight| u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56);
    gathered.zip((0..).step_by(8)).fold(0, |all, (eight, shift)| all | eight << shift)
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
        let mut last = [0; BLOCK];
        last[..bytes.len() - at].copy_from_slice(&bytes[at..]);
        f(at, &last);
    }
}

/// Calls `f` with each row of `LEAST` or more bytes of a kind, which zero is not of.
#[inline(always)]
pub(crate) fn each_run<const LEAST: usize>(
    bytes: &[u8],
    is: impl Fn(u8) -> bool,
    mut f: impl FnMut(Range<usize>),
) {
    let mut done = 0;
    each_block(bytes, LEAST - 1, |at, block| {
        let mut begins = in_a_row::<LEAST>(bits(block, &is));
        while begins != 0 {
            let start = at + begins.trailing_zeros() as usize;
            begins &= begins - 1;
            if start >= done {
                let more = bytes[start + LEAST..].iter().position(|&byte| !is(byte));
                done = more.map_or(bytes.len(), |more| start + LEAST + more);
                f(start..done);
            }
        }
        done
    });
}

/// Where `COUNT` bits in a row begin.
#[inline(always)]
fn in_a_row<const COUNT: usize>(mut bits: u64) -> u64 {
    let mut have = 1;
    while have < COUNT {
        let more = have.min(COUNT - have);
        bits &= bits >> more;
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
            each_run::<4>(text.as_bytes(), |byte| byte.is_ascii_digit(), |run| of_four.push(run));
            each_run::<20>(text.as_bytes(), |byte| byte.is_ascii_digit(), |run| of_twenty.push(run));
            prop_assert_eq!(of_four, slowly(text.as_bytes(), 4));
            prop_assert_eq!(of_twenty, slowly(text.as_bytes(), 20));
        }
    }
}

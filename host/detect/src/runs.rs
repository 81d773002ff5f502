//! Rows of bytes of one kind, sixty-four bytes at a time.
//!
//! A kind is a comparison of sixteen bytes at once; what comes out is a bit for each byte, and a row
//! is bits side by side. Most texts hold no long row of digits or of base64, and cost one pass of
//! this and nothing else.

use std::ops::{BitAnd, Shr};

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

/// Less than a block, with zeros behind it.
fn filled_up(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// The places of the bits that are set, in order.
#[inline(always)]
pub(crate) fn places(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then_some(bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        place
    })
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

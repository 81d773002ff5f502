//! Where a plain stretch of a JSON string ends: quotes, backslashes and control characters.
//!
//! Bytes are compared in blocks of 64, and the marks of a block are kept as one bit each. Most blocks
//! have none or a few, and none is compared twice, however many strings begin in it.

use wide::u8x16;

/// The marks of a text, found one after the other.
pub(crate) struct TextMarks<'t> {
    bytes: &'t [u8],
    /// Where the block begins that `found` is about.
    block: usize,
    found: u64,
}

const BLOCK: usize = 64;

impl<'t> TextMarks<'t> {
    pub(crate) fn new(bytes: &'t [u8]) -> Self {
        let mut marks = TextMarks { bytes, block: 0, found: 0 };
        marks.read(0);
        marks
    }

    /// Returns where the first mark lies from a place on; the end of the text where there is none.
    #[inline]
    pub(crate) fn next(&mut self, at: usize) -> usize {
        let block = at & !(BLOCK - 1);
        if block != self.block {
            self.read(block);
        }
        let mut found = self.found & u64::MAX << (at % BLOCK);
        while found == 0 {
            if self.block + BLOCK >= self.bytes.len() {
                return self.bytes.len();
            }
            self.read(self.block + BLOCK);
            found = self.found;
        }
        self.block + found.trailing_zeros() as usize
    }

    #[inline]
    fn read(&mut self, block: usize) {
        let rest = self.bytes.get(block..).unwrap_or_default();
        self.block = block;
        self.found = match rest.first_chunk() {
            Some(bytes) => marks_of(bytes),
            None => {
                let mut bytes = [b' '; BLOCK];
                bytes[..rest.len()].copy_from_slice(rest);
                marks_of(&bytes)
            }
        };
    }
}

/// Returns one bit for each byte, set where the byte is a mark.
#[inline]
fn marks_of(bytes: &[u8; BLOCK]) -> u64 {
    const LANES: usize = 16;
    let (quote, backslash) = (u8x16::splat(b'"'), u8x16::splat(b'\\'));
    let last_control = u8x16::splat(0x1f);
    let mut found = 0;
    for (place, lanes) in bytes.as_chunks::<LANES>().0.iter().enumerate() {
        let lanes = u8x16::new(*lanes);
        let control = lanes.min(last_control).simd_eq(lanes);
        let marks = lanes.simd_eq(quote) | lanes.simd_eq(backslash) | control;
        found |= u64::from(marks.to_bitmask()) << (place * LANES);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_found_wherever_it_lies() {
        for length in 0..200 {
            let plain: Vec<u8> =
                (0..length).map(|at| [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff][at % 8]).collect();
            assert_eq!(TextMarks::new(&plain).next(0), length);
            for at in 0..length {
                for mark in (0..0x20).chain([b'"', b'\\']) {
                    let mut bytes = plain.clone();
                    bytes[at] = mark;
                    let mut marks = TextMarks::new(&bytes);
                    assert_eq!(marks.next(at / 2), at, "{mark:#x} of {length}");
                    assert_eq!(marks.next(at), at);
                    assert_eq!(marks.next(at + 1), length);
                }
            }
        }
    }

    #[test]
    fn marks_are_found_one_after_the_other() {
        let text = r#"{"key": "a \" and a \\", "other": ["é", ""]}"#.repeat(9);
        let expected: Vec<usize> =
            text.bytes().enumerate().filter(|(_, byte)| b"\"\\".contains(byte)).map(|(at, _)| at).collect();
        let (mut marks, mut at, mut found) = (TextMarks::new(text.as_bytes()), 0, Vec::new());
        while marks.next(at) < text.len() {
            at = marks.next(at) + 1;
            found.push(at - 1);
        }
        assert_eq!(found, expected);
    }
}

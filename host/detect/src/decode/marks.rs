//! One pass over a text for all looks that go through every byte: where any of them has something to
//! look at.
//!
//! Each block of sixty-four bytes becomes words of bits, a bit for each byte, and a look is a few
//! operations on such words. Most blocks have nothing for any look, and cost this pass alone. A mark
//! is where a look begins, not what it finds: marks may be too many and are never too few.

use std::ops::Range;

use super::runs::LEAST;
use crate::runs::{self as rows, u8x16};
use crate::work::spend;

const BLOCK: usize = 64;

/// As many digits as the first group of a number has.
const LEAST_DIGITS: usize = 4;

/// Where in a text each look has something to look at.
#[derive(Default)]
pub(super) struct Marks {
    blocks: Vec<Marked>,
}

/// The marks of a block, a bit for each byte.
#[derive(Clone, Copy)]
struct Marked {
    at: usize,
    /// Behind this byte a row of [`LEAST`] characters of base64's alphabet ends, or goes on.
    base64: u64,
    /// And one of four digits.
    digits: u64,
    /// The second digit of the third of some groups of three, a byte between each two.
    thousands: u64,
    /// The end of the fourth of some pairs of hexadecimal digits, a byte between each two.
    pairs: u64,
    /// The end of the third narrow line in a row.
    narrow: u64,
    /// The fourth digit of what may begin a line of a hexdump.
    dump: u64,
}

impl Marks {
    pub(super) fn of(bytes: &[u8]) -> Self {
        spend(bytes.len());
        let mut marks = Marks::default();
        let mut pass = MarksPass::default();
        let (blocks, rest) = bytes.as_chunks();
        for (block, at) in blocks.iter().zip((0..).step_by(BLOCK)) {
            marks.blocks.extend(pass.block(bytes, at, block));
        }
        // The last line ends like any other.
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        last[rest.len()] = b'\n';
        marks.blocks.extend(pass.block(bytes, bytes.len() - rest.len(), &last));
        marks
    }

    /// Calls `f` with each row of [`LEAST`] or more characters of base64's alphabet.
    pub(super) fn each_run(&self, f: impl FnMut(Range<usize>)) {
        self.each_row(LEAST, |marked| marked.base64, f);
    }

    /// Calls `f` with each row of four or more digits.
    pub(super) fn each_digit_run(&self, f: impl FnMut(Range<usize>)) {
        self.each_row(LEAST_DIGITS, |marked| marked.digits, f);
    }

    /// Calls `f` with the place of the first of each three groups of three digits with a byte between
    /// each two.
    pub(super) fn each_thousands(&self, mut f: impl FnMut(usize)) {
        const BEFORE: usize = 9;
        self.each_place(|marked| marked.thousands, |at| at.checked_sub(BEFORE).into_iter().for_each(&mut f));
    }

    /// Calls `f` with the place of the first of each four pairs of hexadecimal digits with a byte
    /// between each two.
    pub(super) fn each_four_pairs(&self, mut f: impl FnMut(usize)) {
        const BEFORE: usize = 10;
        self.each_place(|marked| marked.pairs, |at| f(at - BEFORE));
    }

    /// Calls `f` with the end of each line that stands behind two others as narrow lines do.
    pub(super) fn each_narrow_end(&self, f: impl FnMut(usize)) {
        self.each_place(|marked| marked.narrow, f);
    }

    /// Calls `f` with each place of four hexadecimal digits behind a blank or a line end.
    pub(super) fn each_dump(&self, mut f: impl FnMut(usize)) {
        const BEFORE: usize = 3;
        self.each_place(|marked| marked.dump, |at| f(at - BEFORE));
    }

    fn each_place(&self, of: impl Fn(&Marked) -> u64, mut f: impl FnMut(usize)) {
        for marked in &self.blocks {
            rows::places(of(marked)).for_each(|place| f(marked.at + place));
        }
    }

    /// Puts together what the marks of rows of `least` bytes say.
    fn each_row(&self, least: usize, of: impl Fn(&Marked) -> u64, mut f: impl FnMut(Range<usize>)) {
        let mut open: Option<Range<usize>> = None;
        for marked in &self.blocks {
            let mut bits = of(marked);
            while bits != 0 {
                let first = bits.trailing_zeros();
                let length = (bits >> first).trailing_ones();
                bits &= u64::MAX.checked_shl(first + length).unwrap_or(0);
                let first = marked.at + first as usize;
                let end = first + length as usize;
                match &mut open {
                    Some(row) if row.end == first => row.end = end,
                    _ => open.replace(first + 1 - least..end).into_iter().for_each(&mut f),
                }
            }
        }
        open.into_iter().for_each(f);
    }
}

/// What the bytes before a block leave to it.
struct MarksPass {
    before: Kinds,
    /// A line has begun, and all of it so far may be a narrow one; or so behind one such line, or two.
    narrow: [u64; 3],
}

/// The bytes of a block by kinds that are known by a comparison or two; which byte really is of an
/// alphabet is asked where it matters.
#[derive(Clone, Copy, Default)]
struct Kinds {
    line_end: u64,
    /// Blanks, line ends and control characters.
    blank: u64,
    /// From `+` to `z`: all of base64 with its padding, and some signs.
    word: u64,
    /// Of words, the hexadecimal digits and some signs.
    hex: u64,
    /// Ends of two bytes of hexadecimal digits.
    two_hex: u64,
    /// Ends of two such pairs with a byte between them, which are parts of groups of three.
    two_pairs: u64,
    /// Ends of lines that may be narrow ones, and of those behind another.
    narrow: [u64; 2],
}

impl Default for MarksPass {
    fn default() -> Self {
        // A text begins as if a line had ended before it.
        let before = Kinds { line_end: u64::MAX, blank: u64::MAX, ..Kinds::default() };
        MarksPass { before, narrow: [0; 3] }
    }
}

impl MarksPass {
    #[inline(always)]
    fn block(&mut self, bytes: &[u8], at: usize, block: &[u8; BLOCK]) -> Option<Marked> {
        let (mut now, before) = (Kinds::of(block), self.before);
        let two_hex = now.hex & back(now.hex, before.hex, 1);
        let two_hex_back = |count| back(two_hex, before.two_hex, count);
        let (four_hex, two_pairs) = (two_hex & two_hex_back(2), two_hex & two_hex_back(3));
        let pairs = if two_pairs == 0 { 0 } else { two_pairs & two_hex_back(6) & two_hex_back(9) };
        let groups = two_pairs & back(two_pairs, before.two_pairs, 4);
        let narrow = self.narrow(&mut now);
        self.before = Kinds { two_hex, two_pairs, ..now };
        let base64 = has_row_end(now.word, before.word);
        if !base64 && four_hex | pairs | groups | narrow == 0 {
            return None;
        }
        let marked = Marked {
            at,
            base64: if base64 { row_ends::<LEAST>(bytes, at, block, in_base64) } else { 0 },
            digits: if four_hex == 0 { 0 } else { row_ends::<LEAST_DIGITS>(bytes, at, block, rows::digits) },
            thousands: if groups == 0 { 0 } else { groups & second_digits(block) },
            pairs,
            narrow,
            dump: if four_hex == 0 { 0 } else { four_hex & back(now.blank, before.blank, 4) },
        };
        let any =
            marked.base64 | marked.digits | marked.thousands | marked.pairs | marked.narrow | marked.dump;
        (any != 0).then_some(marked)
    }

    /// Ends of lines that stand behind two others and are, like those, one word and blanks around it.
    #[inline(always)]
    fn narrow(&mut self, now: &mut Kinds) -> u64 {
        let before = &self.before;
        let blank = now.blank & !now.line_end;
        let parts_words = blank & back(!now.blank, !before.blank, 1) & (!now.blank >> 1);
        let may = (now.word | blank) & !parts_words;
        let begins = back(now.line_end, before.line_end, 1);
        let one = ends(may, now.line_end, begins, &mut self.narrow[0]);
        let behind_one = back(one, before.narrow[0], 1);
        let two = ends(may, now.line_end, behind_one, &mut self.narrow[1]);
        let behind_two = back(two, before.narrow[1], 1);
        now.narrow = [one, two];
        ends(may, now.line_end, behind_two, &mut self.narrow[2])
    }
}

/// Whether a row of [`LEAST`] bytes of a kind ends in this block, or goes on.
#[inline(always)]
fn has_row_end(now: u64, before: u64) -> bool {
    let goes_on = now.trailing_ones();
    let joined = goes_on > 0 && before.leading_ones() + goes_on >= LEAST as u32;
    joined || rows::in_a_row::<LEAST, _>(now) != 0
}

/// The second digit of each group of digits, behind another group and one byte; at the beginning of a
/// block what may be one.
#[inline(always)]
fn second_digits(block: &[u8; BLOCK]) -> u64 {
    let digits = rows::bits(block, rows::digits);
    let second = digits & (digits << 1 | 1) & !(digits << 2);
    second & (second << 4 | 0b1111)
}

/// The bits, each moved to the byte behind; those of the block before come in.
#[inline(always)]
fn back(now: u64, before: u64, count: u32) -> u64 {
    now << count | before >> (u64::BITS - count)
}

/// The ends of lines that begin at one of `begins` and are of one kind. `goes_on` is whether such a
/// line reaches into this block, and then into the next.
#[inline(always)]
fn ends(kind: u64, line_end: u64, begins: u64, goes_on: &mut u64) -> u64 {
    let before = *goes_on;
    if begins | before == 0 {
        return 0;
    }
    // An addition carries through a row to the bit behind it.
    let (sum, carries) = kind.overflowing_add((begins | before) & kind);
    *goes_on = u64::from(carries);
    (sum | before) & !kind & line_end
}

/// Where in a block rows of `COUNT` bytes of a kind end, or go on.
#[inline(always)]
fn row_ends<const COUNT: usize>(
    bytes: &[u8],
    at: usize,
    block: &[u8; BLOCK],
    is: impl Fn(u8x16) -> u8x16,
) -> u64 {
    let before = at.checked_sub(BLOCK).and_then(|from| bytes[from..].first_chunk());
    let before = before.map_or(0, |before| rows::bits(before, &is));
    let bits = u128::from(rows::bits(block, &is)) << BLOCK | u128::from(before);
    (rows::in_a_row::<COUNT, _>(bits) >> (BLOCK + 1 - COUNT)) as u64
}

#[inline(always)]
fn in_base64(bytes: u8x16) -> u8x16 {
    let letters = rows::between(rows::small(bytes), b'a', b'z');
    let digits_and_slash = rows::between(bytes, b'/', b'9');
    let signs = rows::equal(bytes, b'+') | rows::equal(bytes, b'-') | rows::equal(bytes, b'_');
    letters | digits_and_slash | signs
}

impl Kinds {
    #[inline(always)]
    fn of(block: &[u8; BLOCK]) -> Self {
        let word = rows::bits(block, |bytes| rows::between(bytes, b'+', b'z'));
        let blank = rows::bits(block, |bytes| rows::between(bytes, 0, b' '));
        Kinds {
            line_end: rows::bits(block, |bytes| rows::equal(bytes, b'\n')),
            blank,
            word,
            hex: word & rows::bits(block, |bytes| rows::between(rows::small(bytes), 0, b'f')),
            ..Kinds::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::text::{is_base64, is_hex};
    use super::*;

    /// Rows of bytes of a kind, a byte at a time.
    fn rows(bytes: &[u8], least: usize, is: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
        let kinds = bytes.chunk_by(|&a, &b| is(a) == is(b));
        let ends = kinds.scan(0, |end, kind| {
            *end += kind.len();
            Some((*end - kind.len()..*end, is(kind[0])))
        });
        ends.filter(|(row, kind)| *kind && row.len() >= least).map(|(row, _)| row).collect()
    }

    fn collected<T>(each: impl FnOnce(&mut dyn FnMut(T))) -> Vec<T> {
        let mut all = Vec::new();
        each(&mut |it| all.push(it));
        all
    }

    fn is_blank(byte: u8) -> bool {
        matches!(byte, b' ' | b'\t' | b'\r')
    }

    fn is_narrow(line: &[u8]) -> bool {
        let line = line.trim_ascii();
        !line.is_empty() && line.iter().all(|&byte| is_base64(byte) || byte == b'=')
    }

    proptest! {
        #[test]
        fn no_place_goes_without_its_mark(
            text in "([a-z]{1,9}|[A-Za-z0-9+/_-]{4,90}|[0-9]{1,9}|[0-9]{1,3}([,.' ][0-9]{3}){1,6}|[0-9a-f]{2}([:-][0-9a-f]{2}){1,20}|[(),.{}\u{0}\u{7f}\u{e9}]|[ \t\r\n=]|  |\n[ \t]{0,70}[a-f0-9]{4,8}:? |\n[a-zA-Z]{1,8}=?\r?\n [a-z0-9]{1,8}){0,60}"
        ) {
            let bytes = text.as_bytes();
            let marks = Marks::of(bytes);
            prop_assert_eq!(collected(|f| marks.each_run(f)), rows(bytes, LEAST, is_base64));
            let is_digit = |byte: u8| byte.is_ascii_digit();
            prop_assert_eq!(collected(|f| marks.each_digit_run(f)), rows(bytes, LEAST_DIGITS, is_digit));

            let marked: Vec<usize> = collected(|f| marks.each_thousands(f));
            for (at, groups) in bytes.windows(11).enumerate() {
                let all = groups.chunks(4).all(|group| group[..3].iter().all(u8::is_ascii_digit))
                    && !groups[3].is_ascii_digit() && !groups[7].is_ascii_digit();
                prop_assert!(!all || marked.contains(&at), "groups at {at}");
            }
            let marked: Vec<usize> = collected(|f| marks.each_four_pairs(f));
            for (at, pairs) in bytes.windows(11).enumerate() {
                let all = pairs.chunks(3).all(|pair| is_hex(pair[0]) && is_hex(pair[1]));
                prop_assert!(!all || marked.contains(&at), "pairs at {at}");
            }
            let marked: Vec<usize> = collected(|f| marks.each_dump(f));
            let ends: Vec<usize> = collected(|f| marks.each_narrow_end(f));
            let (mut start, mut in_a_row) = (0, 0);
            for line in text.split('\n') {
                let indentation = line.bytes().take_while(|&byte| is_blank(byte)).count();
                let rest = &line.as_bytes()[indentation..];
                let begins = rest.len() >= 4 && rest[..4].iter().all(|&byte| is_hex(byte));
                prop_assert!(!begins || marked.contains(&(start + indentation)), "hexdump at {start}");
                in_a_row = if is_narrow(line.as_bytes()) { in_a_row + 1 } else { 0 };
                start += line.len() + 1;
                prop_assert!(in_a_row < 3 || ends.contains(&(start - 1)), "narrow lines before {start}");
            }
        }
    }
}

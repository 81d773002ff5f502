//! What is spread over lines: base64 and hexadecimal digits in lines too short for a run, and
//! hexdumps.

use std::ops::Range;

use super::marks::Marks;
use super::runs::{self, LEAST};
use super::source::hex_byte;
use super::text::{LEAST_AMONG_PAIRS, each_among_bytes, is_base64, is_hex};
use super::{Block, Encoding};
use crate::work::spend;

/// Narrower lines hold words.
const NARROWEST: usize = 4;

/// Fewer lines of one width are a coincidence.
const LEAST_LINES: usize = 3;

/// Bytes of a hexdump's line.
const DUMP_WIDTH: usize = 16;

/// Calls `f` with each text that lines spell together.
pub(super) fn each(text: &str, marks: &Marks, f: &mut impl FnMut(Block)) {
    let mut found = Vec::new();
    each_narrow(text.as_bytes(), marks, |end, block| found.push((end, block)));
    each_dump(text.as_bytes(), marks, |end, block| found.push((end, block)));
    // In the order of the lines that ended them.
    found.sort_by_key(|(end, _)| *end);
    found.into_iter().for_each(|(_, block)| f(block));
}

/// Calls `f` with each text that narrow lines spell, and with the end of the line that is none of
/// them any more.
fn each_narrow(bytes: &[u8], marks: &Marks, mut f: impl FnMut(usize, Block)) {
    let mut done = 0;
    marks.each_narrow_end(|marked| {
        if marked < done {
            return;
        }
        let (mut narrow, mut start) = (Narrow::default(), start_of_lines(bytes, done, marked));
        while start <= bytes.len() && (start <= marked || narrow.lines > 0) {
            let line = line(bytes, start);
            let text = trimmed(bytes, without_indentation(bytes, line.clone()));
            if !narrow.takes(bytes, &text) {
                narrow.finish(&mut |block| f(line.end, block));
                narrow.takes(bytes, &text);
            }
            start = line.end + 1;
        }
        narrow.finish(&mut |block| f(start, block));
        done = start;
    });
}

/// Where the first of [`LEAST_LINES`] lines begins that end at `end`, none before `floor`.
fn start_of_lines(bytes: &[u8], floor: usize, end: usize) -> usize {
    let mut start = end + 1;
    for _ in 0..LEAST_LINES {
        if start <= floor {
            return floor;
        }
        start = memchr::memrchr(b'\n', &bytes[floor..start - 1]).map_or(floor, |n| floor + n + 1);
    }
    start
}

/// Calls `f` with each text that lines of a hexdump spell, and with the end of the line that is none
/// of them any more.
fn each_dump(bytes: &[u8], marks: &Marks, mut f: impl FnMut(usize, Block)) {
    let mut done = 0;
    marks.each_dump(|first| {
        let is_begin = || {
            let four = bytes.get(first..first + 4);
            let before = bytes[..first].iter().rev().find(|&&byte| !is_blank(byte));
            four.is_some_and(|four| four.iter().all(|&byte| is_hex(byte)))
                && before.is_none_or(|&byte| byte == b'\n')
        };
        if first < done || !is_begin() {
            return;
        }
        let (mut dump, mut text) = (Dump::default(), first..line(bytes, first).end);
        while dump.takes(bytes, &trimmed(bytes, text.clone())) && text.end < bytes.len() {
            text = without_indentation(bytes, line(bytes, text.end + 1));
        }
        dump.finish(&mut |block| f(text.end, block));
        done = text.end;
    });
}

/// The line that begins at `start`.
fn line(bytes: &[u8], start: usize) -> Range<usize> {
    let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |n| start + n);
    spend(end - start);
    start..end
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn without_indentation(bytes: &[u8], line: Range<usize>) -> Range<usize> {
    let blanks = bytes[line.clone()].iter().position(|&byte| !is_blank(byte));
    blanks.map_or(line.end, |blanks| line.start + blanks)..line.end
}

fn trimmed(bytes: &[u8], line: Range<usize>) -> Range<usize> {
    let last = bytes[line.clone()].iter().rposition(|&byte| !is_blank(byte));
    line.start..last.map_or(line.start, |last| line.start + last + 1)
}

/// Lines of one width, the last of which may be shorter.
#[derive(Default)]
struct Narrow {
    width: usize,
    lines: usize,
    range: Range<usize>,
    /// The first line without its padding.
    first: Range<usize>,
    /// What the lines spell together, from the second one on: most blocks are one line, a word.
    joined: Vec<u8>,
    ended: bool,
}

impl Narrow {
    fn takes(&mut self, bytes: &[u8], line: &Range<usize>) -> bool {
        let length = line.len();
        let first = self.lines == 0;
        let fits = match first {
            true => (NARROWEST..LEAST).contains(&length),
            // After a single line a shorter one begins a block of its own.
            false if self.lines == 1 => length == self.width,
            false => !self.ended && (1..=self.width).contains(&length),
        };
        if !fits {
            return false;
        }
        let text = &bytes[line.clone()];
        let padding = text.iter().rev().take(6).take_while(|&&byte| byte == b'=').count();
        if !text[..length - padding].iter().all(|&byte| is_base64(byte)) {
            return false;
        }
        let text = line.start..line.end - padding;
        if first {
            (self.width, self.range, self.first) = (length, line.clone(), text);
        } else {
            if self.lines == 1 {
                self.joined.extend_from_slice(&bytes[self.first.clone()]);
            }
            self.joined.extend_from_slice(&bytes[text]);
        }
        self.lines += 1;
        self.range.end = line.end;
        self.ended = length < self.width || padding > 0;
        true
    }

    fn finish(&mut self, f: &mut impl FnMut(Block)) {
        let Narrow { range, joined, .. } = self;
        if self.lines >= LEAST_LINES && joined.len() >= LEAST {
            runs::stretches(joined, 0..joined.len(), &mut runs::Done::default(), &mut |block: Block| {
                f(Block { range: range.clone(), ..block })
            });
        }
        self.lines = 0;
        self.joined.clear();
    }
}

/// Lines of a hexdump.
#[derive(Default)]
struct Dump {
    range: Range<usize>,
    bytes: Vec<u8>,
}

impl Dump {
    fn takes(&mut self, bytes: &[u8], line: &Range<usize>) -> bool {
        let before = self.bytes.len();
        let taken = columns(&bytes[line.clone()], &mut self.bytes);
        if taken {
            let start = if before == 0 { line.start } else { self.range.start };
            self.range = start..line.end;
        } else {
            self.bytes.truncate(before);
        }
        taken
    }

    fn finish(&mut self, f: &mut impl FnMut(Block)) {
        if self.bytes.is_empty() {
            return;
        }
        let Dump { range, bytes } = std::mem::take(self);
        each_among_bytes(&bytes, LEAST_AMONG_PAIRS, |text, _| {
            f(Block { encoding: Encoding::Hexdump, range: range.clone(), text });
        });
    }
}

/// Reads a line's columns: an offset, then pairs of digits in groups, up to the same bytes as text.
fn columns(line: &[u8], out: &mut Vec<u8>) -> bool {
    const LEAST_OFFSET: usize = 4;
    const MOST_OFFSET: usize = 16;
    let offset = line.iter().take(MOST_OFFSET + 1).take_while(|&&byte| is_hex(byte)).count();
    let colon = line.get(offset) == Some(&b':');
    if !(LEAST_OFFSET..=MOST_OFFSET).contains(&offset) || !(colon || line.get(offset) == Some(&b' ')) {
        return false;
    }
    let mut at = offset + usize::from(colon);
    let before = out.len();
    while out.len() - before < DUMP_WIDTH {
        let blanks = line[at..].iter().take_while(|&&byte| byte == b' ').count();
        // `hexdump -C` parts its two halves by two blanks, others the text.
        let is_half = out.len() - before == DUMP_WIDTH / 2 || out.len() == before;
        if blanks == 0 || (blanks > 1 && !is_half) || !group(&line[at + blanks..], out) {
            break;
        }
        at += blanks;
        at += line[at..].iter().take_while(|&&byte| is_hex(byte)).count();
    }
    out.len() > before
}

/// Reads a group of whole pairs.
fn group(rest: &[u8], out: &mut Vec<u8>) -> bool {
    let digits = rest.iter().take(2 * DUMP_WIDTH + 1).take_while(|&&byte| is_hex(byte)).count();
    let ends = rest.get(digits).is_none_or(|&byte| byte == b' ');
    if digits == 0 || digits % 2 == 1 || digits > 2 * DUMP_WIDTH || !ends {
        return false;
    }
    out.extend(rest[..digits].chunks(2).filter_map(|pair| hex_byte(pair[0], pair[1])));
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The long way: both looks at every line.
    fn each_slowly(text: &str, f: &mut impl FnMut(Block)) {
        let bytes = text.as_bytes();
        let (mut narrow, mut dump, mut start) = (Narrow::default(), Dump::default(), 0);
        while start <= bytes.len() {
            let whole = line(bytes, start);
            let line = trimmed(bytes, without_indentation(bytes, whole.clone()));
            if !narrow.takes(bytes, &line) {
                narrow.finish(f);
                narrow.takes(bytes, &line);
            }
            if !dump.takes(bytes, &line) {
                dump.finish(f);
            }
            start = whole.end + 1;
        }
        narrow.finish(f);
        dump.finish(f);
    }

    proptest! {
        #[test]
        fn lines_without_a_mark_spell_nothing(
            text in "((YWFh|YmJiYmJi|[A-Za-z0-9+/]{1,21})={0,2}|0000: 6161 6161 6161 6161|[0-9a-f]{4,9}:?( 61 62 63 64 65 66 67 68)?|dead be ef|[a-z(]{0,3}|[a-z ]{20,70}|([ \t\r\u{b}]{0,2}\r?\n[ \t]{0,3}){1,2}|\n|\n|\nYWFhYWFh\nYWFhYWFh\nYWFh){0,40}"
        ) {
            let (mut short, mut long) = (Vec::new(), Vec::new());
            let marks = Marks::of(text.as_bytes());
            each(&text, &marks, &mut |block| short.push((block.encoding, block.range, block.text)));
            each_slowly(&text, &mut |block| long.push((block.encoding, block.range, block.text)));
            prop_assert_eq!(short, long);
        }
    }
}

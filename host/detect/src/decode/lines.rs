//! What is spread over lines: base64 and hexadecimal digits in lines too short for a run, and
//! hexdumps.

use std::ops::Range;

use super::runs::{self, LEAST};
use super::source::hex_byte;
use super::text::{LEAST_AMONG_PAIRS, each_among_bytes, is_base64, is_hex};
use super::{Block, Encoding};
use crate::runs as rows;
use crate::work::spend;

/// Narrower lines hold words.
const NARROWEST: usize = 4;

/// Fewer lines of one width are a coincidence.
const LEAST_LINES: usize = 3;

/// Bytes of a hexdump's line.
const DUMP_WIDTH: usize = 16;

/// Calls `f` with each text that lines spell together.
pub(super) fn each(text: &str, f: &mut impl FnMut(Block)) {
    let bytes = text.as_bytes();
    let (mut narrow, mut dump) = (Narrow::default(), Dump::default());
    let mut start = 0;
    let mut ends_at = |end: usize| {
        spend(end - start);
        let line = without_indentation(bytes, start..end);
        // Nothing begins with most lines, and nothing that they could go on with has begun.
        let goes_on = narrow.lines > 0 || !dump.bytes.is_empty();
        if goes_on || may_begin(&bytes[line.clone()]) {
            let line = trimmed(bytes, line);
            if !narrow.takes(bytes, &line) {
                narrow.finish(f);
                narrow.takes(bytes, &line);
            }
            if !dump.takes(bytes, &line) {
                dump.finish(f);
            }
        }
        start = end + 1;
    };
    rows::each_place(bytes, |bytes| rows::equal(bytes, b'\n'), &mut ends_at);
    ends_at(bytes.len());
    narrow.finish(f);
    dump.finish(f);
}

/// Returns false only for a line that neither narrow lines nor a hexdump begin with.
fn may_begin(line: &[u8]) -> bool {
    let [first, second, third, fourth, ..] = *line else { return false };
    let in_base64 = |byte: u8| is_base64(byte) || byte == b'=';
    let ends = line.len() < LEAST || line.last().is_some_and(|&byte| is_blank(byte));
    (ends && in_base64(first) && in_base64(second)) || [first, second, third, fourth].into_iter().all(is_hex)
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
        each_among_bytes(&bytes, LEAST_AMONG_PAIRS, |stretch| {
            f(Block { encoding: Encoding::Hexdump, range: range.clone(), text: stretch.text });
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

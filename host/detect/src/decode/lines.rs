//! What is spread over lines: base64 and hexadecimal digits in lines too short for a run, and hexdumps.

use std::ops::Range;

use memchr::memchr;

use super::runs::{self, LEAST};
use super::source::hex_byte;
use super::text::{each_among_bytes, is_base64, is_hex};
use super::work::spend;
use super::{Block, Encoding};

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
    while start < bytes.len() {
        let end = memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |n| start + n);
        let line = trimmed(bytes, start..end);
        spend(end - start);
        if !narrow.takes(bytes, &line) {
            narrow.finish(f);
            narrow.takes(bytes, &line);
        }
        if !dump.takes(bytes, &line) {
            dump.finish(f);
        }
        start = end + 1;
    }
    narrow.finish(f);
    dump.finish(f);
}

fn trimmed(bytes: &[u8], line: Range<usize>) -> Range<usize> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let start = bytes[line.clone()].iter().position(|byte| !blank(byte)).map_or(line.end, |n| line.start + n);
    let end = bytes[start..line.end].iter().rposition(|byte| !blank(byte)).map_or(start, |n| start + n + 1);
    start..end
}

/// Lines of one width, the last of which may be shorter.
#[derive(Default)]
struct Narrow {
    width: usize,
    lines: usize,
    range: Range<usize>,
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
        let text = &bytes[line.clone()];
        let padding = text.iter().rev().take(6).take_while(|&&byte| byte == b'=').count();
        if !fits || !text[..length - padding].iter().all(|&byte| is_base64(byte)) {
            return false;
        }
        if first {
            (self.width, self.range) = (length, line.clone());
        }
        self.lines += 1;
        self.range.end = line.end;
        self.ended = length < self.width || padding > 0;
        self.joined.extend_from_slice(&text[..length - padding]);
        true
    }

    fn finish(&mut self, f: &mut impl FnMut(Block)) {
        let Narrow { lines, range, joined, .. } = std::mem::take(self);
        if lines >= LEAST_LINES && joined.len() >= LEAST {
            runs::stretches(&joined, 0..joined.len(), &mut runs::Done::default(), &mut |block: Block| {
                f(Block { range: range.clone(), ..block })
            });
        }
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
        let Dump { range, bytes } = std::mem::take(self);
        each_among_bytes(&bytes, |stretch| {
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

//! A text of any length in windows, so that memory has a bound and a file has none.
//!
//! What is found in a window is looked at with text around it, which the windows beside it have as
//! well. Each finding counts in the window in which it begins.

use std::io::{self, Read};
use std::ops::Range;

use super::places::behind;

/// How much counts of one window.
const WINDOW: usize = 8 << 20;

/// How much is read around that: many times what any detector looks at beside a finding.
const AROUND: usize = 256 << 10;

/// A window of a text.
pub(super) struct ScanWindow {
    pub(super) text: String,
    /// Where what counts begins and ends.
    pub(super) counts: Range<usize>,
    /// Where the window begins in the whole: in bytes, and as a line and column.
    pub(super) at: usize,
    pub(super) begins: (usize, usize),
}

/// Reads windows.
pub(super) struct ScanWindows<R> {
    input: R,
    size: usize,
    around: usize,
    bytes: Vec<u8>,
    /// Where in them what was not yet looked at begins.
    from: usize,
    at: usize,
    /// Line and column of the first byte.
    begins: (usize, usize),
    is_done: bool,
}

impl<R: Read> ScanWindows<R> {
    pub(super) fn new(input: R) -> Self {
        ScanWindows::of_size(input, WINDOW, AROUND)
    }

    fn of_size(input: R, size: usize, around: usize) -> Self {
        ScanWindows { input, size, around, bytes: Vec::new(), from: 0, at: 0, begins: (1, 1), is_done: false }
    }

    /// Returns the next window.
    pub(super) fn next(&mut self) -> io::Result<Option<ScanWindow>> {
        if self.is_done {
            return Ok(None);
        }
        let wanted = self.from + self.size + self.around;
        let missing = (wanted - self.bytes.len()) as u64;
        self.is_done = (&mut self.input).take(missing).read_to_end(&mut self.bytes)? < missing as usize;
        let to = match self.is_done {
            true => self.bytes.len(),
            false => boundary(&self.bytes, self.bytes.len() - self.around),
        };
        // At the end the bytes themselves are the text.
        let kept = boundary(&self.bytes, to.saturating_sub(self.around));
        let rest = if self.is_done { Vec::new() } else { self.bytes[kept..].to_vec() };
        let text = text(std::mem::replace(&mut self.bytes, rest));
        let window = ScanWindow { counts: self.from..to, at: self.at, begins: self.begins, text };
        self.begins = behind(self.begins, &window.text[..kept]);
        (self.at, self.from) = (self.at + kept, to - kept);
        Ok(Some(window))
    }
}

/// Returns this offset, or the next one that is within no character.
fn boundary(bytes: &[u8], at: usize) -> usize {
    let is_within = |byte: &&u8| **byte & 0xc0 == 0x80;
    at + bytes[at..].iter().take(3).take_while(is_within).count()
}

/// The bytes as text, with a substitute for each byte that is no UTF-8, so that offsets stay.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let mut text = String::with_capacity(error.as_bytes().len());
        for chunk in error.as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| '\u{1a}'));
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::places::places;

    #[test]
    fn what_is_no_text_keeps_its_length() {
        let bytes = b"a\xff\xe2\x82b\xe2\x82\xac".to_vec();
        let text = text(bytes.clone());
        assert_eq!(text, "a\u{1a}\u{1a}\u{1a}b\u{20ac}");
        assert_eq!(text.len(), bytes.len());
    }

    #[test]
    fn windows_find_what_the_whole_holds_and_where() {
        let word = "needle";
        for gap in 0..60 {
            let line = format!("é{}{word} {word}\n", "x".repeat(gap));
            let whole = line.repeat(40);
            let ranges: Vec<_> = whole.match_indices(word).map(|(at, _)| at..at + word.len()).collect();
            let places_of_all = places(&whole, (1, 1), ranges.iter().cloned());
            let wanted: Vec<_> = ranges.into_iter().zip(places_of_all).collect();
            let mut windows = ScanWindows::of_size(whole.as_bytes(), 50, 10);
            let mut found = Vec::new();
            while let Some(window) = windows.next().unwrap() {
                assert!(window.text.len() <= 50 + 2 * 10 + 6, "{}", window.text.len());
                let here = window.text.match_indices(word).map(|(at, _)| at..at + word.len());
                let here: Vec<_> = here.filter(|range| window.counts.contains(&range.start)).collect();
                let at = places(&window.text, window.begins, here.iter().cloned());
                found.extend(here.iter().map(|range| range.start + window.at..range.end + window.at).zip(at));
            }
            assert_eq!(found, wanted, "{gap}");
        }
    }
}

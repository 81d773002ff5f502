//! What is promised about any bytes that a plugin's author writes, as functions that panic where a
//! promise is broken. Fuzz targets (`host/fuzz`) call them for minutes, `tests/properties.rs` in
//! every test run.

mod answer;
mod file;
mod words;

pub(crate) use answer::answer;
pub(crate) use file::{BASES, file};
pub(crate) use words::words;

/// Bytes that choose something, until they are used up; then every choice is the first one.
pub(crate) struct Choices<'i>(&'i [u8]);

impl<'i> Choices<'i> {
    pub(crate) fn new(input: &'i [u8]) -> Self {
        Choices(input)
    }

    pub(crate) fn more(&self) -> bool {
        !self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// A number below `count`; 0 where that is 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let number = usize::from(self.byte());
        let number = if count > 256 { number << 8 | usize::from(self.byte()) } else { number };
        number % count.max(1)
    }
}

/// Looks whether a text may stand in a log and on a terminal.
fn is_line(text: &str) {
    assert!(!text.is_empty() && text.len() < 8000, "{} bytes", text.len());
    assert!(!text.contains(char::is_control), "{text:?}");
}

//! An input of a check: a body, and choices about what is done to it.

/// A body and the bytes that choose what is done to it: those behind the first NUL.
///
/// A recorded request is therefore an input as it is, and whatever a fuzzer makes of it still begins with a body. Choices never run
/// out: at the end every choice is the first one, and loops ask [`Input::more`].
#[derive(Clone, Copy, Debug)]
pub struct Input<'i> {
    /// The body.
    pub body: &'i [u8],
    choices: &'i [u8],
}

/// Pieces of texts that edits write: what JSON escapes, what spells documents, what is more than a byte long.
const PIECES: [&str; 16] = [
    "",
    "a",
    "token",
    " ",
    "\"",
    "\\",
    "\n",
    "\0",
    "é",
    "😀",
    "{",
    "}",
    "[1]",
    "{\"k\":\"v\"}",
    "\u{2028}",
    "0",
];

impl<'i> Input<'i> {
    /// Splits an input.
    pub fn new(input: &'i [u8]) -> Self {
        let end = input.iter().position(|&byte| byte == 0).unwrap_or(input.len());
        Input { body: &input[..end], choices: input.get(end + 1..).unwrap_or_default() }
    }

    /// Whether choices are left.
    pub fn more(&self) -> bool {
        !self.choices.is_empty()
    }

    /// One of `count` things, from 0; 0 where there are none.
    pub fn choose(&mut self, count: usize) -> usize {
        // One byte where it reaches every choice: short inputs are what a fuzzer is good at.
        let bytes = if count <= 256 { 1 } else { 4 };
        let (taken, rest) = self.choices.split_at(bytes.min(self.choices.len()));
        self.choices = rest;
        let number = taken.iter().fold(0, |number, &byte| number << 8 | usize::from(byte));
        number % count.max(1)
    }

    /// A text of up to three pieces.
    pub fn text(&mut self) -> String {
        let pieces = self.choose(4);
        (0..pieces).map(|_| PIECES[self.choose(PIECES.len())]).collect()
    }

    /// The spelling of a scalar that is no string.
    pub fn scalar(&mut self) -> &'static str {
        ["0", "-1.5e3", "true", "false", "null", "12345678901234567890"][self.choose(6)]
    }

    /// A range of a text, on character boundaries.
    pub fn range(&mut self, text: &str) -> std::ops::Range<usize> {
        let mut place = || {
            let wish = self.choose(text.len() + 1);
            (0..=wish).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
        };
        let (a, b) = (place(), place());
        a.min(b)..a.max(b)
    }
}

//! Watches for reference definitions: `[name]: target` at the start of a line, with the target
//! there or on the next line.
//!
//! Any indent, quote marks and list marks may stand before one, and the name may span lines. A
//! definition ends with the first line that has content, or with a blank line (CommonMark 0.31,
//! 4.7).

use super::{BlankLine, is_space};

#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Definition {
    place: DefinitionState,
    /// More than indent and marks on this line.
    has_content: bool,
    /// A bracket opened at a margin of this paragraph.
    named: bool,
    previous: u8,
    paragraph: BlankLine,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum DefinitionState {
    #[default]
    Outside,
    /// Behind the colon, before the target.
    Before,
    Inside,
}

impl Definition {
    pub(super) fn vetoes(&self) -> bool {
        !matches!(self.place, DefinitionState::Outside)
    }

    pub(super) fn step(&mut self, byte: u8) {
        let paragraph_ends = self.paragraph.step(byte);
        let opens = self.named && self.previous == b']' && byte == b':';
        self.place = match self.place {
            _ if paragraph_ends => DefinitionState::Outside,
            DefinitionState::Outside if opens => DefinitionState::Before,
            DefinitionState::Before if !is_space(byte) => DefinitionState::Inside,
            DefinitionState::Inside if byte == b'\n' => DefinitionState::Outside,
            same => same,
        };
        self.named = !paragraph_ends && (self.named || (!self.has_content && byte == b'['));
        self.has_content = byte != b'\n' && (self.has_content || !is_mark(byte));
        self.previous = byte;
    }
}

/// Returns whether a byte can stand before a definition on its line.
fn is_mark(byte: u8) -> bool {
    is_space(byte) || byte.is_ascii_digit() || matches!(byte, b'>' | b'-' | b'+' | b'*' | b'.' | b')')
}

//! Watches for HTML tags and autolinks: `<` and a letter, `/`, `!` or `?`.
//!
//! Nothing in a tag is restored. A tag ends at `>`, but not at one in a quoted attribute value, and
//! the quotes depend on which `<` and which `=` are real ones. So this is a nondeterministic
//! automaton: it keeps every state that some reading is in, and the text is outside only if all
//! readings are.
//!
//! A `>` at the start of a line does not end a tag either: in a block quote it belongs to the
//! renderer. Blank lines do not end a tag. In markdown they often do, but in a browser an open
//! attribute takes in all text up to the next quote.

use super::is_space;

/// In a tag, not in a quoted value.
const BARE: u8 = 1;
/// Behind `=`: a quote opens a value.
const EQUALS: u8 = 2;
/// In a value in double quotes.
const DOUBLE: u8 = 4;
/// In a value in single quotes.
const SINGLE: u8 = 8;

#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Tag {
    /// The set of states.
    states: u8,
    /// The byte before was `<`.
    angle: bool,
    /// Nothing but spaces and quote marks on this line, and it is not the first.
    margin: bool,
}

impl Tag {
    pub(super) fn vetoes(&self) -> bool {
        self.angle || self.states != 0
    }

    pub(super) fn step(&mut self, byte: u8) {
        self.margin = byte == b'\n' || (self.margin && (byte == b'>' || is_space(byte)));
        if self.margin && byte == b'>' {
            return;
        }
        let mut next = 0;
        if self.angle && (byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!' | b'?')) {
            next |= BARE;
        }
        if self.states != 0 {
            next |= self.readings(byte);
        }
        self.states = next;
        self.angle = byte == b'<';
    }

    /// Returns the states after this byte.
    fn readings(&self, byte: u8) -> u8 {
        let is = |state: u8| self.states & state != 0;
        let mut next = 0;
        if is(BARE) && byte != b'>' {
            next |= BARE;
        }
        if is(BARE) && byte == b'=' {
            next |= EQUALS;
        }
        if is(EQUALS) {
            next |= match byte {
                b'"' => DOUBLE,
                b'\'' => SINGLE,
                space if is_space(space) || space == b'\x0c' => EQUALS,
                _ => 0,
            };
        }
        if is(DOUBLE) {
            next |= if byte == b'"' { BARE } else { DOUBLE };
        }
        if is(SINGLE) {
            next |= if byte == b'\'' { BARE } else { SINGLE };
        }
        next
    }
}

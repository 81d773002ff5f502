//! Watches for the targets of links and images: the text after `](`.
//!
//! In a target brackets nest, a backslash escapes the next byte, `<…>` may hold brackets and
//! spaces, and behind whitespace a quote opens a title that may hold them too (CommonMark 0.31,
//! 6.3). A target ends at its bracket or at a blank line, which no renderer lets it cross.
//!
//! Whether `](` belongs to a link depends on the text before it, which is not followed: each is
//! taken for one. If another `](` comes before the first has ended, either may be the real one, and
//! only a blank line ends both.

use super::{BlankLine, is_space};

#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct LinkTarget {
    place: TargetState,
    previous: u8,
    paragraph: BlankLine,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum TargetState {
    #[default]
    Outside,
    Inside(Inside),
    /// Two targets begun, none ended.
    Tangled,
}

#[derive(Clone, Copy, PartialEq)]
struct Inside {
    /// Brackets open.
    depth: u32,
    mode: Mode,
    /// The byte before was a backslash that was not itself escaped.
    escaped: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// Nothing but whitespace yet: `<` would open an angle here.
    Start,
    Bare,
    Angle,
    Title(u8),
}

impl LinkTarget {
    pub(super) fn vetoes(&self) -> bool {
        !matches!(self.place, TargetState::Outside)
    }

    pub(super) fn step(&mut self, byte: u8) {
        let opens = self.previous == b']' && byte == b'(';
        let paragraph_ends = self.paragraph.step(byte);
        self.place = match self.place {
            _ if paragraph_ends => TargetState::Outside,
            TargetState::Outside if opens => {
                TargetState::Inside(Inside { depth: 1, mode: Mode::Start, escaped: false })
            }
            TargetState::Outside => TargetState::Outside,
            TargetState::Inside(_) if opens => TargetState::Tangled,
            TargetState::Inside(inside) => inside.step(byte, self.previous),
            TargetState::Tangled => TargetState::Tangled,
        };
        self.previous = byte;
    }
}

impl Inside {
    fn step(self, byte: u8, previous: u8) -> TargetState {
        if self.escaped {
            return TargetState::Inside(Self { escaped: false, ..self });
        }
        let mode = self.mode_with(byte, previous);
        let depth = match (self.mode, byte) {
            (Mode::Start | Mode::Bare, b'(') => self.depth.saturating_add(1),
            (Mode::Start | Mode::Bare, b')') => self.depth - 1,
            _ => self.depth,
        };
        if depth == 0 {
            TargetState::Outside
        } else {
            TargetState::Inside(Self { depth, mode, escaped: byte == b'\\' })
        }
    }

    fn mode_with(self, byte: u8, previous: u8) -> Mode {
        match (self.mode, byte) {
            (Mode::Start, _) if is_gap(byte) => Mode::Start,
            (Mode::Start, b'<') => Mode::Angle,
            (Mode::Start | Mode::Bare, b'"' | b'\'') if is_gap(previous) => Mode::Title(byte),
            (Mode::Start | Mode::Bare, _) => Mode::Bare,
            (Mode::Angle, b'>') => Mode::Bare,
            (Mode::Title(quote), _) if quote == byte => Mode::Bare,
            (open, _) => open,
        }
    }
}

/// Returns whether a renderer sees whitespace here: in a block quote each line starts with a mark
/// that is not part of the text.
fn is_gap(byte: u8) -> bool {
    is_space(byte) || byte == b'>'
}

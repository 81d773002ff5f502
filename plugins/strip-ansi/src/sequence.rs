//! Control sequences, as ECMA-48 and xterm have them.
//!
//! | begins with | goes on | ends with |
//! |---|---|---|
//! | `ESC [`, U+009B | 0x20 to 0x3F | 0x40 to 0x7E |
//! | `ESC ]`, U+009D and `ESC P X ^ _`, U+0090 | anything | BEL, `ESC \`, U+009C |
//! | `ESC` | 0x20 to 0x2F | 0x30 to 0x7E |
//!
//! A string that does not end is no sequence: a terminal would swallow all that follows, and a
//! person who reads the request must not miss it.

/// A sequence at the start of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// `CSI n K`: erases to the end of the line (0), to its beginning (1) or all of it (2).
    EraseLine(u8),
    /// Anything else: colours, titles, moves.
    Other,
}

/// The longest string that is taken for one: a title, a link. Without a bound, many that do not end
/// would each be read to the end of the text.
const LONGEST_STRING: usize = 4 << 10;

/// Returns the sequence at the start of a text that starts with `ESC` or one of the C1 controls
/// above, and its length in bytes. An `ESC` before something else is a sequence of its own.
pub(crate) fn read(text: &str) -> Option<(Sequence, usize)> {
    let bytes = text.as_bytes();
    match bytes {
        [0x1b, b'[', ..] => Some(control(bytes).unwrap_or((Sequence::Other, 1))),
        [0xc2, 0x9b, ..] => Some(control(bytes).unwrap_or((Sequence::Other, 2))),
        [0x1b, b']' | b'P' | b'X' | b'^' | b'_', ..] => Some((Sequence::Other, string(bytes).unwrap_or(1))),
        [0xc2, 0x90 | 0x98 | 0x9d..=0x9f, ..] => Some((Sequence::Other, string(bytes).unwrap_or(2))),
        [0x1b, ..] => Some((Sequence::Other, escape(bytes))),
        _ => None,
    }
}

/// The introducer has two bytes in either form.
fn control(bytes: &[u8]) -> Option<(Sequence, usize)> {
    let rest = &bytes[2..];
    let parameters = rest.iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
    let last = rest.get(parameters).filter(|byte| matches!(byte, 0x40..=0x7e))?;
    let sequence = match (last, &rest[..parameters]) {
        (b'K', b"" | b"0") => Sequence::EraseLine(0),
        (b'K', b"1") => Sequence::EraseLine(1),
        (b'K', b"2") => Sequence::EraseLine(2),
        _ => Sequence::Other,
    };
    Some((sequence, 2 + parameters + 1))
}

fn string(bytes: &[u8]) -> Option<usize> {
    let rest = &bytes[2..bytes.len().min(2 + LONGEST_STRING)];
    memchr::memchr3_iter(0x07, 0x1b, 0xc2, rest).find_map(|at| match rest[at..] {
        [0x07, ..] => Some(2 + at + 1),
        [0x1b, b'\\', ..] | [0xc2, 0x9c, ..] => Some(2 + at + 2),
        _ => None,
    })
}

fn escape(bytes: &[u8]) -> usize {
    let between = bytes[1..].iter().take_while(|byte| matches!(byte, 0x20..=0x2f)).count();
    match bytes.get(1 + between) {
        Some(0x30..=0x7e) => between + 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_end_where_the_standard_says() {
        for (text, length) in [
            ("\x1b[0mx", 4),
            ("\x1b[38;5;196mx", 11),
            ("\x1b[?25lx", 6),
            ("\u{9b}1mx", 4),
            ("\x1b]0;title\x07x", 10),
            ("\x1b]8;;https://example.org\x1b\\x", 26),
            ("\x1b]0;é\u{9c}x", 8),
            ("\x1bPq#0\x1b\\x", 7),
            ("\u{9d}0;t\x07x", 6),
            ("\x1b(Bx", 3),
            ("\x1b7x", 2),
            ("\x1b", 1),
            ("\x1bé", 1),
            // Neither ends, so nothing behind it is swallowed.
            ("\x1b[31é", 1),
            ("\x1b]0;title", 1),
        ] {
            assert_eq!(read(text).map(|(_, length)| length), Some(length), "{text:?}");
        }
        for text in ["", "x", "é", "\u{9c}", "\u{85}"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn erasing_a_line_is_known() {
        for (text, part) in [("\x1b[K", 0), ("\x1b[0K", 0), ("\x1b[1K", 1), ("\x1b[2K", 2)] {
            assert_eq!(read(text), Some((Sequence::EraseLine(part), text.len())));
        }
        assert_eq!(read("\x1b[3K"), Some((Sequence::Other, 4)));
    }
}

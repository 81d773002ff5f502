//! The one place that turns any text into what may reach a terminal.
//!
//! Texts of requests, rules and plugins can hold bytes that a terminal obeys: escape sequences that
//! move the cursor or set the clipboard, bidirectional controls that show a text in another order
//! than it is sent, characters that are not visible. A person who decides must see them. So every
//! text passes here, and only a [`Printed`] comes out:
//!
//! - what is not printable (control, C1, format, bidirectional, zero-width, private use,
//!   unassigned, odd spaces, variation selectors, blank letters) becomes `\u{1b}`, the number in
//!   hexadecimal;
//! - in a [`line()`], a newline becomes `↵` and a tab `⇥`; in a [`block`], a newline stays, and a
//!   tab becomes `⇥` and three spaces;
//! - a combining mark that has nothing to stand on, or more than [`MARKS`] of them on one letter,
//!   becomes a number as well;
//! - a text that itself spells `\u{`, `↵` or `⇥` has that character as a number, so that nothing is
//!   shown like something else;
//! - no output is longer than its bound; what was left out is counted at the end.
//!
//! What it does not do: look-alike letters of other scripts and the order of right-to-left letters
//! stay as they are.

use std::fmt::Write as _;

/// Longest text that [`line()`] takes in, in bytes.
pub const LINE_BYTES: usize = 16 * 1024;
/// Longest text that [`block`] takes in, in bytes.
pub const BLOCK_BYTES: usize = 4 * 1024 * 1024;
/// Combining marks that one letter may carry; Vietnamese and vowelled Hebrew need three.
pub const MARKS: usize = 4;

/// Invisible although a letter, a mark or a symbol: fillers, variation selectors, the blank braille
/// pattern.
const BLANKS: &[std::ops::RangeInclusive<char>] = &[
    '\u{34f}'..='\u{34f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2065}'..='\u{2065}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// Text that may reach a terminal. Only this module makes it. `Debug` prints its length.
#[derive(Clone, Default, PartialEq, Eq, derive_more::Display, derive_more::Debug)]
#[debug("{} bytes printed", self.0.len())]
#[display("{_0}")]
pub struct Printed(String);

impl Printed {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a part of it, which is printed as well. It must not be printed again: a number would
    /// be shown as one.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Printed {
        Printed(self.0[range].to_owned())
    }
}

/// Prints a text on one line, without any control character.
pub fn line(text: &str) -> Printed {
    print(text, LINE_BYTES, GlyphShape::write)
}

/// Prints a text on as many lines as it has. `'\n'` is its only control character.
pub fn block(text: &str) -> Printed {
    print(text, BLOCK_BYTES, |shape, out| match shape {
        GlyphShape::Newline => out.push('\n'),
        GlyphShape::Tab => out.push_str("⇥   "),
        shape => shape.write(out),
    })
}

fn print(text: &str, bytes: usize, write: impl Fn(GlyphShape, &mut String)) -> Printed {
    let kept = &text[..text.floor_char_boundary(bytes)];
    let mut out = String::with_capacity(kept.len());
    glyphs(kept).for_each(|glyph| write(glyph.shape, &mut out));
    if kept.len() < text.len() {
        let _ = write!(out, "… ({} bytes more)", text.len() - kept.len());
    }
    Printed(out)
}

/// How one character is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlyphShape {
    /// As it is.
    Plain(char),
    /// As it is, on the character before it.
    Mark(char),
    /// As its number.
    Number(char),
    /// A newline, `↵` on one line.
    Newline,
    /// A tab, `⇥` on one line.
    Tab,
}

impl GlyphShape {
    /// Appends its form on one line.
    pub fn write(self, out: &mut String) {
        match self {
            GlyphShape::Plain(c) | GlyphShape::Mark(c) => out.push(c),
            GlyphShape::Number(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            GlyphShape::Newline => out.push('↵'),
            GlyphShape::Tab => out.push('⇥'),
        }
    }
}

/// One character of a text and how it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyph {
    /// Byte offset of the character in the text.
    pub at: usize,
    /// How it is shown.
    pub shape: GlyphShape,
}

/// Returns every character of a text with its shape, for an editor that must know which cell is
/// which byte.
pub fn glyphs(text: &str) -> impl Iterator<Item = Glyph> + '_ {
    let mut carried = None;
    text.char_indices().map(move |(at, c)| {
        let shape = match shape(c) {
            GlyphShape::Mark(c) if carried.is_none_or(|marks| marks >= MARKS) => GlyphShape::Number(c),
            GlyphShape::Plain('\\') if text[at..].starts_with("\\u{") => GlyphShape::Number('\\'),
            shape => shape,
        };
        carried = match shape {
            GlyphShape::Plain(_) => Some(0),
            GlyphShape::Mark(_) => carried.map(|marks| marks + 1),
            _ => None,
        };
        Glyph { at, shape }
    })
}

/// Returns whether a character stands on the one before it.
pub(crate) fn is_mark(c: char) -> bool {
    matches!(shape(c), GlyphShape::Mark(_))
}

/// How a character is shown, whatever stands around it.
fn shape(c: char) -> GlyphShape {
    match c {
        '\n' => GlyphShape::Newline,
        '\t' => GlyphShape::Tab,
        ' '..='~' => GlyphShape::Plain(c),
        // Wide as a letter, so nobody takes it for a space. Chinese and Japanese texts are full of
        // it.
        '\u{3000}' => GlyphShape::Plain(c),
        '↵' | '⇥' => GlyphShape::Number(c),
        c if BLANKS.iter().any(|range| range.contains(&c)) => GlyphShape::Number(c),
        // The standard library's own table: alone it escapes characters that are not printable or
        // extend a letter, after a letter only the former.
        c if c.escape_debug().len() == 1 => GlyphShape::Plain(c),
        c if ['a', c].iter().collect::<String>().escape_debug().count() == 2 => GlyphShape::Mark(c),
        _ => GlyphShape::Number(c),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_as_its_number() {
        let cases = [
            ("\x1b]52;c;AAAA\x07", r"\u{1b}]52;c;AAAA\u{7}"),
            ("a\u{9b}31m", r"a\u{9b}31m"),
            ("\u{202e}txt.exe", r"\u{202e}txt.exe"),
            ("a\u{200b}b\u{feff}", r"a\u{200b}b\u{feff}"),
            ("x\u{e0041}\u{fe0f}", r"x\u{e0041}\u{fe0f}"),
            ("a\u{a0}b\u{2028}c", r"a\u{a0}b\u{2028}c"),
            ("one\r\n\ttwo", r"one\u{d}↵⇥two"),
            ("\u{e000}\u{378}\u{3164}", r"\u{e000}\u{378}\u{3164}"),
        ];
        for (text, shown) in cases {
            assert_eq!(line(text).as_str(), shown);
        }
    }

    #[test]
    fn what_people_write_stays() {
        for text in ["Grüße, 日本語　です", "naïve e\u{301}", "👍 C:\\users 'q' \"d\"", "שלום · नमस्ते"]
        {
            assert_eq!(line(text).as_str(), text);
        }
    }

    #[test]
    fn marks_need_a_letter_and_do_not_pile_up() {
        assert_eq!(line("\u{301}a").as_str(), "\\u{301}a");
        assert_eq!(
            line(&format!("a{}", "\u{301}".repeat(5))).as_str(),
            "a\u{301}\u{301}\u{301}\u{301}\\u{301}"
        );
    }

    #[test]
    fn a_text_cannot_pretend() {
        assert_eq!(line(r"\u{1b} ↵").as_str(), r"\u{5c}u{1b} \u{21b5}");
    }

    #[test]
    fn output_is_bounded_and_says_so() {
        assert_eq!(print("日本語", 4, GlyphShape::write).as_str(), "日… (6 bytes more)");
    }

    /// Text with many special characters, beside arbitrary ones.
    fn hostile() -> impl Strategy<Value = String> {
        let odd = prop::sample::select(vec![
            '\\',
            'u',
            '{',
            '}',
            '\n',
            '\t',
            '\r',
            '\x1b',
            '\u{9b}',
            '\u{202e}',
            '\u{2066}',
            '\u{200f}',
            '\u{61c}',
            '\u{301}',
            '↵',
            '⇥',
            '\u{e0020}',
            '\u{fe0f}',
            '\u{2029}',
        ]);
        prop::collection::vec(prop_oneof![odd, any::<char>()], 0..60)
            .prop_map(|chars| chars.into_iter().collect())
    }

    fn is_bidi_or_zero_width(c: char) -> bool {
        matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}' | '\u{61c}' | '\u{2028}' | '\u{2029}'
            | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
    }

    /// Reads a printed line back.
    fn decode(shown: &str) -> String {
        let mut out = String::new();
        let mut rest = shown;
        while let Some(c) = rest.chars().next() {
            if let Some(number) = rest.strip_prefix("\\u{") {
                let (hex, behind) = number.split_once('}').unwrap();
                out.push(char::from_u32(u32::from_str_radix(hex, 16).unwrap()).unwrap());
                rest = behind;
                continue;
            }
            out.push(match c {
                '↵' => '\n',
                '⇥' => '\t',
                c => c,
            });
            rest = &rest[c.len_utf8()..];
        }
        out
    }

    proptest! {
        #[test]
        fn a_line_holds_no_control(text in hostile()) {
            let shown = line(&text);
            prop_assert!(!shown.as_str().contains(|c: char| c.is_control() || is_bidi_or_zero_width(c)));
        }

        #[test]
        fn a_block_holds_no_control_but_newline(text in hostile()) {
            let shown = block(&text);
            prop_assert!(!shown.as_str().contains(|c: char| (c.is_control() && c != '\n') || is_bidi_or_zero_width(c)));
            prop_assert_eq!(shown.as_str().matches('\n').count(), text.matches('\n').count());
        }

        #[test]
        fn a_line_can_be_read_back(text in hostile()) {
            prop_assert_eq!(decode(line(&text).as_str()), text);
        }

        #[test]
        fn output_has_a_bound(text in hostile(), bytes in 0usize..80) {
            // Ten bytes are the longest number of one character, forty the longest note at the end.
            prop_assert!(print(&text, bytes, GlyphShape::write).as_str().len() <= bytes * 10 + 40);
        }
    }
}

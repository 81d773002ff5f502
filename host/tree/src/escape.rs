//! Strings of JSON: from their spelling to their text, and edits of the text back to edits of the spelling.

use std::ops::Range;
use std::sync::Arc;

use wide::u8x16;

/// One replacement: a byte range of some text, and what stands there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) at: Range<usize>,
    pub(crate) with: String,
    /// What redaction recognised there, where it is redaction that replaces.
    pub(crate) label: Option<Arc<str>>,
}

/// Decodes the spelling of a string's content. A lone surrogate becomes U+FFFD.
///
/// Where the backslashes of a block stand is known before any of it is copied, so that no look waits for the escape before it. Text is
/// copied a whole block at a time, of which what stands behind the next escape is taken back: in code an escape stands in each line, and to
/// copy just what stands before it costs more than the whole block.
pub(crate) fn unescape(raw: &str) -> String {
    let bytes = raw.as_bytes();
    let mut text = Vec::with_capacity(raw.len() + BLOCK);
    let mut done = 0;
    for (block, at) in bytes.as_chunks::<BLOCK>().0.iter().zip((0..).step_by(BLOCK)) {
        let mut escapes = behind(backslashes(block), done.max(at) - at);
        while escapes != 0 {
            let place = at + escapes.trailing_zeros() as usize;
            copy(&bytes[done..], place - done, &mut text);
            done = place + unescape_at(raw, place, &mut text);
            escapes = behind(escapes, done - at);
        }
        if done < at + BLOCK {
            copy(&bytes[done..], at + BLOCK - done, &mut text);
            done = at + BLOCK;
        }
    }
    // Less than a block is left: short strings are this alone.
    while let Some(block) = bytes[done..].first_chunk::<HALF>() {
        let (end, plain) = (text.len(), HALF.min(backslashes(block).trailing_zeros() as usize));
        text.extend_from_slice(block);
        done += plain;
        if plain < HALF {
            text.truncate(end + plain);
            done += unescape_at(raw, done, &mut text);
        }
    }
    while let Some(plain) = memchr::memchr(b'\\', &bytes[done..]) {
        text.extend_from_slice(&bytes[done..done + plain]);
        done += plain;
        done += unescape_at(raw, done, &mut text);
    }
    text.extend_from_slice(&bytes[done..]);
    String::from_utf8(text).expect("whole characters were copied, and whole ones put in")
}

/// Bytes that are looked at together.
const BLOCK: usize = 64;
const HALF: usize = BLOCK / 2;

/// A bit for each backslash of a block or a half.
#[inline(always)]
fn backslashes<const BYTES: usize>(block: &[u8; BYTES]) -> u64 {
    const LANES: usize = 16;
    let lanes = block.as_chunks::<LANES>().0.iter().zip((0..).step_by(LANES));
    let is_backslash = |lanes: &[u8; LANES]| u8x16::new(*lanes).simd_eq(u8x16::splat(b'\\')).to_bitmask();
    lanes.fold(0, |found, (lanes, place)| found | u64::from(is_backslash(lanes)) << place)
}

/// The bits from a place on.
#[inline(always)]
fn behind(bits: u64, place: usize) -> u64 {
    if place < BLOCK { bits & u64::MAX << place } else { 0 }
}

/// Appends the first `length` bytes, no more than a block.
#[inline(always)]
fn copy(bytes: &[u8], length: usize, text: &mut Vec<u8>) {
    match bytes.first_chunk::<BLOCK>() {
        Some(block) => {
            let end = text.len() + length;
            text.extend_from_slice(block);
            text.truncate(end);
        }
        None => text.extend_from_slice(&bytes[..length]),
    }
}

/// Appends the character of the escape sequence at a place, and returns the sequence's length.
#[inline(always)]
fn unescape_at(raw: &str, at: usize, text: &mut Vec<u8>) -> usize {
    let simple = raw.as_bytes().get(at + 1).map_or(0, |&byte| SIMPLE[usize::from(byte)]);
    if simple != 0 {
        text.push(simple);
        return 2;
    }
    let (character, length) = decode_escape(&raw[at..]);
    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    length
}

/// What each byte behind a backslash means, zero where the byte alone does not decide.
static SIMPLE: [u8; 256] = {
    let mut simple = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        simple[byte as usize] = match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 0x8,
            b'f' => 0xc,
            b'u' => 0,
            itself => itself,
        };
        byte += 1;
    }
    simple
};

/// Decodes the escape sequence that a text starts with; gives the character and the sequence's length in bytes.
///
/// The scanner has checked the grammar; what it would have refused decodes to U+FFFD.
fn decode_escape(raw: &str) -> (char, usize) {
    let bytes = raw.as_bytes();
    match bytes.get(1) {
        Some(b'u') => decode_unicode(bytes),
        Some(&byte) if byte.is_ascii() => (char::from(SIMPLE[usize::from(byte)]), 2),
        _ => (char::REPLACEMENT_CHARACTER, 1),
    }
}

fn decode_unicode(bytes: &[u8]) -> (char, usize) {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 4)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let Some(first) = unit(2) else { return (char::REPLACEMENT_CHARACTER, 2) };
    if let (0xD800..=0xDBFF, Some(b"\\u"), Some(second @ 0xDC00..=0xDFFF)) = (first, bytes.get(6..8), unit(8))
    {
        let scalar = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

/// Spells a text as the content of a JSON string: only what RFC 8259 demands is escaped.
pub(crate) fn escape(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("a text is JSON");
    quoted[1..quoted.len() - 1].to_owned()
}

/// Turns replacements in the decoded text of a string into replacements in its spelling.
///
/// `splices` are sorted and do not overlap; their ends lie on character boundaries. Everything between them keeps its spelling,
/// whatever it was: `\/`, `\u0041` and lone surrogates included. One pass, however many replacements.
pub(crate) fn lift(raw: &str, splices: &[Splice]) -> Vec<Splice> {
    let mut position = EscapePosition { raw, raw_at: 0, text_at: 0 };
    splices
        .iter()
        .map(|splice| {
            let start = position.advance_to(splice.at.start);
            let end = position.advance_to(splice.at.end);
            Splice { at: start..end, with: escape(&splice.with), label: splice.label.clone() }
        })
        .collect()
}

/// A place in a string's spelling and the place in its text that it means.
struct EscapePosition<'r> {
    raw: &'r str,
    raw_at: usize,
    text_at: usize,
}

impl EscapePosition<'_> {
    fn advance_to(&mut self, text_target: usize) -> usize {
        while self.text_at < text_target {
            let rest = &self.raw[self.raw_at..];
            // No further than to the place: a text of many edits is gone through once.
            let ahead = rest.len().min(text_target - self.text_at);
            let plain = memchr::memchr(b'\\', &rest.as_bytes()[..ahead]).unwrap_or(ahead);
            if plain > 0 {
                self.raw_at += plain;
                self.text_at += plain;
            } else if rest.is_empty() {
                break;
            } else {
                let (character, length) = decode_escape(rest);
                self.raw_at += length;
                self.text_at += character.len_utf8();
            }
        }
        self.raw_at
    }
}

/// The same as [`lift`] for a body that is no JSON, shown with each invalid byte sequence as U+FFFD.
pub(crate) fn lift_lossy(raw: &[u8], splices: &[Splice]) -> Vec<Splice> {
    let mut boundaries = raw.utf8_chunks().flat_map(|chunk| {
        let invalid = chunk.invalid().len();
        chunk
            .valid()
            .chars()
            .map(|character| (character.len_utf8(), character.len_utf8()))
            .chain((invalid > 0).then_some((char::REPLACEMENT_CHARACTER.len_utf8(), invalid)))
    });
    let (mut text_at, mut raw_at) = (0, 0);
    let mut advance_to = |target: usize| {
        while text_at < target {
            let Some((text_step, raw_step)) = boundaries.next() else { break };
            text_at += text_step;
            raw_at += raw_step;
        }
        raw_at
    };
    splices
        .iter()
        .map(|splice| Splice {
            at: advance_to(splice.at.start)..advance_to(splice.at.end),
            with: splice.with.clone(),
            label: splice.label.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn unescape_reads_every_escape() {
        assert_eq!(unescape(r#"a\"\\\/\b\f\n\r\tz"#), "a\"\\/\u{8}\u{c}\n\r\tz");
        assert_eq!(unescape(r"\u0041\u00e9\ud83d\ude00"), "A\u{e9}\u{1f600}");
    }

    #[test]
    fn lone_surrogates_are_replacement_characters() {
        assert_eq!(unescape(r"a\udeaab"), "a\u{fffd}b");
        assert_eq!(unescape(r"\ud83d\u0041"), "\u{fffd}A");
        assert_eq!(unescape(r"\ud83d\ud83d\ude00"), "\u{fffd}\u{1f600}");
    }

    proptest! {
        /// Whatever stands where a block ends: escapes of every length, characters of every length.
        #[test]
        fn a_text_is_decoded_like_its_pieces(pieces in prop::collection::vec(
            prop::sample::select(vec![
                "a", "some words in a row", "\u{e9}", "\u{20ac}", "\u{1f600}", r"\n", r"\\", r"\u0041", r"\u20ac",
                r"\ud83d\ude00", r"\ud83d", "\\\u{e9}",
            ]),
            0..60,
        )) {
            // A lone surrogate joins with none that follows.
            let pieces: Vec<&str> = pieces.into_iter().flat_map(|piece| [piece, "-"]).collect();
            let apart: String = pieces.iter().map(|piece| unescape(piece)).collect();
            prop_assert_eq!(unescape(&pieces.concat()), apart);
        }
    }

    proptest! {
        /// An escape and a byte at a time, whatever stands where: rows of backslashes, and what the scanner refuses.
        #[test]
        fn a_text_is_decoded_as_it_is_slowly(raw in "([a-z]{1,70}|[\u{e9}\u{20ac}\u{1f600}]|\\\\[nrtbf/\"\\\\u\u{0}]|\\\\{1,70}|\\\\u[0-9a-f]{4}|\\\\ud83d\\\\ude00|n|u){0,60}") {
            let (mut slowly, mut rest) = (String::new(), &*raw);
            while let Some(character) = rest.chars().next() {
                let (means, length) =
                    if character == '\\' { decode_escape(rest) } else { (character, character.len_utf8()) };
                slowly.push(means);
                rest = &rest[length..];
            }
            prop_assert_eq!(unescape(&raw), slowly);
        }
    }

    #[test]
    fn escape_gives_back_the_text() {
        let text =
            "quote \" backslash \\ newline \n nul \0 bell \u{7} line separator \u{2028} emoji \u{1f600}";
        assert_eq!(unescape(&escape(text)), text);
    }

    #[test]
    fn lift_keeps_foreign_spellings() {
        let raw = r"\u0041\/secret\udeaa\n";
        let text = unescape(raw);
        let start = text.find("secret").unwrap();
        let lifted = lift(raw, &[Splice { at: start..start + 6, with: "\"x\"".into(), label: None }]);
        assert_eq!(lifted, [Splice { at: 8..14, with: "\\\"x\\\"".into(), label: None }]);
    }

    #[test]
    fn lift_lossy_steps_over_invalid_bytes() {
        let raw = b"a\xff\xfeb";
        let text = String::from_utf8_lossy(raw);
        let at = text.find('b').unwrap();
        assert_eq!(lift_lossy(raw, &[Splice { at: at..at + 1, with: "c".into(), label: None }])[0].at, 3..4);
    }
}

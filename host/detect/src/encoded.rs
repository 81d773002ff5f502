//! Encoded stretches of a text: base64, hexadecimal digits and data URLs that spell text again.
//!
//! Nothing is decoded for its own sake: a stretch counts where its first bytes already are text, so pictures, signatures, hashes and
//! identifiers cost one look at sixteen characters. What is decoded is cut where it stops being text, because a stretch may be glued to
//! what stands behind it. Both alphabets of base64 are read, with or without padding, over the line breaks of MIME and PEM.
//!
//! Linear: a long run is looked for from its twentieth character backwards, and a decoder that meets no more text stops within one block. What comes
//! out is shorter than what went in, so decoding the outcome once more costs less than the first time.

use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

/// Shorter runs of the alphabet are words. A key of twenty characters is 27 in base64, a card number 22.
const LEAST: usize = 20;

/// As many hexadecimal digits as sixteen characters of text need; shorter ones name colours and commits.
const LEAST_HEX: usize = 32;

/// Characters that are looked at before anything is decoded: twelve bytes are text by chance once in thirty thousand times.
const HEAD: usize = 16;

/// Characters that are decoded at a time.
const BLOCK: usize = 64;

/// Bytes of text that a stretch must spell to count.
const LEAST_TEXT: usize = 12;

const SCHEME: &str = "data:";

/// Longest media type of a data URL, parameters included.
const LONGEST_TYPE: usize = 128;

/// One control character among so many others is still text.
const CONTROLS: usize = 8;

/// How a stretch is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Base64 in either alphabet.
    Base64,
    /// Hexadecimal digits.
    Hex,
    /// A data URL, in base64 or percent-encoded.
    DataUrl,
}

impl Encoding {
    /// The name used in reports, to be read behind "in".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Hex => "hexadecimal digits",
            Self::DataUrl => "a data URL",
        }
    }
}

/// A stretch that spells text. `Debug` prints lengths only.
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded {
    /// How.
    pub encoding: Encoding,
    /// Where its encoded form lies in the text that it was found in.
    pub range: Range<usize>,
    /// What it spells.
    pub text: String,
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in {:?} at {:?}", self.text.len(), self.encoding, self.range)
    }
}

/// Finds every encoded stretch of a text, in order.
pub fn encoded(text: &str) -> Vec<Encoded> {
    if text.len() < SCHEME.len() + 2 {
        return Vec::new();
    }
    let mut found = DataUrls::of(text).all();
    let urls: Vec<Range<usize>> = found.iter().map(|url| url.range.clone()).collect();
    let mut urls = urls.into_iter().peekable();
    let mut done = 0;
    each_run(text.as_bytes(), |run| {
        while urls.next_if(|url| url.end <= run.start).is_some() {}
        let inside_url = urls.peek().is_some_and(|url| url.start <= run.start);
        let from = run.start.max(done);
        if !inside_url && from + LEAST <= run.end {
            done = stretches(text.as_bytes(), from..run.end, &mut found);
        }
    });
    found.sort_by_key(|stretch| stretch.range.start);
    found
}

/// Reads a text that is encoded as a whole, as media is: nothing but its first bytes decides.
pub fn encoded_whole(text: &str) -> Option<Encoded> {
    let start = text.len() - text.trim_start().len();
    match text[start..].starts_with(SCHEME) {
        true => DataUrls::of(text).at(start),
        false => base64(text.as_bytes(), start, LEAST_TEXT).map(|found| found.stretch),
    }
}

/// What a byte is to the two alphabets.
mod class {
    pub(super) const BASE64: u8 = 0b001;
    pub(super) const HEX: u8 = 0b010;
    /// One of the alphabets' signs, which in other texts stand between words.
    pub(super) const SIGN: u8 = 0b100;
}

const CLASS: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let it = byte as u8;
        if it.is_ascii_alphanumeric() {
            classes[byte] |= class::BASE64;
        }
        if it.is_ascii_hexdigit() {
            classes[byte] |= class::HEX;
        }
        if matches!(it, b'+' | b'/' | b'-' | b'_') {
            classes[byte] |= class::BASE64 | class::SIGN;
        }
        byte += 1;
    }
    classes
};

fn is(byte: u8, class: u8) -> bool {
    CLASS[usize::from(byte)] & class != 0
}

/// Calls `f` with each run of [`LEAST`] or more characters of the alphabet.
fn each_run(bytes: &[u8], mut f: impl FnMut(Range<usize>)) {
    // A run that begins at `start` or later is looked at from its twentieth character backwards: whatever is none lies before it.
    let mut start = 0;
    while start + LEAST <= bytes.len() {
        let window = &bytes[start..start + LEAST];
        if let Some(none) = window.iter().rposition(|&b| !is(b, class::BASE64)) {
            start += none + 1;
            continue;
        }
        let rest = &bytes[start + LEAST..];
        let more = rest.iter().position(|&b| !is(b, class::BASE64)).unwrap_or(rest.len());
        let end = start + LEAST + more;
        f(behind_escape(bytes, start)..end);
        start = end + 1;
    }
}

/// Texts quote texts: the letter of `\n` and the digits of `%2F` or `\u0026` belong to the escape.
fn behind_escape(bytes: &[u8], start: usize) -> usize {
    match (start.checked_sub(1).map(|before| bytes[before]), bytes[start]) {
        (Some(b'\\'), b'n' | b'r' | b't') => start + 1,
        (Some(b'\\'), b'u') => start + "u0026".len(),
        (Some(b'%'), _) => start + 2,
        _ => start,
    }
}

/// Adds each stretch of a run: from its beginning, or from behind a sign on. Gives where to go on.
fn stretches(bytes: &[u8], run: Range<usize>, found: &mut Vec<Encoded>) -> usize {
    let mut from = run.start;
    while from + LEAST <= run.end {
        let mut behind = from + 1;
        if let Some(decoded) = hex(bytes, from).or_else(|| base64(bytes, from, LEAST_TEXT)) {
            behind = behind.max(decoded.resume);
            found.push(decoded.stretch);
        }
        from = (behind..run.end).find(|&at| is(bytes[at - 1], class::SIGN)).unwrap_or(behind.max(run.end));
    }
    from
}

/// A stretch, and from where on another may begin: what follows it in the same run may be glued to it.
struct Decoded {
    stretch: Encoded,
    resume: usize,
}

fn hex(bytes: &[u8], from: usize) -> Option<Decoded> {
    let head = bytes.get(from..from + LEAST_HEX)?;
    if !head.iter().all(|&byte| is(byte, class::HEX)) {
        return None;
    }
    // A digit of something else may stand before the first pair.
    (from..from + 2).find_map(|from| decode(Digits { bytes, at: from }, Encoding::Hex, LEAST_TEXT))
}

fn base64(bytes: &[u8], from: usize, least: usize) -> Option<Decoded> {
    decode(Sextets { bytes, at: from, line: from }, Encoding::Base64, least)
}

/// Something that gives bytes a block at a time.
trait Source {
    /// Appends what the next `characters` spell; `false` where the stretch ends.
    fn block(&mut self, characters: usize, out: &mut Vec<u8>) -> bool;

    /// How far it has read.
    fn at(&self) -> usize;
}

/// Decodes as long as text comes out, if at least `least` bytes of it do.
fn decode(mut source: impl Source, encoding: Encoding, least: usize) -> Option<Decoded> {
    let start = source.at();
    let mut out = Vec::with_capacity(BLOCK);
    let mut text = Prefix::default();
    let mut resume = start;
    let mut goes_on = source.block(HEAD, &mut out) && text.extend(&out);
    if !goes_on && !text.extend(&out) {
        return None;
    }
    while goes_on {
        resume = source.at();
        let more = source.block(BLOCK, &mut out);
        goes_on = text.extend(&out) && more;
    }
    if !text.broken {
        resume = source.at();
    }
    out.truncate(text.checked);
    let text = String::from_utf8(out).ok().filter(|text| text.len() >= least)?;
    Some(Decoded { stretch: Encoded { encoding, range: start..source.at(), text }, resume })
}

/// How much of some bytes is text.
#[derive(Default)]
struct Prefix {
    checked: usize,
    controls: usize,
    broken: bool,
}

impl Prefix {
    /// Looks at what was added; `true` where all of it is text, but for a character that is not complete yet.
    fn extend(&mut self, out: &[u8]) -> bool {
        let new = &out[self.checked..];
        let valid = match std::str::from_utf8(new) {
            Ok(_) => new.len(),
            Err(error) => {
                self.broken = error.error_len().is_some();
                error.valid_up_to()
            }
        };
        let is_control =
            |byte: &&u8| (**byte < b' ' && !matches!(**byte, b'\t' | b'\n' | b'\r')) || **byte == 0x7f;
        let controls = self.controls + new[..valid].iter().filter(is_control).count();
        if controls * CONTROLS > self.checked + valid {
            self.broken = true;
            return false;
        }
        self.controls = controls;
        self.checked += valid;
        !self.broken
    }
}

/// Base64, over line breaks.
struct Sextets<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the present line begins.
    line: usize,
}

impl Source for Sextets<'_> {
    fn block(&mut self, characters: usize, out: &mut Vec<u8>) -> bool {
        let (mut bits, mut held) = (0u32, 0u32);
        // Blocks are whole groups of four, so none leaves bits to the next.
        for _ in 0..characters {
            let Some(six) = self.next() else { return false };
            bits = bits << 6 | u32::from(six);
            held += 6;
            if held >= 8 {
                held -= 8;
                out.push((bits >> held) as u8);
            }
        }
        true
    }

    fn at(&self) -> usize {
        self.at
    }
}

impl Sextets<'_> {
    fn next(&mut self) -> Option<u8> {
        let mut at = self.at;
        if matches!(self.bytes.get(at), Some(b'\r' | b'\n')) {
            at = self.next_line()?;
            self.line = at;
        }
        let six = sextet(*self.bytes.get(at)?)?;
        self.at = at + 1;
        Some(six)
    }

    /// Lines are broken at the same width, which is never a short one; the next may be indented.
    fn next_line(&self) -> Option<usize> {
        if self.at - self.line < LEAST {
            return None;
        }
        let rest = &self.bytes[self.at..];
        let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
        let rest = rest.strip_prefix(b"\n")?;
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        is(*rest.get(blanks)?, class::BASE64).then(|| self.bytes.len() - rest.len() + blanks)
    }
}

fn sextet(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Hexadecimal digits in pairs.
struct Digits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Source for Digits<'_> {
    fn block(&mut self, characters: usize, out: &mut Vec<u8>) -> bool {
        for _ in 0..characters / 2 {
            let pair = self.bytes.get(self.at..self.at + 2).and_then(|pair| hex_byte(pair[0], pair[1]));
            let Some(byte) = pair else { return false };
            out.push(byte);
            self.at += 2;
        }
        true
    }

    fn at(&self) -> usize {
        self.at
    }
}

fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

/// Data URLs (RFC 2397) anywhere in a text, of which each line is read once.
struct DataUrls<'a> {
    text: &'a str,
    /// The last end that was looked for: where a URL on its line would end.
    end: usize,
    /// The last percent sign that was looked for.
    percent: usize,
}

impl<'a> DataUrls<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, end: 0, percent: 0 }
    }

    fn all(mut self) -> Vec<Encoded> {
        let mut found: Vec<Encoded> = Vec::new();
        // Built once: for most texts the search is shorter than its preparation.
        static FINDER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(SCHEME));
        for at in FINDER.find_iter(self.text.as_bytes()) {
            if found.last().is_none_or(|url| url.range.end <= at) {
                found.extend(self.at(at));
            }
        }
        found
    }

    /// The data URL at a place, where it spells text in another way than by itself.
    fn at(&mut self, at: usize) -> Option<Encoded> {
        let bytes = self.text.as_bytes();
        let start = at + SCHEME.len();
        let in_type = |byte: u8| byte.is_ascii_alphanumeric() || b"/;=+-._ ".contains(&byte);
        let length = bytes[start..].iter().take(LONGEST_TYPE).position(|&byte| !in_type(byte))?;
        let payload = start + length + 1;
        // A field of an event stream or of YAML: `data: one, two`.
        if bytes[payload - 1] != b',' || bytes[start] == b' ' {
            return None;
        }
        let found = |text, range| Some(Encoded { encoding: Encoding::DataUrl, range, text });
        let in_base64 = bytes[start..payload - 1].to_ascii_lowercase().ends_with(b";base64");
        if in_base64 && let Some(decoded) = base64(bytes, payload, 1) {
            return found(decoded.stretch.text, decoded.stretch.range);
        }
        let end = self.end_of_line(payload);
        if self.percent_from(payload) >= end {
            return None;
        }
        let plain = percent_decoded(&bytes[payload..end]);
        // The signs of base64 may be percent-encoded themselves.
        let inner = if in_base64 { base64(&plain, 0, 1) } else { None };
        match inner {
            Some(decoded) => found(decoded.stretch.text, payload..end),
            None => found(String::from_utf8_lossy(&plain).into_owned(), payload..end),
        }
    }

    /// Blanks do not end it: they are written without an escape often enough.
    fn end_of_line(&mut self, from: usize) -> usize {
        if self.end < from {
            let bytes = self.text.as_bytes();
            let ends = |byte: &u8| matches!(byte, b'\n' | b'\r' | b'"' | b'<' | b'>' | b'`' | b'\\');
            self.end = bytes[from..].iter().position(ends).map_or(bytes.len(), |n| from + n);
        }
        self.end
    }

    fn percent_from(&mut self, from: usize) -> usize {
        if self.percent < from {
            let bytes = self.text.as_bytes();
            self.percent = memchr::memchr(b'%', &bytes[from..]).map_or(bytes.len(), |n| from + n);
        }
        self.percent
    }
}

/// Undoes `%41`.
fn percent_decoded(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, behind)) = rest.split_first() {
        match (byte, behind) {
            (b'%', [high, low, behind @ ..]) if hex_byte(*high, *low).is_some() => {
                plain.extend(hex_byte(*high, *low));
                rest = behind;
            }
            _ => {
                plain.push(byte);
                rest = behind;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    const WORDS: &str = "a host, a user and what both of them share";

    fn to_base64(text: &[u8], alphabet: &[u8; 64], pad: bool) -> String {
        let mut out = String::new();
        for group in text.chunks(3) {
            let bits =
                group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
            for place in 0..4 {
                match place <= group.len() {
                    true => out.push(char::from(alphabet[(bits >> (18 - 6 * place)) as usize & 63])),
                    false if pad => out.push('='),
                    false => {}
                }
            }
        }
        out
    }

    const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    fn to_hex(text: &str) -> String {
        text.bytes().map(|byte| format!("{byte:02x}")).collect()
    }

    fn to_percent(text: &str) -> String {
        text.bytes().map(|byte| format!("%{byte:02X}")).collect()
    }

    fn wrapped(text: &str, width: usize, line_break: &str) -> String {
        let lines: Vec<&str> =
            text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
        lines.join(line_break)
    }

    /// Every form in which a text may be written.
    fn forms(text: &str) -> Vec<(&'static str, String)> {
        let plain = to_base64(text.as_bytes(), STANDARD, true);
        vec![
            ("base64", plain.clone()),
            ("base64 without padding", to_base64(text.as_bytes(), STANDARD, false)),
            ("base64 for URLs", to_base64(text.as_bytes(), URL, true)),
            ("base64 for URLs without padding", to_base64(text.as_bytes(), URL, false)),
            ("base64 in lines", wrapped(&plain, 64, "\n")),
            ("base64 in lines of Windows, indented", wrapped(&plain, 24, "\r\n    ")),
            ("hexadecimal", to_hex(text)),
            ("hexadecimal in capitals", to_hex(text).to_uppercase()),
            ("data URL", format!("data:text/plain;charset=utf-8;base64,{plain}")),
            ("data URL without a type", format!("data:;base64,{plain}")),
            ("data URL of an image", format!("data:image/svg+xml;base64,{plain}")),
            ("percent-encoded data URL", format!("data:text/plain,{}", to_percent(text))),
            (
                "data URL with percent-encoded signs",
                format!("data:text/plain;base64,{}", plain.replace('=', "%3D")),
            ),
        ]
    }

    #[test]
    fn a_text_is_found_in_every_encoding_and_position() {
        for words in [WORDS, "{\"key\": \"é🔑, ~~~???>>>\"}", "exactly sixteen!"] {
            for (form, text) in forms(words) {
                for (before, after) in [
                    ("", ""),
                    ("see ", " there"),
                    ("x=", ";"),
                    ("\"", "\""),
                    ("a/b/", ""),
                    (r"\n", r"\n"),
                    ("+", ""),
                ] {
                    let whole = format!("{before}{text}{after}");
                    let found = encoded(&whole);
                    let spelled: Vec<&str> = found.iter().map(|stretch| stretch.text.as_str()).collect();
                    assert!(
                        spelled.iter().any(|spelled| spelled.starts_with(words)),
                        "{form} in {whole}: {spelled:?}"
                    );
                }
                assert_eq!(encoded_whole(&text).is_some(), !form.starts_with("hex"), "{form}");
            }
        }
    }

    #[test]
    fn the_range_covers_the_encoded_form() {
        let form = to_base64(WORDS.as_bytes(), STANDARD, false);
        let text = format!("kept {form} kept");
        let found = encoded(&text);
        assert_eq!(found.len(), 1);
        assert_eq!(text[found[0].range.clone()], form);
    }

    #[test]
    fn two_stretches_glued_by_a_sign_are_both_found() {
        let first = to_base64(b"the first of two texts", STANDARD, false);
        let second = to_base64(b"and then the second one", STANDARD, false);
        for sign in ['/', '-', '.', ','] {
            let spelled: Vec<String> =
                encoded(&format!("{first}{sign}{second}")).into_iter().map(|stretch| stretch.text).collect();
            assert!(
                spelled.iter().any(|text| text.starts_with("the first of two texts")),
                "{sign} {spelled:?}"
            );
            assert!(spelled.iter().any(|text| text == "and then the second one"), "{sign} {spelled:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_not_decoded() {
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0x9a; 400]].concat();
        for text in [
            to_base64(&png, STANDARD, true),
            format!("data:image/png;base64,{}", to_base64(&png, STANDARD, true)),
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904".to_owned(),
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
            "/usr/local/lib/python3/dist-packages/acceptance_timeout".to_owned(),
            "AcceptanceTimeoutSecondsOfTheWholeRequestHandlerFactory".to_owned(),
            "a-kebab-case-name-that-goes-on-and-on-for-a-long-while".to_owned(),
            "data: one, two 50%41".to_owned(),
            "plain words, 100% of them".to_owned(),
        ] {
            assert_eq!(encoded(&text), [], "{text}");
            assert_eq!(encoded_whole(&text), None, "{text}");
        }
    }

    #[test]
    fn a_megabyte_of_beginnings_costs_no_more_than_a_second() {
        let almost = to_base64(b"text for a while, and then \xff\xff\xff", STANDARD, false);
        for part in [
            "data:,",
            "data:;base64,",
            "data:,%41",
            "data:;base64,%41",
            "%",
            "data:%",
            "AAAA/",
            "YWFh",
            "61",
            "YWFh\n",
            "+YWFhYWFhYWFhYWFhYWFh",
            "YWFhYWFhYWFhYWFhYWFhYWFhYWFh\n",
            &almost,
            &format!("/{almost}"),
        ] {
            let text = part.repeat((1 << 20) / part.len());
            let start = Instant::now();
            let found = encoded(&text);
            // Builds without optimisation are ten times slower; a quadratic one would take minutes.
            assert!(start.elapsed() < Duration::from_secs(5), "{part:?}: {:?}", start.elapsed());
            let spelled: usize = found.iter().map(|stretch| stretch.text.len()).sum();
            assert!(spelled <= text.len() * 2, "{part:?} spells {spelled} bytes");
        }
    }

    proptest! {
        #[test]
        fn any_text_between_any_words_is_found(
            before in "[ a-z.,:;=\"]{0,30}[ =:\"]", words in "[ -~]{24,200}", after in "[ ,;\"][ -~]{0,30}", form in 0usize..13
        ) {
            let (name, text) = forms(&words).swap_remove(form);
            let whole = format!("{before}{text}{after}");
            let spelled: Vec<String> = encoded(&whole).into_iter().map(|stretch| stretch.text).collect();
            prop_assert!(spelled.iter().any(|text| text.starts_with(&words)), "{name}: {spelled:?} in {whole}");
        }

        #[test]
        fn no_text_makes_it_fail(text in "(\\PC|data:|%|[A-Za-z0-9+/_=-]{4,40}|\n|[0-9a-f]{30,40}){0,20}") {
            for stretch in encoded(&text).into_iter().chain(encoded_whole(&text)) {
                prop_assert!(stretch.range.start < stretch.range.end && stretch.range.end <= text.len());
                prop_assert!(!stretch.text.is_empty());
            }
        }
    }
}

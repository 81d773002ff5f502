//! Data URLs (RFC 2397), in base64 or percent-encoded.

use std::sync::LazyLock;

use memchr::memmem;

use super::source::{base64, hex_byte};
use super::{Encoded, Encoding};

pub(super) const SCHEME: &str = "data:";

/// Longest media type of a data URL, parameters included.
const LONGEST_TYPE: usize = 128;

/// The data URLs of a text, of which each line is read once.
pub(super) struct DataUrls<'a> {
    text: &'a str,
    /// The last end that was looked for: where a URL on its line would end.
    end: usize,
    /// The last percent sign that was looked for.
    percent: usize,
}

impl<'a> DataUrls<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, end: 0, percent: 0 }
    }

    pub(super) fn all(mut self) -> Vec<Encoded> {
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
    pub(super) fn at(&mut self, at: usize) -> Option<Encoded> {
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

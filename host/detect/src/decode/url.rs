//! Data URLs (RFC 2397), in base64 or percent-encoded.

use std::sync::LazyLock;

use memchr::memmem;
use percent_encoding::percent_decode;

use super::source::base64;
use super::{Block, Encoding};

pub(super) const SCHEME: &str = "data:";

/// Longest media type of a data URL, parameters included.
const LONGEST_TYPE: usize = 128;

/// Finds the data URLs in base64 of a text, in order. Percent-encoded ones are percent-encoding
/// like any other.
pub(super) fn data_urls(text: &str) -> Vec<Block> {
    // Built once: for most texts the search is shorter than its preparation.
    static FINDER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(SCHEME));
    let mut found: Vec<Block> = Vec::new();
    for at in FINDER.find_iter(text.as_bytes()) {
        if found.last().is_none_or(|url| url.range.end <= at) {
            found.extend(payload(text, at).and_then(|payload| in_base64(text, &payload)));
        }
    }
    found
}

/// Reads the data URL that a text begins with at `at`, where it spells text in another way than by
/// itself.
pub(super) fn whole(text: &str, at: usize) -> Option<Block> {
    let payload = payload(text, at)?;
    in_base64(text, &payload).or_else(|| in_percents(text, &payload))
}

/// Where a data URL's payload begins.
struct UrlPayload {
    start: usize,
    in_base64: bool,
}

fn payload(text: &str, at: usize) -> Option<UrlPayload> {
    let bytes = text.as_bytes();
    let kind = at + SCHEME.len();
    let in_kind = |byte: u8| byte.is_ascii_alphanumeric() || b"/;=+-._ ".contains(&byte);
    let length = bytes[kind..].iter().take(LONGEST_TYPE).position(|&byte| !in_kind(byte))?;
    let start = kind + length + 1;
    // A field of an event stream or of YAML: `data: one, two`.
    if bytes[start - 1] != b',' || bytes[kind] == b' ' {
        return None;
    }
    let in_base64 = bytes[kind..start - 1].to_ascii_lowercase().ends_with(b";base64");
    Some(UrlPayload { start, in_base64 })
}

fn in_base64(text: &str, payload: &UrlPayload) -> Option<Block> {
    let decoded = payload.in_base64.then(|| base64(text.as_bytes(), payload.start, 1))??;
    Some(Block { encoding: Encoding::DataUrl, ..decoded.stretch })
}

/// Reads up to where the URL ends. Blanks do not end it: they are written without an escape often
/// enough.
fn in_percents(text: &str, payload: &UrlPayload) -> Option<Block> {
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r' | b'"' | b'<' | b'>' | b'`' | b'\\');
    let rest = &text.as_bytes()[payload.start..];
    let rest = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    if !rest.contains(&b'%') {
        return None;
    }
    let plain: Vec<u8> = percent_decode(rest).collect();
    // The signs of base64 may be percent-encoded themselves.
    let inner = if payload.in_base64 { base64(&plain, 0, 1) } else { None };
    let text = match inner {
        Some(decoded) => decoded.stretch.text,
        None => String::from_utf8_lossy(&plain).into_owned(),
    };
    Some(Block { encoding: Encoding::DataUrl, range: payload.start..payload.start + rest.len(), text })
}

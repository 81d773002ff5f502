//! Who may change a leaf, and the rows by which formats say so.
//!
//! A place that no row names is open: rules, plugins and people may change it, and every detector looks at it. Protected and frozen
//! leaves are still looked at, by detectors with a prefix; a finding there cannot be redacted and holds the request.

use base64::Engine as _;
use serde::{Deserialize, Serialize};

use crate::kinds::LeafKind;

/// Who may change a leaf, and who looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Everybody; all detectors look.
    Open,
    /// A person only, since another value changes what the request means to the API. Detectors with a prefix look.
    Protected,
    /// Nobody: the API checks a signature over it. Detectors with a prefix look.
    Frozen,
    /// Nobody: binary media. Not scanned.
    Opaque,
}

/// What a format says about the members of one kind of object. A table without reasons, or with a key twice, does not compile.
pub(crate) struct Table(&'static [Field]);

/// One row: what one member is, who may change it, and why.
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) kind: LeafKind,
    pub(crate) access: Access,
    pub(crate) reason: &'static str,
}

/// A table of rows, each of a key, a kind, an access and a reason.
macro_rules! table {
    ($($key:literal $kind:ident $access:ident $reason:literal;)+) => {
        $crate::project::Table::new(&[$($crate::project::Field {
            key: $key,
            kind: $crate::kinds::LeafKind::$kind,
            access: $crate::project::Access::$access,
            reason: $reason,
        },)+])
    };
}
pub(crate) use table;

impl Table {
    /// Checks the rows while the crate is compiled.
    pub(crate) const fn new(rows: &'static [Field]) -> Self {
        let mut at = 0;
        while at < rows.len() {
            assert!(!rows[at].reason.is_empty(), "a row without a reason");
            let mut before = 0;
            while before < at {
                assert!(!same(rows[before].key.as_bytes(), rows[at].key.as_bytes()), "a key stands twice");
                before += 1;
            }
            at += 1;
        }
        Table(rows)
    }

    /// Returns the row for a member.
    pub(crate) fn field(&self, key: &str) -> Option<&'static Field> {
        self.0.iter().find(|field| field.key == key)
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// First bytes of the media types that may pass unscanned, with their offset in the file.
pub const MEDIA_MAGIC: &[(&str, usize, &[u8])] = &[
    ("image/png", 0, b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", 0, b"\xff\xd8\xff"),
    ("image/gif", 0, b"GIF8"),
    ("image/webp", 8, b"WEBP"),
    ("image/bmp", 0, b"BM"),
    ("image/heic, video/mp4, audio/mp4", 4, b"ftyp"),
    ("audio/wav", 8, b"WAVE"),
    ("audio/mpeg", 0, b"ID3"),
    ("audio/mpeg", 0, b"\xff\xfb"),
    ("audio/mpeg", 0, b"\xff\xf3"),
    ("audio/mpeg", 0, b"\xff\xf2"),
    ("audio/ogg", 0, b"OggS"),
    ("audio/flac", 0, b"fLaC"),
    ("application/pdf", 0, b"%PDF-"),
    ("application/zip (office documents)", 0, b"PK\x03\x04"),
];

/// The media types that a data URL of such a file may name. Anything else there, a parameter too,
/// would be a place in which a value passes unseen.
const MEDIA_TYPES: &[&str] = &[
    "image/png",
    "image/jpeg",
    "image/jpg",
    "image/gif",
    "image/webp",
    "image/bmp",
    "image/heic",
    "image/heif",
    "video/mp4",
    "video/quicktime",
    "audio/mp4",
    "audio/m4a",
    "audio/x-m4a",
    "audio/wav",
    "audio/wave",
    "audio/x-wav",
    "audio/mpeg",
    "audio/mp3",
    "audio/ogg",
    "audio/flac",
    "audio/x-flac",
    "application/pdf",
    "application/zip",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/octet-stream",
];

/// Returns true if and only if a text is base64, bare or in a data URL of a known media type, of a
/// file that begins like one.
pub(crate) fn is_media(text: &str) -> bool {
    let payload = match text.strip_prefix("data:") {
        Some(url) => match url.split_once(";base64,") {
            Some((media_type, payload)) if MEDIA_TYPES.contains(&media_type) => payload,
            _ => return false,
        },
        None => text,
    };
    // The longest magic above ends within the first 16 bytes: 24 characters of base64 hold 18.
    let Some(head) = payload.get(..24) else { return false };
    let Ok(head) = base64::engine::general_purpose::STANDARD.decode(head) else { return false };
    let known = MEDIA_MAGIC.iter().any(|(_, offset, magic)| head[*offset..].starts_with(magic));
    known
        && payload
            .trim_end_matches('=')
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_is_recognised_by_its_first_bytes_alone() {
        let png = base64::engine::general_purpose::STANDARD.encode([MEDIA_MAGIC[0].2, &[0; 40]].concat());
        assert!(is_media(&png));
        assert!(is_media(&format!("data:image/png;base64,{png}")));
        assert!(!is_media(&format!("{png} and a few words")), "text behind the image would pass unseen");
        assert!(!is_media(&format!("data:image/png;name=words,{png}")));
        for hidden in ["image/png;name=words", "image/words", "words", ""] {
            assert!(!is_media(&format!("data:{hidden};base64,{png}")), "{hidden} would pass unseen");
        }
        assert!(!is_media("https://example.com/cat.png?token=abcdefghijkl"));
        let words = base64::engine::general_purpose::STANDARD.encode("plain words, no image at all");
        assert!(!is_media(&words));
    }
}

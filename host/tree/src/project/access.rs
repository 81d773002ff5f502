//! Who may change a leaf, and the rows by which formats say so.
//!
//! A place that no row names is open: rules, plugins and people may change it, and every detector looks at it. Protected and frozen
//! leaves are still looked at, by detectors with a prefix; a finding there cannot be redacted and holds the request.

use serde::{Deserialize, Serialize};

use crate::kinds::LeafKind;
use crate::media::{self, FileKind};

leafgate_words::words! {
    /// Who may change a leaf, and who looks at it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Access {
        /// Everybody; all detectors look.
        Open = "open",
        /// A person only, since another value changes what the request means to the API. Detectors with a prefix look.
        Protected = "protected",
        /// Nobody: the API checks a signature over it. Detectors with a prefix look.
        Frozen = "frozen",
        /// Nobody: binary media. Not scanned.
        Opaque = "opaque",
    }
    /// Its word in JSON.
    pub fn name = 0;
}

/// What a format says about the members of one kind of object. A table without reasons, or with a key twice, does not compile.
pub(crate) struct MemberTable(&'static [MemberRow]);

/// One row: what the members under some keys are, who may change them, why, and what they hold in turn.
pub(crate) struct MemberRow {
    pub(crate) keys: &'static [&'static str],
    /// What the whole subtree is; `None` where that of its parent stays.
    pub(crate) mark: Option<(LeafKind, Access)>,
    pub(crate) reason: &'static str,
    pub(crate) inside: RowInside,
}

/// What else a table says of a member.
pub(crate) enum RowInside {
    /// Nothing.
    Plain,
    /// It is an object with a table of its own.
    Members(&'static MemberTable),
    /// It is a JSON Schema.
    Schema,
}

/// A table of rows. Each has keys, then a kind, an access and a reason; or in their place what the member is: `in` the name of a table, or
/// `schema`.
macro_rules! table {
    (@row [$($key:literal),+] in $table:ident) => {
        $crate::project::table!(@row [$($key),+] None, "an object", Members(&$table))
    };
    (@row [$($key:literal),+] schema) => {
        $crate::project::table!(@row [$($key),+] None, "a JSON Schema", Schema)
    };
    (@row [$($key:literal),+] $kind:ident $access:ident $reason:literal) => {
        $crate::project::table!(@row [$($key),+]
            Some(($crate::kinds::LeafKind::$kind, $crate::project::Access::$access)), $reason, Plain)
    };
    (@row [$($key:literal),+] $mark:expr, $reason:literal, $inside:ident $(($table:expr))?) => {
        $crate::project::MemberRow {
            keys: &[$($key),+],
            mark: $mark,
            reason: $reason,
            inside: $crate::project::RowInside::$inside $(($table))?,
        }
    };
    ($($($key:literal)|+ $what:ident $($more:ident $($reason:literal)?)?;)+) => {
        $crate::project::MemberTable::new(&[
            $($crate::project::table!(@row [$($key),+] $what $($more $($reason)?)?),)+
        ])
    };
}
pub(crate) use table;

impl MemberTable {
    /// Checks the rows while the crate is compiled.
    pub(crate) const fn new(rows: &'static [MemberRow]) -> Self {
        let mut at = 0;
        while at < rows.len() {
            assert!(!rows[at].reason.is_empty(), "a row without a reason");
            let mut key = 0;
            while key < rows[at].keys.len() {
                let mut before = 0;
                while before < at {
                    assert!(!rows[before].has(rows[at].keys[key]), "a key stands twice");
                    before += 1;
                }
                key += 1;
            }
            at += 1;
        }
        MemberTable(rows)
    }

    /// Returns the row for a member.
    pub(crate) fn row(&self, key: &str) -> Option<&'static MemberRow> {
        self.0.iter().find(|row| row.keys.contains(&key))
    }
}

impl MemberRow {
    const fn has(&self, key: &str) -> bool {
        let mut at = 0;
        while at < self.keys.len() {
            if same(self.keys[at].as_bytes(), key.as_bytes()) {
                return true;
            }
            at += 1;
        }
        false
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

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
    "audio/webm",
    "video/webm",
    "application/pdf",
    "application/zip",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/octet-stream",
];

/// Returns what the file is that a text spells in base64, bare or in a data URL of a known media type,
/// and nothing else; `None` where it is no file or one of text.
pub(crate) fn file(text: &str) -> Option<FileKind> {
    let payload = match text.strip_prefix("data:") {
        Some(url) => match url.split_once(";base64,") {
            Some((media_type, payload)) if MEDIA_TYPES.contains(&media_type) => payload,
            _ => return None,
        },
        None => text,
    };
    let kind = FileKind::of(&media::head(payload)?);
    let is_whole = payload
        .trim_end_matches('=')
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    (is_whole && kind != FileKind::Text).then_some(kind)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;

    use super::*;

    #[test]
    fn media_is_recognised_by_its_first_bytes_alone() {
        let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        let png = encode(&[b"\x89PNG\r\n\x1a\n", &[0; 40][..]].concat());
        let is_media = |text: &str| file(text) == Some(FileKind::Media);
        assert!(is_media(&png));
        assert!(is_media(&format!("data:image/png;base64,{png}")));
        assert!(!is_media(&format!("{png} and a few words")), "text behind the image would pass unseen");
        assert!(!is_media(&format!("data:image/png;name=words,{png}")));
        for hidden in ["image/png;name=words", "image/words", "words", ""] {
            assert!(!is_media(&format!("data:{hidden};base64,{png}")), "{hidden} would pass unseen");
        }
        assert_eq!(file("https://example.com/cat.png?token=abcdefghijkl"), None);
        assert_eq!(file(&encode(b"plain words, no image at all")), None);
        assert_eq!(file(&encode(b"%PDF-1.7\n and nothing to read")), Some(FileKind::Packed("a PDF")));
        assert_eq!(file(&encode(&[0xfe; 40])), Some(FileKind::Unknown));
    }
}

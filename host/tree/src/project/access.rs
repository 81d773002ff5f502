//! Who may change a leaf, and the rows by which formats say so.
//!
//! A place that no row names is open: rules, plugins and people may change it, and every detector looks at it. Protected and frozen
//! leaves are still looked at, by detectors with a prefix; a finding there cannot be redacted and holds the request.

use serde::{Deserialize, Serialize};

use crate::kinds::LeafKind;
use crate::media::{self, FileKind};

leafgate_words::words! {
    /// Who may change a leaf, and who looks at it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Access {
        /// Everybody; all detectors look.
        #[default]
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

/// What a format says about the members of one kind of object, by their keys. A row without a reason, or a key that stands twice, does
/// not compile.
pub(crate) struct MemberTable(pub(crate) fn(&str) -> Option<MemberRow>);

/// What a table says of a member.
#[derive(Clone, Copy)]
pub(crate) enum MemberRow {
    /// What all of it is, and who may change it.
    Leaves(LeafKind, Access),
    /// It is an object with a table of its own.
    Object(&'static MemberTable),
    /// It is a JSON Schema.
    Schema,
}

/// A table of rows. Each has keys, then a kind, an access and a reason; or in their place what the member is: `in` the name of a table, or
/// `schema`.
macro_rules! table {
    (@row $kind:ident $access:ident "") => { compile_error!("a row without a reason") };
    (@row in $table:ident) => { $crate::project::MemberRow::Object(&$table) };
    (@row schema) => { $crate::project::MemberRow::Schema };
    (@row $kind:ident $access:ident $reason:literal) => {
        $crate::project::MemberRow::Leaves($crate::kinds::LeafKind::$kind, $crate::project::Access::$access)
    };
    ($($($key:literal)|+ $what:ident $($more:ident $($reason:literal)?)?;)+) => {{
        #[deny(unreachable_patterns, reason = "a key stands twice")]
        fn row(key: &str) -> Option<$crate::project::MemberRow> {
            Some(match key {
                $($($key)|+ => $crate::project::table!(@row $what $($more $($reason)?)?),)+
                _ => return None,
            })
        }
        $crate::project::MemberTable(row)
    }};
}
pub(crate) use table;

/// The media types that a data URL of such a file may name. Anything else there, a parameter too,
/// would be a place in which a value passes unseen.
const MEDIA_TYPES: &str = include_str!("media-types.txt");

/// Returns what the file is that a text spells in base64, bare or in a data URL of a known media type,
/// and nothing else; `None` where it is no file or one of text.
pub(crate) fn file(text: &str) -> Option<FileKind> {
    let payload = match text.strip_prefix("data:") {
        Some(url) => match url.split_once(";base64,") {
            Some((media_type, payload)) if MEDIA_TYPES.lines().any(|known| known == media_type) => payload,
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
        assert!(matches!(
            file(&encode(b"%PDF-1.7\n and nothing to read")),
            Some(FileKind::Packed("a PDF", _))
        ));
        assert_eq!(file(&encode(&[0xfe; 40])), Some(FileKind::Unknown));
    }
}

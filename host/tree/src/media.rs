//! What a file is by its first bytes, whatever it is called: media, which says nothing as text, or
//! one that would have to be unpacked before anybody can look into it.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// What the first bytes of a file say that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Text, as far as they go.
    Text,
    /// A picture, a sound or a film.
    Media,
    /// One whose text is packed: what it is, with an article, and how, where that can be read.
    Packed(&'static str, Option<PackedFormat>),
    /// No kind that is known, and no text.
    Unknown,
}

/// How the text of a file is packed, where somebody reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackedFormat {
    /// PDF.
    Pdf,
    /// Zip, as archives and as office documents.
    Zip,
    /// Gzip.
    Gzip,
    /// Tar.
    Tar,
}

/// Of a file in base64, so many characters say what it is: tar archives do behind 257 bytes.
const HEAD: usize = 352;

/// Where a tar archive says what it is (POSIX ustar).
const USTAR: usize = 257;

/// Files whose text is packed, by their first bytes.
const PACKED: &[(&[u8], &str, Option<PackedFormat>)] = &[
    (b"%PDF-", "a PDF", Some(PackedFormat::Pdf)),
    (b"PK\x03\x04", "an archive or an office document", Some(PackedFormat::Zip)),
    (b"PK\x05\x06", "an archive", Some(PackedFormat::Zip)),
    (b"PK\x07\x08", "an archive", None),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an office document", None),
    (b"\x1f\x8b\x08", "a gzip file", Some(PackedFormat::Gzip)),
    (b"BZh91AY&SY", "a bzip2 file", None),
    (b"\xfd7zXZ\0", "an xz file", None),
    (b"7z\xbc\xaf\x27\x1c", "an archive", None),
    (b"Rar!\x1a\x07", "an archive", None),
    (b"\x28\xb5\x2f\xfd", "a zstd file", None),
];

/// Media that their first bytes tell.
const MEDIA: [&[u8]; 7] =
    [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"fLaC", b"OggS", b"\x1a\x45\xdf\xa3"];

/// How a string may begin that spells a packed file in base64: what of its first bytes is decided
/// whatever follows them.
const IN_BASE64: [&[u8; 4]; 11] =
    [b"JVBE", b"UEsD", b"UEsF", b"UEsH", b"0M8R", b"H4sI", b"Qlpo", b"/Td6", b"N3q8", b"UmFy", b"KLUv"];

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

impl FileKind {
    /// Returns what a file is by its first bytes, or all of them.
    pub fn of(head: &[u8]) -> Self {
        // A tar archive begins with the name of its first file, which may be any of these bytes.
        let is_tar = head.get(USTAR..).is_some_and(|rest| rest.starts_with(b"ustar"));
        let tar = is_tar.then_some(PackedFormat::Tar);
        match PACKED.iter().find(|(magic, ..)| head.starts_with(magic)) {
            Some((_, name, format)) => FileKind::Packed(name, format.or(tar)),
            None if is_tar => FileKind::Packed("an archive", tar),
            None if is_media(head) => FileKind::Media,
            None if is_text(head) => FileKind::Text,
            None => FileKind::Unknown,
        }
    }

    /// Returns what a file is that cannot be looked into as it is, with an article.
    pub fn unread(self) -> Option<&'static str> {
        match self {
            FileKind::Packed(name, _) => Some(name),
            FileKind::Unknown => Some("a file of a kind that is not known"),
            FileKind::Text | FileKind::Media => None,
        }
    }
}

/// Text has no control characters but those of lines and terminals. UTF-16 has: it would be searched
/// in vain. The last character may be cut.
fn is_text(head: &[u8]) -> bool {
    let is_odd = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    let is_utf_8 = std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_utf_8 && !head.iter().any(is_odd)
}

fn is_media(head: &[u8]) -> bool {
    MEDIA.iter().any(|magic| head.starts_with(magic))
        || is_riff(head)
        || is_boxes(head)
        || is_bitmap(head)
        || is_audio(head)
}

/// `RIFF`, a length, the kind of content, and its first chunk.
fn is_riff(head: &[u8]) -> bool {
    let (Some(b"RIFF"), Some(kind), Some(chunk)) = (head.get(..4), head.get(8..12), head.get(12..16)) else {
        return false;
    };
    match kind {
        b"WEBP" => matches!(chunk, b"VP8 " | b"VP8L" | b"VP8X"),
        b"WAVE" => matches!(chunk, b"fmt " | b"JUNK" | b"LIST" | b"bext" | b"fact"),
        b"AVI " => matches!(chunk, b"LIST" | b"JUNK"),
        _ => false,
    }
}

/// A box `ftyp` with its brands, and the box behind it (ISO/IEC 14496-12).
fn is_boxes(head: &[u8]) -> bool {
    const LONGEST: usize = 160;
    let Some((size, rest)) = head.split_first_chunk() else { return false };
    let size = u32::from_be_bytes(*size) as usize;
    if !rest.starts_with(b"ftyp") || !(16..=LONGEST).contains(&size) || !size.is_multiple_of(4) {
        return false;
    }
    let brands = &head[8..head.len().min(size)];
    // A number stands between the first brand and the others.
    let is_brand =
        |(place, brand): (usize, &[u8])| place == 1 || brand.iter().all(|byte| matches!(byte, b' '..=b'~'));
    let next = head.get(size + 4..size + 8);
    let is_known = |kind: &[u8]| {
        let known = [
            b"moov", b"mdat", b"free", b"skip", b"wide", b"meta", b"moof", b"uuid", b"pdin", b"sidx", b"pnot",
        ];
        known.iter().any(|known| *known == kind)
    };
    brands.chunks(4).enumerate().all(is_brand) && next.is_none_or(is_known)
}

/// `BM`, a length, four zeros, and the length of one of the heads that there are.
fn is_bitmap(head: &[u8]) -> bool {
    let length =
        head.get(14..18).and_then(|length| length.first_chunk()).map(|length| u32::from_le_bytes(*length));
    head.starts_with(b"BM")
        && head.get(6..10) == Some(&[0; 4][..])
        && matches!(length, Some(12 | 40 | 52 | 56 | 64 | 108 | 124))
}

/// Tags of ID3, or a frame of MP3 or of AAC in ADTS, which begins with no name. `ff fe`, as UTF-16
/// begins, is neither.
fn is_audio(head: &[u8]) -> bool {
    match *head {
        [b'I', b'D', b'3', version, revision, ..] => matches!(version, 2..=4) && revision < 0x10,
        // Layer III, no reserved version, bit rate or sampling rate.
        [0xff, second, third, ..] if second & 0xe6 == 0xe2 => {
            second & 0x18 != 0x08 && third & 0xf0 != 0xf0 && third & 0x0c != 0x0c
        }
        [0xff, second, ..] => second & 0xf6 == 0xf0,
        _ => false,
    }
}

/// Returns the name of the packed file that a text spells in base64 from its beginning on, bare or in
/// a data URL. `spelled` is how the text stands in the body, and decides for most of them.
pub(crate) fn packed<'t>(
    spelled: &[u8],
    text: impl FnOnce() -> std::borrow::Cow<'t, str>,
) -> Option<&'static str> {
    let may = match spelled {
        [b'd', ..] => spelled.starts_with(b"data:"),
        [b'\\' | b' ', ..] => true,
        [a, b, c, d, ..] => {
            let first = [if *a == b'_' { b'/' } else { *a }, *b, *c, *d];
            IN_BASE64.iter().any(|known| **known == first)
        }
        _ => false,
    };
    if !may {
        return None;
    }
    match FileKind::of(&head(payload(&text())?)?) {
        FileKind::Packed(name, _) => Some(name),
        FileKind::Unknown | FileKind::Text | FileKind::Media => None,
    }
}

/// Returns what a text spells in base64, bare or in a data URL.
fn payload(text: &str) -> Option<&str> {
    let text = text.trim_start();
    match text.starts_with("data:") {
        true => text[..text.floor_char_boundary(HEAD)].find(";base64,").map(|at| &text[at + 8..]),
        false => Some(text),
    }
}

/// Returns all that a text spells in base64, bare or in a data URL; `None` where it says anything besides.
pub(crate) fn decoded(text: &str) -> Option<Vec<u8>> {
    let signs = payload(text)?.trim_end().bytes().filter(|byte| !matches!(byte, b'\r' | b'\n'));
    BASE64.decode(standard(signs)).ok()
}

/// Returns signs of either alphabet of base64 (RFC 4648, 4 and 5) in the first one.
fn standard(signs: impl Iterator<Item = u8>) -> Vec<u8> {
    let in_first = |sign| match sign {
        b'-' => b'+',
        b'_' => b'/',
        sign => sign,
    };
    signs.map(in_first).collect()
}

/// Returns the first bytes of a file that a text spells in base64, bare or in a data URL, of so many characters;
/// `None` where it spells none.
pub fn file_head(text: &str, characters: usize) -> Option<Vec<u8>> {
    first_bytes(payload(text)?, characters)
}

/// Returns what a text in base64 spells at its beginning; `None` where it is none.
pub(crate) fn head(payload: &str) -> Option<Vec<u8>> {
    first_bytes(payload, HEAD)
}

fn first_bytes(payload: &str, characters: usize) -> Option<Vec<u8>> {
    const LEAST: usize = 16;
    let is_sign = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let signs = standard(payload.bytes().take(characters).take_while(is_sign));
    (signs.len() >= LEAST).then(|| BASE64.decode(&signs[..signs.len() & !3]).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::*;

    #[test]
    fn first_bytes_say_what_a_file_is() {
        let media: [&[u8]; 7] = [
            b"\x89PNG\r\n\x1a\n\0",
            b"RIFF\0\0\0\0WAVEfmt \x10\0",
            b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom\0\0\x10\0moov",
            b"\0\0\0 ftypM4A \0",
            b"ID3\x04\0\0\0\0\x01",
            b"\xff\xfb\x90\0",
            b"BM\x36\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0",
        ];
        let tar = [&[0; USTAR][..], b"ustar\x0000"].concat();
        assert_eq!(FileKind::of(&tar), FileKind::Packed("an archive", Some(PackedFormat::Tar)));
        for file in media {
            assert_eq!(FileKind::of(file), FileKind::Media, "{file:?}");
        }
        for text in ["", "whisper-1", "BMW owner", "größer\r\n\x1b[0m", "ID3 and more"] {
            assert_eq!(FileKind::of(text.as_bytes()), FileKind::Text, "{text}");
        }
        assert_eq!(FileKind::of(&"gr\u{f6}".as_bytes()[..3]), FileKind::Text, "a cut character");
    }

    /// P-26: a name of media before anything else made media of it.
    #[test]
    fn what_only_begins_like_media_is_none() {
        let utf_16: Vec<u8> = "\u{feff}key".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for hidden in [&b"\x1f\x8b\x08\0\0\0\0\0"[..], &utf_16] {
            for before in [
                &b"\0\0\0\x10ftyp"[..],
                b"xxxxftyp",
                b"\0\0\0\x10ftypmp42\0\0\0\0",
                b"RIFF\0\0\0\0WAVE",
                b"BM",
            ] {
                let file = [before, hidden].concat();
                assert!(FileKind::of(&file).unread().is_some(), "{file:?}");
            }
        }
    }

    #[test]
    fn a_packed_file_is_known_in_base64_however_it_is_spelled() {
        let packed = |text: &str| super::packed(text.as_bytes(), || text.into());
        for (magic, name, _) in PACKED {
            let file = [magic, &[0xfb; 40][..]].concat();
            let (plain, url) = (STANDARD.encode(&file), URL_SAFE_NO_PAD.encode(&file));
            assert!(IN_BASE64.iter().any(|known| plain.as_bytes().starts_with(*known)), "{name}");
            let wrapped = format!("\n{}\n{}", &plain[..44], &plain[44..]);
            let data = format!("data:application/x;base64,{plain}");
            for text in [&plain, &url, &data] {
                assert_eq!(packed(text), Some(*name), "{text}");
            }
            assert_eq!(super::packed(b"\\n", || wrapped.as_str().into()), Some(*name), "{wrapped}");
            for text in [&plain, &url, &data, &wrapped] {
                assert_eq!(decoded(text).as_ref(), Some(&file), "{text}");
            }
            assert_eq!(decoded(&format!("{plain} and words")), None);
        }
        for text in
            ["JVBE", "JVBERi0xLjc", "JVBE is no file of anybody", "data:,words", "UEsDa GVsbG8gd29ybGQ"]
        {
            assert_eq!(packed(text), None, "{text}");
        }
    }
}

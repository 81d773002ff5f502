//! Fonts: which letters the codes of a string stand for, and how wide they are.

use std::collections::HashMap;

use lopdf::{Dictionary, Document, Encoding, Object};

use super::name;

/// A font as the file has it, and its table to Unicode as a font of its own: what has an encoding too is
/// asked for that alone.
pub(super) struct FontProbe<'d> {
    font: &'d Dictionary,
    to_unicode: Option<Dictionary>,
}

impl<'d> FontProbe<'d> {
    pub(super) fn of(font: &'d Dictionary) -> Option<Self> {
        (name(font, b"Type") == Some(b"Font") || font.has(b"BaseFont")).then(|| {
            let table = font.get(b"ToUnicode").ok();
            FontProbe { font, to_unicode: table.map(|table| plain_font([("ToUnicode", table.clone())])) }
        })
    }
}

/// A font of which this is known and nothing else.
fn plain_font<const N: usize>(entries: [(&str, Object); N]) -> Dictionary {
    let mut font = Dictionary::new();
    font.set("Type", Object::Name(b"Font".to_vec()));
    entries.into_iter().for_each(|(key, value)| font.set(key, value));
    font
}

/// A font in use.
pub(super) struct Font<'d> {
    to_unicode: Option<Encoding<'d>>,
    letters: FontLetters<'d>,
    /// Of codes, in thousandths of the size.
    widths: HashMap<u32, f32>,
    width: f32,
}

/// What codes stand for where no table to Unicode says it.
enum FontLetters<'d> {
    /// Of one byte each.
    Table(Vec<Option<String>>),
    /// Of two bytes each, by an encoding with a name.
    Named(Option<Encoding<'d>>),
}

/// One code of a string.
pub(super) struct FontGlyph {
    /// `None` where nothing says it.
    pub(super) letters: Option<String>,
    pub(super) width: f32,
    pub(super) is_blank: bool,
}

impl<'d> Font<'d> {
    pub(super) fn of(document: &'d Document, probe: &'d FontProbe<'d>, limit: usize) -> Self {
        let font = probe.font;
        let table = probe
            .to_unicode
            .as_ref()
            .and_then(|font| font.get_font_encoding_with_limit(document, limit).ok());
        let to_unicode = table.filter(|table| matches!(table, Encoding::UnicodeMapEncoding(_)));
        if name(font, b"Subtype") != Some(b"Type0") {
            let letters = FontLetters::Table(table_of(document, font));
            let (widths, width) = simple_widths(document, font);
            return Font { to_unicode, letters, widths, width };
        }
        let named = font.get_font_encoding_with_limit(document, limit).ok();
        let named = named.filter(|named| matches!(named, Encoding::SimpleEncoding(_)));
        let below = font.get_deref(b"DescendantFonts", document).and_then(Object::as_array).ok();
        let below = below.and_then(|fonts| document.dereference(fonts.first()?).ok()?.1.as_dict().ok());
        let (widths, width) = below.map_or((HashMap::new(), 1000.0), |font| wide_widths(document, font));
        Font { to_unicode, letters: FontLetters::Named(named), widths, width }
    }

    /// Returns the glyphs of a string.
    pub(super) fn glyphs(&self, string: &[u8]) -> impl Iterator<Item = FontGlyph> {
        let size = match self.letters {
            FontLetters::Table(_) => 1,
            FontLetters::Named(_) => 2,
        };
        string.chunks(size).map(|code| {
            let number = code.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
            FontGlyph {
                letters: self.letters(code),
                width: self.widths.get(&number).copied().unwrap_or(self.width),
                is_blank: code == b" ",
            }
        })
    }

    fn letters(&self, code: &[u8]) -> Option<String> {
        let said = |encoding: &Encoding<'_>| {
            encoding.bytes_to_string(code).ok().filter(|said| !said.is_empty() && !said.contains('\u{fffd}'))
        };
        self.to_unicode.as_ref().and_then(said).or_else(|| match &self.letters {
            FontLetters::Table(table) => table[usize::from(code[0])].clone(),
            FontLetters::Named(named) => named.as_ref().and_then(said),
        })
    }
}

/// Returns what the codes of a simple font stand for.
fn table_of(document: &Document, font: &Dictionary) -> Vec<Option<String>> {
    let read = |encoding: Option<&Object>, code: u8| {
        let font = match encoding {
            Some(encoding) => plain_font([("Encoding", encoding.clone())]),
            None => plain_font([]),
        };
        let encoding = font.get_font_encoding(document).ok()?;
        encoding.bytes_to_string(&[code]).ok().filter(|letters| !letters.is_empty())
    };
    let encoding = font.get_deref(b"Encoding", document).ok();
    let named = |object: &Object| object.as_name().is_ok();
    let (base, differences) = match encoding {
        Some(Object::Dictionary(encoding)) => (
            encoding.get_deref(b"BaseEncoding", document).ok(),
            encoding.get_deref(b"Differences", document).and_then(Object::as_array).ok(),
        ),
        other => (other, None),
    };
    let base = base.filter(|base| named(base));
    let mut table: Vec<_> = (0..=u8::MAX).map(|code| read(base, code)).collect();
    let mut code = 0;
    for difference in differences.into_iter().flatten() {
        match difference {
            Object::Integer(next) => code = usize::try_from(*next).unwrap_or(usize::MAX),
            Object::Name(_) if code < table.len() => {
                // `lopdf` takes all differences or none, and falls back to another encoding where one
                // has a name of its own: each is asked for alone, at a code that has no letter there.
                let alone = Object::Array(vec![Object::Integer(0), difference.clone()]);
                let alone = Object::Dictionary(Dictionary::from_iter([("Differences", alone)]));
                table[code] = read(Some(&alone), 0);
                code += 1;
            }
            _ => {}
        }
    }
    table
}

fn simple_widths(document: &Document, font: &Dictionary) -> (HashMap<u32, f32>, f32) {
    /// About what letters of most fonts are on average.
    const LETTER: f32 = 500.0;
    let first = font.get(b"FirstChar").and_then(Object::as_i64).unwrap_or(0);
    let widths =
        font.get_deref(b"Widths", document).and_then(Object::as_array).map_or(&[][..], Vec::as_slice);
    let codes = (u32::try_from(first).unwrap_or(0)..).zip(widths);
    (codes.filter_map(|(code, width)| Some((code, number(document, width)?))).collect(), LETTER)
}

/// The widths of a font with codes of two bytes: `c [w …]` or `c c w` each.
fn wide_widths(document: &Document, font: &Dictionary) -> (HashMap<u32, f32>, f32) {
    let mut widths = HashMap::new();
    let all = font.get_deref(b"W", document).and_then(Object::as_array).map_or(&[][..], Vec::as_slice);
    let mut rest = all.iter();
    let code =
        |object: Option<&Object>| u32::try_from(object?.as_i64().ok()?).ok().filter(|code| *code <= 0xffff);
    while let Some(first) = code(rest.next()) {
        let Some((_, next)) = rest.next().and_then(|next| document.dereference(next).ok()) else { break };
        match next {
            Object::Array(each) => widths.extend(
                (first..).zip(each).filter_map(|(code, width)| Some((code, number(document, width)?))),
            ),
            last => {
                let (Some(last), Some(width)) =
                    (code(Some(last)), rest.next().and_then(|width| number(document, width)))
                else {
                    break;
                };
                widths.extend((first..=last).map(|code| (code, width)));
            }
        }
    }
    (widths, font.get(b"DW").and_then(Object::as_float).unwrap_or(1000.0))
}

fn number(document: &Document, object: &Object) -> Option<f32> {
    document.dereference(object).ok()?.1.as_float().ok()
}

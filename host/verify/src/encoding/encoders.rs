//! The encoders, one function each.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use data_encoding::BASE32;

use super::{LeftAs, SampleKind, TextEncoding};
use crate::spelling::quote;

const fn characters(name: &'static str, encode: fn(&str) -> String) -> TextEncoding {
    TextEncoding { name, promised: true, kinds: SampleKind::ALL, left: LeftAs::Characters, encode }
}

const fn words(name: &'static str, encode: fn(&str) -> String) -> TextEncoding {
    TextEncoding { name, promised: true, kinds: SampleKind::ALL, left: LeftAs::Words, encode }
}

const fn block(name: &'static str, encode: fn(&str) -> String) -> TextEncoding {
    TextEncoding { name, promised: true, kinds: SampleKind::ALL, left: LeftAs::Block, encode }
}

const fn card(name: &'static str, encode: fn(&str) -> String) -> TextEncoding {
    TextEncoding { name, promised: true, kinds: &[SampleKind::Card], left: LeftAs::Block, encode }
}

const fn not_read(encoding: TextEncoding) -> TextEncoding {
    TextEncoding { promised: false, ..encoding }
}

pub(super) const ALL: &[TextEncoding] = &[
    block("base64", |text| STANDARD.encode(text)),
    block("base64 without padding", |text| STANDARD_NO_PAD.encode(text)),
    block("base64url", |text| URL_SAFE.encode(text)),
    block("base64url without padding", |text| URL_SAFE_NO_PAD.encode(text)),
    block("base64 in lines of 76", |text| lines(&STANDARD.encode(text), 76)),
    block("base64 in lines of 8", |text| lines(&STANDARD.encode(text), 8)),
    block("base64 behind binary bytes", |text| {
        STANDARD.encode([b"\x89\xfe\x01\xc3\x28", text.as_bytes()].concat())
    }),
    block("base64 in a data URL", |text| format!("data:;base64,{}", STANDARD.encode(text))),
    block("base64 of UTF-16, little endian", |text| STANDARD.encode(wide(text, u16::to_le_bytes))),
    block("base64 of UTF-16, big endian", |text| STANDARD.encode(wide(text, u16::to_be_bytes))),
    block("base64 twice", |text| STANDARD.encode(STANDARD.encode(text))),
    block("base64 in percent", |text| each(&STANDARD.encode(text), |byte| format!("%{byte:02X}"))),
    block("base64, its signs in percent", |text| {
        STANDARD.encode(text).replace('+', "%2B").replace('/', "%2F").replace('=', "%3D")
    }),
    block("base32", |text| BASE32.encode(text.as_bytes())),
    block("hex", |text| each(text, |byte| format!("{byte:02x}"))),
    block("hex in capitals", |text| each(text, |byte| format!("{byte:02X}"))),
    block("hex with colons", |text| joined(text, ":")),
    block("hex with dashes", |text| joined(text, "-")),
    block("hex with blanks", |text| joined(text, " ")),
    block("hex as a list of numbers", |text| each(text, |byte| format!("0x{byte:02x}, "))),
    block("hex in percent", |text| {
        each(&each(text, |byte| format!("{byte:02x}")), |byte| format!("%{byte:02X}"))
    }),
    block("xxd", xxd),
    block("xxd -p", |text| lines(&each(text, |byte| format!("{byte:02x}")), 60)),
    block("hexdump -C", hexdump),
    characters("percent", |text| each(text, |byte| format!("%{byte:02X}"))),
    characters("percent twice", |text| each(text, |byte| format!("%25{byte:02X}"))),
    characters("percent, signs alone", |text| {
        spelled(text, |sign| !sign.is_ascii_alphanumeric(), |sign| format!("%{sign:02X}"))
    }),
    words("JSON in a percent-encoded query", |text| {
        let json = format!("{{\"value\":\"{}\"}}", text.replace('\n', "\\n"));
        let spelled = spelled(
            &json,
            |sign| !sign.is_ascii_alphanumeric() && !b"_+/-=".contains(&sign),
            |sign| format!("%{sign:02X}"),
        );
        format!("https://example.com/?q={spelled}")
    }),
    characters("HTML entities, decimal", |text| each(text, |byte| format!("&#{byte};"))),
    characters("HTML entities, hexadecimal", |text| each(text, |byte| format!("&#x{byte:X};"))),
    characters("HTML entities, named", |text| {
        text.replace('&', "&amp;")
            .replace('_', "&lowbar;")
            .replace('/', "&sol;")
            .replace('+', "&plus;")
            .replace('=', "&equals;")
    }),
    characters("\\u escapes", |text| each(text, |byte| format!("\\u{byte:04x}"))),
    characters("\\u escapes in JSON in JSON", |text| each(text, |byte| format!("\\\\u{byte:04x}"))),
    characters("\\x escapes", |text| each(text, |byte| format!("\\x{byte:02x}"))),
    characters("octal escapes", |text| each(text, |byte| format!("\\{byte:03o}"))),
    characters("slashes as PHP writes them", |text| text.replace('/', "\\/")),
    words("JSON lines with \\u005f", |text| {
        let spelled = text.replace('_', "\\u005f").replace('\n', "\\n").replace('+', "\\u002b");
        format!("{{\"line\":1}}\n{{\"line\":2,\"text\":\"{spelled}\"}}")
    }),
    words("\\u005f in JSON four levels deep", |text| {
        let spelled = text.replace('_', "\\u005f").replace('\n', "\\n").replace('+', "\\u002b");
        let innermost = format!("{{\"text\":\"{spelled}\"}}");
        let outermost = (1..4).fold(innermost, |inner, _| format!("{{\"text\":{}}}", quote(&inner)));
        format!("answer {outermost}")
    }),
    characters("zero-width spaces", |text| between(text, "\u{200b}")),
    characters("zero-width joiners", |text| between(text, "\u{200d}")),
    characters("word joiners", |text| between(text, "\u{2060}")),
    characters("soft hyphens", |text| between(text, "\u{ad}")),
    characters("byte order marks", |text| between(text, "\u{feff}")),
    characters("terminal colours inside", |text| between(text, "\x1b[0;31m")),
    words("terminal colours before", |text| format!("\x1b[01;31m\x1b[K{text}\x1b[m\x1b[K")),
    card("no-break spaces between groups", |text| grouped(text, "\u{a0}")),
    card("tabs between groups", |text| grouped(text, "\t")),
    card("dots between groups", |text| grouped(text, ".")),
    card("line breaks between groups", |text| grouped(text, "\n")),
    card("a number with an exponent", |text| format!("{}.{}e15", &text[..1], &text[1..])),
    not_read(block("base64 four times", |text| {
        (0..4).fold(text.to_owned(), |text, _| STANDARD.encode(text))
    })),
    not_read(block("base85", base85)),
    not_read(characters("quoted-printable", |text| each(text, |byte| format!("={byte:02X}")))),
    not_read(block("decimal numbers", |text| each(text, |byte| format!("{byte}, ")))),
    not_read(characters("letters with blanks", |text| between(text, " "))),
    not_read(characters("full-width letters", |text| text.chars().map(full_width).collect())),
    not_read(characters("ROT13", |text| text.chars().map(rot13).collect())),
    not_read(block("from the end", |text| text.chars().rev().collect())),
    not_read(block("string literals put together", |text| {
        let (first, second) = text.split_at(text.len() / 2);
        format!("\"{first}\" + \"{second}\"")
    })),
];

fn each(text: &str, spell: impl Fn(u8) -> String) -> String {
    text.bytes().map(spell).collect()
}

fn spelled(text: &str, is: impl Fn(u8) -> bool, spell: impl Fn(u8) -> String) -> String {
    each(text, |byte| if is(byte) { spell(byte) } else { char::from(byte).to_string() })
}

fn joined(text: &str, sign: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(sign)
}

fn between(text: &str, sign: &str) -> String {
    text.chars().map(String::from).collect::<Vec<_>>().join(sign)
}

fn lines(text: &str, width: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(width).map(|line| line.iter().collect::<String>()).collect::<Vec<_>>().join("\n")
}

fn grouped(card: &str, sign: &str) -> String {
    lines(card, 4).replace('\n', sign)
}

fn wide(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

/// Ascii85, as PDF and PostScript have it.
fn base85(text: &str) -> String {
    let mut out = String::new();
    for group in text.as_bytes().chunks(4) {
        let mut value =
            group.iter().fold(0u32, |value, &byte| value << 8 | u32::from(byte)) << (8 * (4 - group.len()));
        let mut five = ['!'; 5];
        for place in five.iter_mut().rev() {
            *place = char::from(b'!' + (value % 85) as u8);
            value /= 85;
        }
        out.extend(&five[..=group.len()]);
    }
    out
}

fn printable(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| if (0x20..0x7f).contains(&byte) { char::from(byte) } else { '.' }).collect()
}

fn xxd(text: &str) -> String {
    let mut out = String::new();
    for (line, bytes) in text.as_bytes().chunks(16).enumerate() {
        let groups: Vec<String> =
            bytes.chunks(2).map(|two| two.iter().map(|b| format!("{b:02x}")).collect()).collect();
        let _ = writeln!(out, "{:08x}: {:<39}  {}", 16 * line, groups.join(" "), printable(bytes));
    }
    out
}

fn hexdump(text: &str) -> String {
    let mut out = String::new();
    for (line, bytes) in text.as_bytes().chunks(16).enumerate() {
        let _ = write!(out, "{:08x} ", 16 * line);
        for place in 0..16 {
            let half = if place % 8 == 0 { " " } else { "" };
            let pair = bytes.get(place).map_or("  ".to_owned(), |byte| format!("{byte:02x}"));
            let _ = write!(out, "{half}{pair} ");
        }
        let _ = writeln!(out, " |{}|", printable(bytes));
    }
    out
}

fn full_width(character: char) -> char {
    match character {
        '!'..='~' => char::from_u32(u32::from(character) + 0xfee0).unwrap_or(character),
        other => other,
    }
}

fn rot13(character: char) -> char {
    let turned = |first: u8| char::from(first + (character as u8 - first + 13) % 26);
    match character {
        'a'..='z' => turned(b'a'),
        'A'..='Z' => turned(b'A'),
        other => other,
    }
}

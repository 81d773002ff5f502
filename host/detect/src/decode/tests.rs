//! Every encoding in every position, what is none, and what views cost.

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

fn each(text: &str, f: impl Fn(u8) -> String) -> String {
    text.bytes().map(f).collect()
}

fn to_base32(text: &str) -> String {
    let bits: Vec<u8> = text.bytes().flat_map(|byte| (0..8).rev().map(move |n| byte >> n & 1)).collect();
    bits.chunks(5)
        .map(|five| {
            let value = five.iter().fold(0, |value, bit| value << 1 | bit) << (5 - five.len());
            char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[usize::from(value)])
        })
        .collect()
}

fn xxd(text: &str) -> String {
    let line = |(n, bytes): (usize, &[u8])| {
        let groups: Vec<String> =
            bytes.chunks(2).map(|two| two.iter().map(|b| format!("{b:02x}")).collect()).collect();
        format!("{:08x}: {:<39}  {}\n", 16 * n, groups.join(" "), String::from_utf8_lossy(bytes))
    };
    text.as_bytes().chunks(16).enumerate().map(line).collect()
}

fn hexdump(text: &str) -> String {
    let line = |(n, bytes): (usize, &[u8])| {
        let half = |part: &[u8]| part.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
        let (first, second) = bytes.split_at(bytes.len().min(8));
        format!(
            "{:08x}  {:<23}  {:<23}  |{}|\n",
            16 * n,
            half(first),
            half(second),
            String::from_utf8_lossy(bytes)
        )
    };
    text.as_bytes().chunks(16).enumerate().map(line).collect()
}

/// Forms in which no part of a text can be replaced.
fn blocks(text: &str) -> Vec<(&'static str, String)> {
    let plain = to_base64(text.as_bytes(), STANDARD, true);
    let wide = |big: bool| -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    };
    vec![
        ("base64", plain.clone()),
        ("base64 without padding", to_base64(text.as_bytes(), STANDARD, false)),
        ("base64 for URLs", to_base64(text.as_bytes(), URL, true)),
        ("base64 for URLs without padding", to_base64(text.as_bytes(), URL, false)),
        ("base64 in lines", wrapped(&plain, 64, "\n")),
        ("base64 in lines of Windows, indented", wrapped(&plain, 24, "\r\n    ")),
        ("base64 in short lines", format!("\n{}\n", wrapped(&plain, 8, "\n"))),
        ("base64 in lines as escapes", wrapped(&plain, 24, "\\n")),
        ("base64 of UTF-16", to_base64(&wide(false), STANDARD, true)),
        ("base64 of UTF-16, big endian", to_base64(&wide(true), STANDARD, true)),
        (
            "base64 behind other bytes",
            to_base64(&[b"\x80\x01\xff", text.as_bytes()].concat(), STANDARD, true),
        ),
        ("base64 of base64", to_base64(plain.as_bytes(), STANDARD, true)),
        ("base32", to_base32(text)),
        ("base32 in small letters", to_base32(text).to_lowercase()),
        ("hexadecimal", to_hex(text)),
        ("hexadecimal in capitals", to_hex(text).to_uppercase()),
        ("hexadecimal in lines", wrapped(&to_hex(text), 60, "\n")),
        ("hexadecimal behind other bytes", format!("80ff01{}", to_hex(text))),
        ("hexadecimal with colons", each(text, |byte| format!("{byte:02X}:"))),
        ("hexadecimal with dashes", each(text, |byte| format!("{byte:02x}-"))),
        ("hexadecimal with blanks", each(text, |byte| format!("{byte:02x} "))),
        ("a list of numbers", each(text, |byte| format!("0x{byte:02x}, "))),
        ("a list of numbers without blanks", each(text, |byte| format!("0x{byte:02X},"))),
        ("xxd", format!("\n{}", xxd(text))),
        ("hexdump", format!("\n{}", hexdump(text))),
        ("data URL", format!("data:text/plain;charset=utf-8;base64,{plain}")),
        ("data URL without a type", format!("data:;base64,{plain}")),
        ("data URL of an image", format!("data:image/svg+xml;base64,{plain}")),
        ("base64 in percent", each(&plain, |byte| format!("%{byte:02X}"))),
        ("base64 with signs in percent", plain.replace('=', "%3D").replace('+', "%2B").replace('/', "%2F")),
        ("hexadecimal in percent", to_percent(&to_hex(text))),
    ]
}

/// Forms in which each character of ASCII is spelled by itself.
fn spellings(text: &str) -> Vec<(&'static str, String)> {
    let percent = to_percent(text);
    let twice = percent.replace('%', "%25");
    vec![
        ("percent", percent.clone()),
        ("percent twice", twice.clone()),
        ("percent three times", twice.replace('%', "%25")),
        (
            "percent of signs",
            text.chars()
                .map(|c| if c.is_ascii_alphanumeric() { c.into() } else { to_percent(&c.to_string()) })
                .collect(),
        ),
        ("percent-encoded data URL", format!("data:text/plain,{percent}")),
        ("decimal entities", each(text, |byte| format!("&#{byte};"))),
        ("hexadecimal entities", each(text, |byte| format!("&#x{byte:X};"))),
        (
            "entities without a semicolon",
            text.replace('a', "&#97").replace('e', "&#x65 ").replace("&#x65 ", "&#x65;"),
        ),
        ("entities twice", each(text, |byte| format!("&amp;#{byte};"))),
        ("escapes of JSON", each(text, |byte| format!("\\u{byte:04x}"))),
        ("escapes of JSON in JSON", each(text, |byte| format!("\\\\u{byte:04X}"))),
        ("escapes of JSON, eight levels deep", each(text, |byte| format!("{}u{byte:04x}", "\\".repeat(128)))),
        ("escapes of JavaScript", each(text, |byte| format!("\\u{{{byte:x}}}"))),
        ("escapes of C", each(text, |byte| format!("\\x{byte:02x}"))),
        ("octal escapes", each(text, |byte| format!("\\{byte:03o}"))),
        ("zero-width spaces", text.split("").collect::<Vec<_>>().join("\u{200b}")),
        ("soft hyphens", text.split("").collect::<Vec<_>>().join("\u{ad}")),
        ("byte order marks", text.split("").collect::<Vec<_>>().join("\u{feff}")),
        ("word joiners", text.split("").collect::<Vec<_>>().join("\u{2060}")),
        ("colours", text.split("").collect::<Vec<_>>().join("\x1b[1;31m")),
        ("grep's colours", text.split(' ').collect::<Vec<_>>().join("\x1b[m\x1b[K \x1b[01;31m\x1b[K")),
        ("escaped colours", text.split("").collect::<Vec<_>>().join("\\x1b[0m")),
        ("colours of one byte", text.split("").collect::<Vec<_>>().join("\u{9b}0m")),
    ]
}

const AROUND: [(&str, &str); 7] =
    [("", ""), ("see ", " there"), ("x=", ";"), ("\"", "\""), ("a/b/", ""), (r"\n", r"\n"), ("+", "")];

/// The views of a text that hold some words, with where the text holds them.
fn seen<'a>(text: &str, words: &str, all: &'a [View]) -> Vec<(&'a View, Source)> {
    let found = all.iter().filter_map(|view| {
        let at = view.text().find(words)?;
        Some((view, view.source(at..at + words.len())))
    });
    found.inspect(|(view, source)| assert!(text.get(source.range.clone()).is_some(), "{view:?}")).collect()
}

#[test]
fn a_text_is_found_in_every_block_and_position() {
    for words in [WORDS, "{\"key\": \"k??~~~???>>>\"}", "exactly sixteen!"] {
        for (form, text) in blocks(words) {
            for (before, after) in AROUND {
                // A digit or a sign before it may be its own first one.
                if before == "a/b/" && (form.contains("lines") || form.starts_with("hexadecimal with")) {
                    continue;
                }
                let whole = format!("{before}{text}{after}");
                let all = views(&whole);
                let found = seen(&whole, words, &all);
                assert!(
                    !found.is_empty(),
                    "{form} in {whole}: {:?}",
                    all.iter().map(View::text).collect::<Vec<_>>()
                );
                assert!(found.iter().all(|(_, source)| !source.exact), "{form}");
            }
        }
    }
}

#[test]
fn a_text_is_found_in_every_spelling_with_the_range_that_spells_it() {
    for words in [WORDS, "{\"key\": \"k??~~~???>>>\"}", "exactly sixteen!"] {
        for (form, text) in spellings(words) {
            for (before, after) in AROUND {
                let whole = format!("{before}{text}{after}");
                let all = views(&whole);
                let found = seen(&whole, words, &all);
                assert!(
                    !found.is_empty(),
                    "{form} in {whole}: {:?}",
                    all.iter().map(View::text).collect::<Vec<_>>()
                );
                for (view, source) in found {
                    assert!(source.exact, "{form}: {view:?}");
                    let spelled = &whole[source.range.clone()];
                    assert!(text.contains(spelled), "{form}: {spelled} is more than {text}");
                    let again = views(&format!("<{spelled}>"));
                    assert!(
                        spelled == words || again.iter().any(|view| view.text().contains(words)),
                        "{form}: {spelled} is less than {words}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_row_of_backslashes_is_one_spelling_of_any_length() {
    let undone = |text: &str| views(&format!(r"\x41 {text}")).remove(0).text().to_owned();
    for (text, means) in [
        (r"x\\u005fy", "x_y"),
        (r#"{\\\\"a\\\\":1}"#, r#"{"a":1}"#),
        (r"C:\\new\\table", r"C:\new\table"),
        (r"C:\\\\host\\\tab", "C:\\host\\\tab"),
        (r"a\\\nb", "a\\\nb"),
        (r"YWFhYWFhYWFhYWFh\\\\nYWFhYWFhYWFhYWFh", "YWFhYWFhYWFhYWFh\nYWFhYWFhYWFhYWFh"),
    ] {
        assert_eq!(undone(text), format!("A {means}"), "{text}");
    }
}

#[test]
fn characters_of_more_than_one_byte_are_spelled_too() {
    for text in ["%C3%A9%E2%82%AC%F0%9F%94%91", r"\u00e9\u20ac\ud83d\udd11", "&#233;&#x20AC;&#128273;"] {
        let all = views(text);
        assert_eq!(seen(text, "é€🔑", &all).len(), 1, "{text} {all:?}");
    }
    assert!(views("100%, 50%FF, %zz, &unknown; &self \\d \\n \\udead").is_empty());
}

#[test]
fn media_is_read_when_it_begins_with_text() {
    for (form, text) in blocks(WORDS).into_iter().filter(|(form, _)| form.starts_with("data URL")) {
        assert_eq!(views_of_media(&text).first().map(View::text), Some(WORDS), "{form}");
    }
    let percent = format!("data:text/plain,{}", to_percent(WORDS));
    assert_eq!(views_of_media(&percent).first().map(View::text), Some(WORDS));
}

#[test]
fn the_range_of_a_block_covers_its_encoded_form() {
    let form = to_base64(WORDS.as_bytes(), STANDARD, false);
    let text = format!("kept {form} kept");
    let found = views(&text);
    assert_eq!(found.len(), 1);
    let source = found[0].source(0..4);
    assert_eq!((&text[source.range], source.exact), (form.as_str(), false));
}

#[test]
fn a_block_inside_a_spelling_is_found_once_and_named_by_both() {
    let form = to_base64(WORDS.as_bytes(), STANDARD, true);
    let text = format!("q={}{}&plain={form}", to_percent(&form[..8]), &form[8..]);
    let all = views(&text);
    let phrases: Vec<String> = all.iter().filter(|view| view.text() == WORDS).map(View::phrase).collect();
    assert_eq!(phrases, ["base64", "base64 in percent-encoding"]);
}

#[test]
fn two_stretches_glued_by_a_sign_are_both_found() {
    let first = to_base64(b"the first of two texts", STANDARD, false);
    let second = to_base64(b"and then the second one", STANDARD, false);
    for sign in ['/', '-', '.', ','] {
        let all = views(&format!("{first}{sign}{second}"));
        let spelled: Vec<&str> = all.iter().map(View::text).collect();
        assert!(spelled.iter().any(|text| text.starts_with("the first of two texts")), "{sign} {spelled:?}");
        assert!(spelled.contains(&"and then the second one"), "{sign} {spelled:?}");
    }
}

#[test]
fn what_is_no_text_is_not_decoded() {
    let noise = |n: u32| n.wrapping_mul(0x9e37_79b9).to_be_bytes()[1] ^ n.to_le_bytes()[0];
    let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(), (0..400).map(noise).collect()].concat();
    for text in [
        to_base64(&png, STANDARD, true),
        format!("data:image/png;base64,{}", to_base64(&png, STANDARD, true)),
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904".to_owned(),
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
        "9f:86:d0:81:88:4c:7d:65:9a:2f:ea:a0:c5:5a:d0:15:a3:bf:4f:1b:2b:0b:82:2c:d1:5d:6c:15:b0:f0:0a:08".to_owned(),
        "/usr/local/lib/python3/dist-packages/acceptance_timeout".to_owned(),
        "AcceptanceTimeoutSecondsOfTheWholeRequestHandlerFactory".to_owned(),
        "a-kebab-case-name-that-goes-on-and-on-for-a-long-while".to_owned(),
        "data: one, two 50% and more".to_owned(),
        "plain words, 100% of them".to_owned(),
        "one\ntwo\nsix\nfour\nnine\nzero\n".to_owned(),
        "1234: first\n1235: second\ndeadbeef 12 34\n".to_owned(),
        "a family \u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}, caf\u{e9}, \u{201c}quoted\u{201d} \u{2014} so\u{2026}".to_owned(),
        r#"println!("{}\n", "a \"b\" c"); r"\d+\s*\w" && x & y"#.to_owned(),
    ] {
        assert_eq!(views(&text).iter().map(View::text).collect::<Vec<_>>(), [""; 0], "{text}");
        assert!(views_of_media(&text).is_empty(), "{text}");
    }
}

/// What may be repeated to make views of views, and views of almost nothing.
fn hostile() -> Vec<String> {
    let almost = to_base64(b"text for a while, and then \xff\xff\xff", STANDARD, false);
    let mut parts: Vec<String> = [
        "data:,",
        "data:;base64,",
        "data:,%41",
        "data:;base64,%41",
        "%",
        "%25",
        "%2525",
        "%25252541",
        "data:%",
        "AAAA/",
        "YWFh",
        "61",
        "36",
        "YWFh\n",
        "+YWFhYWFhYWFhYWFhYWFh",
        "YWFhYWFhYWFhYWFhYWFhYWFhYWFh\n",
        "\\",
        "\\\\u005c",
        "\\x5c",
        "&amp;",
        "&#38;",
        "&#38;#38;#65;",
        "\u{200b}",
        "a\u{200b}",
        "\x1b[",
        "\x1b[m",
        "\x1b]",
        "61 ",
        "61:",
        "0x61,",
        "MFRGG===",
        "MFRGGZDF",
        "YWFhYWFh\n",
        "-----BEGIN %41",
        "%41 -----BEGIN ",
        "00000000: 6161\n",
        "4539\n",
        "4539.",
        "1.123456789012e12 ",
        "VjJ4YVIxcDBXbTFqTTFKdFl6TlNkRnBITlRSYU0xSnNUbXh2TlE9PQ==",
        "%5Cu0025%35c",
        "4142434445464748494a4b4c4d4e4f505152",
    ]
    .map(str::to_owned)
    .to_vec();
    parts.extend([format!("/{almost}"), almost]);
    parts
}

#[test]
fn views_are_never_larger_than_their_bound_however_they_nest() {
    let nested = |text: &str, times: usize| {
        (0..times).fold(text.to_owned(), |text, _| to_base64(text.as_bytes(), STANDARD, true))
    };
    let mut worst = (0.0, String::new());
    for part in hostile() {
        let text = part.repeat((16 << 10) / part.len());
        for text in
            [text.clone(), nested(&text, 1), nested(&text, 3), to_percent(&text), to_hex(&to_percent(&text))]
        {
            let spelled: usize = views(&text).iter().map(|view| view.text().len()).sum();
            assert!(spelled <= text.len() * MOST_TIMES_TEXT, "{part:?}: {spelled} bytes of {}", text.len());
            let times = spelled as f64 / text.len() as f64;
            if times > worst.0 {
                worst = (times, part.clone());
            }
        }
    }
    println!("views are {:.2} times their text at most, for {:?}", worst.0, worst.1);
}

#[test]
fn what_views_cost_grows_with_the_text() {
    for part in hostile() {
        let cost = |size: usize| {
            let text = part.repeat(size / part.len());
            crate::work::reset();
            let found = views(&text);
            crate::work::spent() + found.len()
        };
        let (small, large) = (cost(8 << 10), cost(64 << 10));
        assert!(large <= small * 10 + 4096, "{part:?}: {small} for 8 KB, {large} for 64 KB");
    }
}

proptest! {
    #[test]
    fn any_text_between_any_words_is_found(
        before in "[ a-z.,:;=\"]{0,30}[ =:\"]", words in "[!-~]{24,200}", after in "[ ,;\"][ -~]{0,30}", form in any::<prop::sample::Index>()
    ) {
        let mut forms = blocks(&words);
        let (name, text) = forms.swap_remove(form.index(forms.len()));
        let whole = format!("{before}{text}{after}");
        let all = views(&whole);
        prop_assert!(all.iter().any(|view| view.text().contains(&words)), "{name}: {all:?} in {whole}");
    }

    #[test]
    fn no_text_makes_it_fail(
        text in "(\\PC|data:|%[0-9A-F]{2}|%25|&#[0-9]{2};|&amp;|\\\\|\\\\u00[0-9a-f]{2}|\u{200b}|\u{1b}\\[0m|4539[ .\n]|[A-Za-z0-9+/_=-]{4,40}|\n|[0-9a-f]{30,40}){0,20}"
    ) {
        for view in views(&text).into_iter().chain(views_of_media(&text)) {
            let characters: Vec<usize> = view.text().char_indices().map(|(at, _)| at).chain([view.text().len()]).collect();
            for pair in characters.windows(2) {
                let source = view.source(pair[0]..pair[1]);
                prop_assert!(text.get(source.range.clone()).is_some(), "{view:?} {source:?}");
                prop_assert!(source.range.start < source.range.end);
            }
            prop_assert!(!view.text().is_empty() || view.is_exact());
        }
    }
}

#[test]
fn a_card_number_is_found_where_little_else_is_encoded() {
    let card = ["4539", "5787", "6362", "1486"].concat();
    let plain = to_base64(card.as_bytes(), STANDARD, true);
    let behind = to_base64(&[b"\x89\xfe\x01\xc3\x28", card.as_bytes()].concat(), STANDARD, true);
    for text in [
        format!("printed:\n{card}\n{}\nThat is all of it.", wrapped(&plain, 8, "\n")),
        format!("printed:\n{behind}\nThat is all of it."),
        format!("see {behind} there"),
    ] {
        let all = views(&text);
        assert!(
            all.iter().any(|view| view.text().contains(&card)),
            "{text}: {:?}",
            all.iter().map(View::text).collect::<Vec<_>>()
        );
        let engine = crate::Engine::new(&["pii/payment-card"]).unwrap();
        let found = |view: &View| !engine.scan(&crate::Input::new(view.text())).is_empty();
        assert!(all.iter().any(found), "{text}: {:?}", all.iter().map(View::text).collect::<Vec<_>>());
    }
}

//! Every encoding in every position, and what is none.

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
        assert!(spelled.iter().any(|text| text.starts_with("the first of two texts")), "{sign} {spelled:?}");
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

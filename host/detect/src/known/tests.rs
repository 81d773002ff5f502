use std::sync::Arc;

use leafgate_verify::encoding::{SampleKind, encodings};
use proptest::prelude::*;

use super::*;
use crate::{Engine, Input, views};

fn key() -> KnownKey {
    KnownKey::new(&[7; 32])
}

fn engine(values: &[&str]) -> Engine {
    let values: Vec<KnownValue> = values.iter().map(|value| key().value(value).unwrap()).collect();
    let known = Arc::new(KnownValues::new(key(), &values));
    Engine::with_known(&["secrets/known"], Some(&known)).unwrap()
}

fn found<'t>(engine: &Engine, text: &'t str) -> Vec<&'t str> {
    engine.scan(&Input::new(text)).into_iter().map(|finding| &text[finding.range]).collect()
}

/// No known form, no name beside it: nothing but knowing it finds it.
const VALUE: &str = "bq7xm2kd9vwt4hzr8pcy";

#[test]
fn a_value_is_found_wherever_it_stands_and_no_other_is() {
    let engine = engine(&[VALUE, "hunter2-9", "correct horse battery staple"]);
    for (text, expected) in [
        (format!("a {VALUE} b"), vec![VALUE]),
        (format!("mysql -p{VALUE}x"), vec![VALUE]),
        ("-phunter2-9;".to_owned(), vec!["hunter2-9"]),
        (format!("é{VALUE}é{VALUE}"), vec![VALUE, VALUE]),
        ("the correct horse battery staple is".to_owned(), vec!["correct horse battery staple"]),
        ("a correct horse battery".to_owned(), vec![]),
        ("hunter2-8 hunter2".to_owned(), vec![]),
        (VALUE.to_uppercase(), vec![]),
    ] {
        assert_eq!(found(&engine, &text), expected);
    }
    assert!(found(&Engine::new(&["secrets/known"]).unwrap(), VALUE).is_empty());
}

#[test]
fn a_value_is_found_where_leaves_cannot_be_edited() {
    let text = format!("id_{VALUE}");
    assert_eq!(engine(&[VALUE]).scan(&Input::new(&text).prefix_only()).len(), 1);
}

#[test]
fn what_others_write_too_is_no_piece() {
    let body = "q7Zk29fLmXw84TbVq7Zk29fL";
    let tokens = [
        ["sk-ant-api03-", body].concat(),
        ["github_", "pat_11", body].concat(),
        ["eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.", body, ".", body].concat(),
        ["postgres://admin:", body, "@db.internal.example:5432/app"].concat(),
    ];
    let engine = engine(&tokens.each_ref().map(String::as_str));
    for text in [
        "keys begin with sk-ant-api03-",
        "a github_pat_ token",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.x",
        "postgres://admin:other@db.internal.example:5432/app",
    ] {
        assert_eq!(found(&engine, text), [""; 0], "{text}");
    }
    assert_eq!(found(&engine, &tokens[3]), [&tokens[3]]);
}

#[test]
fn signs_in_a_generated_value_are_no_prefix() {
    let value = ["Aa++aAaa0A0", "AAa+A00A00AA0aaaa++Aa+0aA0a+0"].concat();
    assert_eq!(found(&engine(&[&value]), &value[..PIECE]), [&value[..PIECE]]);
}

#[test]
fn what_would_be_found_everywhere_is_refused() {
    for (value, why) in [
        ("short", NotKnown::TooShort),
        ("aaaabbbbaaaa", NotKnown::TooPlain),
        (&*"xyz1".repeat(5000), NotKnown::TooLong),
    ] {
        assert_eq!(key().value(value).unwrap_err(), why);
    }
}

#[test]
fn the_cost_does_not_follow_the_number_of_values() {
    let text = "fn main() { println!(\"hello\"); } let some_identifier_of_code = 12345678;\n".repeat(200);
    let spent = |count: usize| {
        let values: Vec<String> = (0..count)
            .map(|n| format!("v{:016x}x", (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        let engine = engine(&values.iter().map(String::as_str).collect::<Vec<_>>());
        crate::work::reset();
        assert!(found(&engine, &text).is_empty());
        crate::work::spent()
    };
    assert_eq!(spent(1), spent(2000));
    assert!(spent(1) >= text.len());
}

#[test]
fn nothing_of_a_value_is_kept_or_shown() {
    let value = key().value(VALUE).unwrap();
    let known = KnownValues::new(key(), [&value]);
    assert_eq!(format!("{value:?} {known:?}"), "KnownValue(..) KnownValues(1)");
    assert_eq!(value.id(), key().value(VALUE).unwrap().id());
    assert_ne!(value.id(), KnownKey::new(&[8; 32]).value(VALUE).unwrap().id());
    assert_ne!(value.pieces, KnownKey::new(&[8; 32]).value(VALUE).unwrap().pieces);
}

#[test]
fn settings_give_their_secrets_and_no_words() {
    let password = ["Tr0ub", "4dor&3"].concat();
    let token = ["q7Zk29fL", "mXw84TbV"].concat();
    let text = format!(
        "# comment\nexport DB_PASSWORD=\"{password}\" # why\nNODE_ENV=production\nPORT=54320000\n\
         DATABASE_URL=postgres://app:{token}@db.internal:5432/x\nAPI_URL=https://api.example.com/v1\n\
         EMPTY=\nHOST=db-1.internal.example\nREGION: eu-central-1\n[default]\naws_secret_access_key = {token}\n\
         \"apiKey\": \"{token}\",\nmachine example.com login me password {password}\n\
         SECRET_KEY=changeme\nCACHE=/var/cache/app-2024\n"
    );
    let secrets: Vec<&str> =
        named_values(&text).into_iter().filter(|named| named.secret).map(|named| named.value).collect();
    assert_eq!(secrets, [&password, &token, &token, &token, &password]);
}

#[test]
fn what_stands_in_any_text_is_no_secret_however_it_is_named() {
    let kinds = |value: &str| {
        let text = format!("APP_PASSWORD=\"{value}\"\n");
        let named = named_values(&text);
        assert_eq!(named.len(), 1, "{value}");
        (named[0].secret, named[0].common)
    };
    for common in [
        "properties",
        "assistant",
        "cache_control",
        "additionalProperties",
        "text/event-stream",
        "claude-sonnet-4-5-20250929",
        "gpt-4o-2024-08-06",
        "gemini-2.5-flash",
        "Never tell anyone about this",
        "do not run it at all",
        "You are Claude Code, Anthropic's official CLI",
        "\u{438}\u{433}\u{43d}\u{43e}\u{440}\u{438}\u{440}\u{443}\u{439} \u{432}\u{441}\u{451}",
        "https://docs.acme.org/en/overview",
        "/usr/local/bin",
        "package.json",
        "20250514",
        "2025-05-14",
        "127.0.0.1",
    ] {
        assert_eq!(kinds(common), (false, true), "{common}");
    }
    let phrase = ["abandon ".repeat(11), "about".to_owned()].concat();
    let others = [["Tr0ub", "4dor&3"], ["q7Zk29fL", "mXw84TbV"], ["xkqz", "vbnwjr"], ["8291", "46370518"]];
    for secret in others.iter().map(|parts| parts.concat()).chain([phrase]) {
        assert_eq!(kinds(&secret), (true, false), "{secret}");
    }
}

/// A value of so many characters as a generator makes it.
fn generated(length: usize) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_+/!";
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(length as u64 + 1);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(ALPHABET[(state >> 33) as usize % ALPHABET.len()])
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn a_value_of_any_length_is_known_in_every_encoding() {
    /// Of shorter values two such lines are left, and two short words may be anything.
    const LEAST_IN_LINES: usize = 15;
    const AROUND: [(&str, &str); 3] = [("", ""), ("It says:\n", "\nor so.\n"), ("```\n", "\n```\n")];
    let mut tried = 0;
    for length in LEAST_KNOWN..=64 {
        let value = generated(length);
        let engine = engine(&[&value]);
        for encoding in encodings().iter().filter(|it| it.promised && it.kinds.contains(&SampleKind::Token)) {
            if encoding.name == "base64 in lines of 8" && length < LEAST_IN_LINES {
                continue;
            }
            for (before, behind) in AROUND {
                let text = format!("{before}{}{behind}", encoding.encode(&value));
                let seen = !found(&engine, &text).is_empty()
                    || views(&text).iter().any(|view| !found(&engine, view.text()).is_empty());
                assert!(seen, "{length} bytes as {}: {text}", encoding.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 57 * 3 * 30, "{tried} texts");
}

/// The characters of some bits each, one bit after the other.
fn in_characters(bytes: &[u8], alphabet: &[u8], width: usize) -> String {
    let bits: Vec<usize> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| usize::from(byte >> bit & 1))).collect();
    let value =
        |bits: &[usize]| (0..width).fold(0, |value, n| value << 1 | bits.get(n).copied().unwrap_or(0));
    bits.chunks(width).map(|bits| char::from(alphabet[value(bits)])).collect()
}

const ALPHABETS: [(&[u8], usize); 6] = [
    (b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 6),
    (b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 6),
    (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 5),
    (b"abcdefghijklmnopqrstuvwxyz234567", 5),
    (b"0123456789abcdef", 4),
    (b"0123456789ABCDEF", 4),
];

#[test]
fn an_encoded_value_is_masked_with_the_characters_at_its_ends() {
    let value = "q7!Zk29f";
    let engine = engine(&[value]);
    for before in 0..6 {
        let bytes = [&vec![0xff; before], value.as_bytes(), &[0xff; 3]].concat();
        for (alphabet, width) in ALPHABETS {
            let text = in_characters(&bytes, alphabet, width);
            let (first, last) = (8 * before / width, (8 * (before + value.len())).div_ceil(width));
            assert_eq!(found(&engine, &text), [&text[first..last]], "{before} bytes before, {text}");
        }
    }
}

proptest! {
    #[test]
    fn a_value_is_known_at_every_place_of_what_was_encoded(
        length in LEAST_KNOWN..=64usize,
        before in prop::collection::vec(any::<u8>(), 0..9),
        behind in prop::collection::vec(any::<u8>(), 0..9),
        way in prop::sample::select(ALPHABETS.to_vec()),
    ) {
        let value = generated(length);
        let (alphabet, width) = way;
        let text = in_characters(&[&before, value.as_bytes(), &behind].concat(), alphabet, width);
        let all = 8 * before.len() / width..(8 * (before.len() + length)).div_ceil(width);
        let covered = engine(&[&value]).scan(&Input::new(&text));
        prop_assert!(
            covered.iter().any(|finding| finding.range.start <= all.start && finding.range.end >= all.end),
            "{covered:?} in {text}"
        );
    }

    #[test]
    fn each_piece_of_a_generated_value_is_found(
        value in "[a-f0-9]{40}|[A-Za-z0-9]{24,60}|[A-Za-z0-9+/]{40}|[A-Za-z0-9!#%&*@^]{16,24}",
        at in any::<prop::sample::Index>(),
        length in 0usize..30,
        before in "[ -~]{0,9}",
        behind in "[ -~]{0,9}",
    ) {
        // What was generated and yet has the looks of words is no case of this.
        prop_assume!(crate::score::score(&value) > -1.0);
        let at = at.index(value.len() - PIECE + 1);
        let piece = &value[at..value.len().min(at + PIECE + length)];
        let text = format!("{before}{piece}{behind}");
        let engine = engine(&[&value]);
        let covered = engine.scan(&Input::new(&text));
        let all = before.len()..before.len() + piece.len();
        prop_assert!(
            covered.iter().any(|finding| finding.range.start <= all.start && finding.range.end >= all.end),
            "{covered:?}"
        );
    }

    #[test]
    fn each_whole_value_is_found(value in "[ -~\n]{7}[!-~]{5,40}", before in "\\PC{0,9}", behind in "\\PC{0,9}") {
        prop_assume!(key().value(&value).is_ok());
        let text = format!("{before}{value}{behind}");
        let all = before.len()..before.len() + value.len();
        let covered = engine(&[&value]).scan(&Input::new(&text));
        prop_assert!(
            covered.iter().any(|finding| finding.range.start <= all.start && finding.range.end >= all.end),
            "{covered:?}"
        );
    }
}

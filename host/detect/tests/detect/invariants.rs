//! What every engine promises, whatever the text.

use leafgate_detect::{Engine, Input, all_detectors};
use proptest::prelude::*;

fn everything() -> Engine {
    Engine::new(&["secrets", "pii"]).unwrap()
}

/// Text with what detectors look for strewn in: random bytes alone would never reach their regexes.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "\\PC{0,12}",
        "[A-Za-z0-9+/=_-]{8,60}",
        "[0-9 -]{8,24}",
        prop::sample::select(vec![
            "password",
            "api_key",
            "token",
            " = ",
            ": \"",
            "\"",
            "'",
            "://",
            "@",
            "-----BEGIN",
            " PRIVATE KEY-----",
            "ghp_",
            "sk-",
            "eyJ",
            "AKIA",
            ".",
            "é",
            "\u{1f511}",
            "\\n",
            "\n",
            "Bearer ",
            "DE89",
            "curl -u ",
            ";",
            "<secret>",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn findings_are_sorted_apart_and_on_character_boundaries(text in texts(), key in "[a-zA-Z_]{0,12}") {
        let findings = everything_once().scan(&Input::new(&text).with_key(&key));
        for finding in &findings {
            prop_assert!(finding.range.start < finding.range.end);
            prop_assert!(text.get(finding.range.clone()).is_some(), "{:?} cuts a character", finding.range);
        }
        prop_assert!(findings.windows(2).all(|two| two[0].range.end <= two[1].range.start));
    }

    #[test]
    fn a_planted_token_is_covered_whole_wherever_it_stands(before in "\\PC{0,40}[ \n=\"(]", after in "[ \n\"),;]\\PC{0,40}") {
        let token = format!("{}{}", "ghp_", "x7Kq2mZp9RtVw4Lb8NcYd3HfJs6GaQ1eUo5T");
        let text = format!("{before}{token}{after}");
        let at = before.len()..before.len() + token.len();
        let covers = |input: &Input<'_>| {
            everything_once().scan(input).iter().any(|f| f.range.start <= at.start && at.end <= f.range.end)
        };
        prop_assert!(covers(&Input::new(&text)));
        prop_assert!(covers(&Input::new(&text).prefix_only()));
    }
}

fn everything_once() -> &'static Engine {
    static ENGINE: std::sync::LazyLock<Engine> = std::sync::LazyLock::new(everything);
    &ENGINE
}

/// So many letters and digits that look random and are the same every time.
fn random_word(len: usize) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(ALPHABET[(state >> 16) as usize % ALPHABET.len()])
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn a_value_is_covered_to_its_last_byte_however_long_it_is() {
    let notations = [
        ("api_token=", " and more"),
        ("api_token=", ""),
        ("PASSWORD=", "\n"),
        ("api_token: \"", "\", x"),
        ("api_token = '", ""),
        (r#"{\"client_secret\":\""#, r#"\"}"#),
        ("<apiToken>", "</apiToken>"),
        ("x --access-token ", " y"),
        ("Authorization: Bearer ", "\n"),
        ("Authorization: NTLM ", "'"),
        ("machine h login me password ", "\nx"),
        ("curl -u admin:", " https://x"),
    ];
    for len in [64, 199, 201, 511, 512, 513, 2_047, 2_049, 5_000, 100_000] {
        let value = random_word(len);
        for (before, after) in notations {
            let text = format!("{before}{value}{after}");
            let at = before.len()..before.len() + value.len();
            let found = everything_once().scan(&Input::new(&text));
            let whole = found.iter().any(|f| f.range.start <= at.start && at.end <= f.range.end);
            assert!(whole, "{len} bytes behind {before:?}: only {:?}", found);
            let end = found.iter().map(|f| f.range.end).max();
            assert_eq!(end, Some(at.end), "{len} bytes behind {before:?}: too much");
        }
        let leaf = everything_once().scan(&Input::new(&value).with_key("client_secret"));
        assert_eq!(leaf.first().map(|f| f.range.clone()), Some(0..len), "a leaf of {len} bytes");
        let jwt = format!("{}{}.{}J{value}.{value}", "ey", "JhbGciOiJIUzI1NiJ9", "ey");
        let text = format!("x {jwt} y");
        let found = everything_once().scan(&Input::new(&text));
        assert_eq!(found.first().map(|f| f.range.clone()), Some(2..2 + jwt.len()), "a JWT of {len} bytes");
    }
}

#[test]
fn a_value_that_is_cut_inside_a_character_is_covered_whole() {
    for len in [511, 512, 513] {
        let text = format!("API_TOKEN={}{} x", random_word(len), "é".repeat(400));
        let found = everything_once().scan(&Input::new(&text));
        assert_eq!(
            found.first().map(|f| f.range.clone()),
            Some(10..text.len() - 2),
            "{len} bytes, then others"
        );
    }
}

#[test]
fn a_leaf_is_judged_by_its_key() {
    let engine = Engine::new(&["secrets"]).unwrap();
    let found = |key: &str, text: &str| !engine.scan(&Input::new(text).with_key(key)).is_empty();
    assert!(found("password", "tr0ub4dor&3"));
    assert!(found("client_secret", "q7Zk29fLmXw84TbV"));
    for (key, text) in [
        ("", "tr0ub4dor&3"),
        ("username", "tr0ub4dor&3"),
        ("type", "password"),
        ("password", "string"),
        ("password", "${DB_PASSWORD}"),
        ("max_tokens", "4096"),
        ("tool_call_id", "call_Vx3kQ9mZ7LbT2wRc8NfYd4Hj"),
    ] {
        assert!(!found(key, text), "{key}: {text}");
    }
}

#[test]
fn what_traffic_is_full_of_is_no_finding() {
    let engine = Engine::new(&["secrets", "pii/payment-card", "pii/iban"]).unwrap();
    for text in [
        "toolu_01A09q90qw90lq917835lq9",
        "chatcmpl-AyPNinnUqUDYo9SAdA52NobMflmj2",
        "msg_01XFDUDYJgAACzvnptvVoYEL",
        "fc_67ca09c6bedc8190a7abfec07b1a1332096610f474011cc0",
        "resp_67cb71b351908190a308f3859487620d06981a8637e6bc44",
        "9c5b94b1-35ad-49bb-b118-8e8fc24abf80",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "created_at: 1731492827, updated 2024-11-13T10:13:47.000Z",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "{\"password\": {\"type\": \"string\", \"description\": \"The user's password\"}}",
        "let token = self.tokens.next_token()?; let key = map.get(&key);",
        "prompt_cache_key, max_completion_tokens, safety_identifier",
    ] {
        let findings = engine.scan(&Input::new(text));
        assert!(findings.is_empty(), "{text}: {findings:?}");
    }
}

#[test]
fn prefix_only_runs_no_other_detector() {
    let engine = everything();
    let text = "password = \"tr0ub4dor&3\" 4539578763621486 jane@example.org";
    assert!(!engine.scan(&Input::new(text)).is_empty());
    assert!(engine.scan(&Input::new(text).prefix_only()).is_empty());
}

#[test]
fn the_digest_names_the_selection() {
    let digest = |selectors: &[&str]| Engine::new(selectors).unwrap().digest();
    assert_eq!(digest(&["secrets", "pii"]), digest(&["pii", "secrets", "pii/email"]));
    assert_ne!(digest(&["secrets"]), digest(&["secrets", "pii/email"]));
}

#[test]
fn at_least_a_hundred_and_fifty_secret_detectors_are_there() {
    let secrets = all_detectors().iter().filter(|d| d.is_of("secrets")).count();
    assert!(secrets >= 150, "{secrets}");
}

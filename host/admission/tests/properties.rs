//! The checks that fuzz targets run for minutes, for some hundred cases in every test run.

#![allow(clippy::unwrap_used, reason = "a test panics where its set-up fails")]

mod checks;
#[path = "../../wasm/tests/wasm/support/guest.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of the runner")]
mod guest;

use leafgate_admission::{Binary, CONTRACT, Telling, admit};
use proptest::prelude::*;

/// Bytes of texts that are nearly signatures, scripts, schemas and pointers.
fn nearly_words() -> impl Strategy<Value = Vec<u8>> {
    let piece = proptest::sample::select(
        &[
            "ed25519:",
            "00",
            "ff",
            " ",
            "\n",
            "\0",
            "{",
            "}",
            "\"type\":",
            "\"enum\":",
            "[",
            "]",
            "\"a\"",
            ":",
            ",",
            "1",
            "/a",
            ": ",
            "$ref",
            "#",
            "config",
            "\u{1b}",
            "é",
            "NAME",
            "\"properties\":",
            "\"required\":",
        ][..],
    );
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_file_is_refused_in_a_line_or_is_a_plugin(changes in proptest::collection::vec(any::<u8>(), 0..24)) {
        checks::file(&changes);
    }

    #[test]
    fn any_bytes_behind_the_magic_are_refused_in_a_line(bytes: Vec<u8>, component: bool) {
        let version: [u8; 4] = if component { [0x0d, 0, 1, 0] } else { [1, 0, 0, 0] };
        checks::file(&[b"\0asm", &version, &bytes[..]].concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_words_are_told_in_a_line(words in prop_oneof![nearly_words(), any::<Vec<u8>>()]) {
        checks::words(&words);
    }

    #[test]
    fn an_answer_counts_if_and_only_if_each_item_fits(choices: Vec<u8>) {
        checks::answer(&choices);
    }
}

/// What inputs change is what it is meant to be: five plugins, four of which tell their state, and
/// three that are refused, each for its own reason.
#[test]
fn every_plugin_to_change_passes_the_check_unchanged() {
    let mut told = Vec::new();
    for (place, base) in checks::BASES.iter().enumerate() {
        checks::file(&[u8::try_from(place).unwrap()]);
        let binary = Binary::new(base.clone());
        match admit(&binary, CONTRACT) {
            Ok(admitted) => told.push(format!("{:?}", Telling::new(&binary, &admitted).err())),
            Err(refusal) => told.push(refusal.to_string()),
        }
    }
    assert_eq!(told[..5], ["None", "Some(Component)", "None", "None", "None"]);
    for (told, expected) in told[5..].iter().zip(["both", "a newer contract", "does not say which contract"])
    {
        assert!(told.contains(expected), "{told}");
    }
}

/// A name of an import is the author's, and stands in a message.
#[test]
fn a_name_writes_no_line_of_the_log() {
    let import = r#"(module (import "\1b[2J\0aerror: forged" "a" (func)))"#;
    let binary = Binary::new(wat::parse_str(import).unwrap());
    let refused = admit(&binary, CONTRACT).err().unwrap();
    assert_eq!(
        refused.to_string(),
        r"it imports `\u{1b}[2J\nerror: forged.a`, and a plugin may import nothing but `leafgate:plugin/host`"
    );
    let long = format!("(module {})", r#"(import "env" "NAME" (func))"#.repeat(9))
        .replace("NAME", &"n".repeat(50_000));
    checks::file(&wat::parse_str(long).unwrap());
}

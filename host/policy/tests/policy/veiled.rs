//! P-22: what holds a request because it cannot be redacted is masked in what people see of it, however it is encoded.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use leafgate_policy::Verdict;
use leafgate_tree::display_mask;
use serde_json::json;

use super::support::*;

const RULE: &str = "[[rule]]\nid = \"secrets\"\nmatch = {}\ndetect = [\"secrets\"]\naction = \"redact\"\non_unredactable = \"pause\"\n";

fn each(text: &str, spell: impl Fn(u8) -> String) -> String {
    text.bytes().map(spell).collect()
}

fn base32(text: &str) -> String {
    const SIGNS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bits: String = each(text, |byte| format!("{byte:08b}"));
    let sign = |bits: &[u8]| {
        let bits = format!("{:0<5}", std::str::from_utf8(bits).unwrap());
        char::from(SIGNS[usize::from_str_radix(&bits, 2).unwrap()])
    };
    let signs: String = bits.as_bytes().chunks(5).map(sign).collect();
    format!("{signs}{}", "=".repeat(signs.len().next_multiple_of(8) - signs.len()))
}

fn hexdump(text: &str) -> String {
    let mut dump = String::new();
    for (line, bytes) in text.as_bytes().chunks(16).enumerate() {
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ =
            writeln!(dump, "{:08x}  {:<48}  |{}|", line * 16, hex.join(" "), String::from_utf8_lossy(bytes));
    }
    dump
}

/// Each way in which the detector reads an encoded text, and no value is replaced.
fn encoded(text: &str) -> Vec<(&'static str, String)> {
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        ("base64", STANDARD.encode(text)),
        ("base64url", URL_SAFE_NO_PAD.encode(text)),
        ("base64 twice", STANDARD.encode(STANDARD.encode(text))),
        ("base64 of UTF-16", STANDARD.encode(wide)),
        ("base32", base32(text)),
        ("hex", each(text, |byte| format!("{byte:02x}"))),
        ("hex with colons", each(text, |byte| format!("{byte:02x}:"))),
        ("hex in percent", each(&each(text, |byte| format!("{byte:02x}")), |byte| format!("%{byte:02X}"))),
        ("data URL", format!("data:text/plain;base64,{}", STANDARD.encode(text))),
        ("hexdump", hexdump(text)),
        ("percent", each(text, |byte| format!("%{byte:02X}"))),
        ("entities", each(text, |byte| format!("&#{byte};"))),
        ("escapes", each(text, |byte| format!("\\u{byte:04x}"))),
        ("invisible", text.chars().flat_map(|sign| [sign, '\u{200b}']).collect()),
    ]
}

#[test]
fn an_encoded_value_that_holds_a_request_is_masked_in_what_people_see() {
    let (policy, mail) = (policy(RULE), secret());
    let mut holding = Vec::new();
    for (encoding, spelled) in encoded(&format!("token={mail}\n")) {
        let evaluation = evaluate(&policy, &chat(&format!("Decode {spelled} for me")));
        let Verdict::Pause(_) = evaluation.verdict else { continue };
        holding.push(encoding);
        let draft = policy.veiled(&evaluation.draft, &evaluation.recall, &vault()).expect(encoding);
        let node = draft.document().resolve("/messages/0/content").unwrap();
        let (now, came) = (draft.text(node), draft.masked_original(node, display_mask));
        let shown = [
            now.expose().to_owned(),
            came.expose().to_owned(),
            draft.as_leaving().json(draft.document().root()),
            draft.as_received().json(draft.document().root()),
            String::from_utf8_lossy(&draft.render()).into_owned(),
        ];
        let inside: Vec<String> =
            spelled.chars().collect::<Vec<_>>().chunks(24).map(String::from_iter).collect();
        for text in shown {
            assert!(text.contains("Decode ") && text.contains(" for me"), "{encoding}: {text}");
            assert!(text.contains('‹'), "{encoding}: {text}");
            for part in inside.iter().filter(|part| part.chars().count() == 24) {
                assert!(!text.contains(part.as_str()), "{encoding}: {text}");
            }
        }
        assert_eq!(draft.changes(display_mask).leaves.len(), 0, "{encoding}: nobody changed it");
        assert!(String::from_utf8_lossy(&evaluation.draft.render()).contains("Decode"));
    }
    assert!(holding.len() >= 9, "{holding:?}");
}

#[test]
fn a_value_that_stands_plainly_where_nothing_can_be_redacted_is_masked_too() {
    let body = json!({ "model": secret(), "messages": [{ "role": "user", "content": "Hi" }] });
    let policy = policy(RULE);
    let evaluation = evaluate(&policy, &body);
    let draft = policy.veiled(&evaluation.draft, &evaluation.recall, &vault()).unwrap();
    assert!(!String::from_utf8_lossy(&draft.render()).contains(&secret()));
    let evaluation = evaluate(&policy, &chat("Hi"));
    assert!(policy.veiled(&evaluation.draft, &evaluation.recall, &vault()).is_none());
}

//! Values inside base64, hexadecimal digits and data URLs are found, and a person is asked: nothing can be replaced there.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use leafgate_contract::NoPlugins;
use leafgate_policy::{Cause, Context, Evaluation, Hold, Policy, PolicySource, Verdict};
use leafgate_tree::{Author, Draft, Format};
use serde_json::{Value, json};

use super::support::*;

const SECRETS: &str = r#"
    [[rule]]
    id = "secrets"
    match = {}
    detect = ["secrets"]
    action = "redact"
"#;

fn words() -> String {
    format!("the key is {} for now", secret())
}

/// Each encoding, with what the hold calls it.
fn encodings(text: &str) -> Vec<(&'static str, String)> {
    let plain = STANDARD.encode(text);
    let lines: Vec<&str> =
        plain.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    vec![
        ("base64", plain.clone()),
        ("base64", URL_SAFE_NO_PAD.encode(text)),
        ("base64", lines.join("\n")),
        ("hexadecimal digits", hex),
        ("a data URL", format!("data:application/json;base64,{plain}")),
    ]
}

#[track_caller]
fn pause(evaluation: &Evaluation) -> &Hold {
    match &evaluation.verdict {
        Verdict::Pause(holds) if holds.len() == 1 => &holds[0],
        other => panic!("not one pause: {other:?}"),
    }
}

#[test]
fn every_encoding_pauses_in_every_position() {
    let policy = policy(SECRETS);
    let body = json!({
        "model": "gpt-4o",
        "metadata": {"note": "here"},
        "tools": [{"type": "function", "function": {"name": "f", "description": "here", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "here"},
            {"role": "user", "content": [
                {"type": "text", "text": "here"},
                {"type": "image_url", "image_url": {"url": "here"}},
                {"type": "file", "file": {"file_data": "here"}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "here"}},
            ]},
            {"role": "tool", "tool_call_id": "call_1", "content": "here"},
        ],
    });
    let pointers = [
        "/metadata/note",
        "/tools/0/function/description",
        "/messages/0/content",
        "/messages/1/content/0/text",
        "/messages/1/content/1/image_url/url",
        "/messages/1/content/2/file/file_data",
        "/messages/2/tool_calls/0/function/arguments",
        "/messages/3/content",
        "/messages/3/tool_call_id",
    ];
    for pointer in pointers {
        for (name, encoded) in encodings(&words()) {
            let texts =
                [encoded.clone(), format!("before {encoded} after"), json!({"inner": [encoded]}).to_string()];
            for text in texts {
                let mut body = body.clone();
                *body.pointer_mut(pointer).unwrap() = text.into();
                let evaluation = evaluate(&policy, &body);
                let hold = pause(&evaluation);
                assert_eq!(hold.cause, Cause::Unredactable);
                assert!(
                    hold.detail.starts_with(&format!("SECRET in {name}, at {pointer}")),
                    "{}",
                    hold.detail
                );
                assert!(!told(&evaluation).contains(&secret()));
                assert_eq!(sent(&evaluation), body, "nothing is replaced at {pointer}");
            }
        }
    }
}

#[test]
fn a_rule_may_say_what_becomes_of_encoded_values() {
    let body = chat(&STANDARD.encode(words()));
    let block_rule = policy(&format!("{SECRETS}\non_unredactable = \"block\""));
    assert!(block(&evaluate(&block_rule, &body)).detail.contains("in base64"));
    let pause_rule = policy(&format!("{SECRETS}\non_unredactable = \"pause\"\nreason = \"Encoded\""));
    assert_eq!(pause(&evaluate(&pause_rule, &body)).reason, "Encoded");

    let monitor = policy(&format!("{SECRETS}\nmode = \"monitor\""));
    let evaluation = evaluate(&monitor, &body);
    assert_forward(&evaluation);
    assert_eq!(evaluation.report.rules[0].findings["SECRET"], 1);
    assert_eq!(evaluation.report.rules[0].unredactable, 1);
}

#[test]
fn an_encoding_inside_an_encoding_is_undone() {
    let inner = json!({ "blob": STANDARD.encode(words()) }).to_string();
    let hex: String = inner.bytes().map(|byte| format!("{byte:02x}")).collect();
    let evaluation =
        evaluate(&policy(SECRETS), &chat(&format!("vscode-remote://dev-container%2B{hex}/work")));
    assert!(pause(&evaluation).detail.starts_with("SECRET in base64 in hexadecimal digits"));
}

#[test]
fn escapes_inside_an_encoding_are_undone() {
    let escaped = format!(r#"{{"key": "{}"}}"#, secret().replace('_', "\\u005f"));
    pause(&evaluate(&policy(SECRETS), &chat(&STANDARD.encode(escaped))));
}

#[test]
fn an_encoded_value_that_is_redacted_anyway_asks_nobody() {
    let (head, payload) =
        (r#"{"alg":"HS256","typ":"JWT"}"#, json!({"email": EMAIL, "password": secret()}).to_string());
    let jwt = [head, &payload, "0123456789abcdef"].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let pair = STANDARD.encode(format!("admin:{}", secret()));
    for text in
        [format!("token {jwt}"), format!("Authorization: Basic {pair}"), format!("password = \"{pair}\"")]
    {
        let evaluation = evaluate(&policy(SECRETS), &chat(&text));
        assert_forward(&evaluation);
        let sent = sent_at(&evaluation, "/messages/0/content");
        assert!(!sent.contains(&pair) && !sent.contains(&jwt), "{sent}");
    }
}

#[test]
fn a_rule_in_monitor_mode_does_not_speak_for_one_that_acts() {
    let rules = format!(
        "{}\nmode = \"monitor\"\n{}",
        SECRETS.replace(r#""secrets"]"#, r#""secrets/basic-credentials"]"#),
        SECRETS
            .replace(r#"id = "secrets""#, r#"id = "github""#)
            .replace(r#"["secrets"]"#, r#"["secrets/github-token"]"#)
    );
    let pair = STANDARD.encode(format!("admin:{}", secret()));
    let evaluation = evaluate(&policy(&rules), &chat(&format!("Authorization: Basic {pair}")));
    assert_eq!(&*pause(&evaluation).rule, "github");
}

#[test]
fn a_token_of_ours_inside_an_encoding_is_none_of_our_business() {
    let text = format!("password = {}", token("SECRET", &secret()));
    let body = chat(&STANDARD.encode(text));
    let evaluation = evaluate(&policy(SECRETS), &body);
    assert_forward(&evaluation);
    assert_eq!(sent(&evaluation), body);
}

#[test]
fn media_and_what_the_provider_encrypted_is_not_decoded() {
    let encoded = STANDARD.encode(words());
    let heads: [&[u8]; 5] = [
        b"\x89PNG\r\n\x1a\n",
        b"RIFF\0\0\0\0WEBPVP8 ",
        b"\0\0\0\x14ftypheic\0\0\0\0mif1\0\0\0\x40meta",
        b"%PDF-",
        b"PK\x03\x04",
    ];
    for head in heads {
        let file = [head.to_vec(), vec![0xfe; 60], words().into_bytes()].concat();
        let url = format!("data:image/png;base64,{}", STANDARD.encode(file));
        let body = json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]});
        assert_forward(&evaluate(&policy(SECRETS), &body));
    }
    let thinking = json!({"messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": encoded}]},
        {"role": "user", "content": "on"},
    ]});
    let document = parse(&thinking.to_string(), Format::AnthropicMessages);
    assert_forward(&policy(SECRETS).evaluate(document, &Context::default(), &vault()));
}

#[test]
fn text_at_a_place_for_media_is_looked_at_even_where_it_begins_like_media() {
    for text in [format!("BMW owner, {}", words()), format!("<svg><!-- {} --></svg>", words())] {
        let url = format!("data:image/svg+xml;base64,{}", STANDARD.encode(text));
        let body = json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]});
        let evaluation = evaluate(&policy(SECRETS), &body);
        assert!(pause(&evaluation).detail.contains("in a data URL, at /messages/0/content/0/image_url/url"));
    }
}

#[test]
fn a_detector_plugin_is_shown_what_is_decoded() {
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let rules = r#"
        [[rule]]
        id = "names"
        match = { role = "user" }
        detect = ["plugin:names"]
        action = "redact"
        [plugins.names]
        file = "names.wasm"
    "#;
    let body = chat(&STANDARD.encode("a letter to Acme, Inc."));
    let evaluation = evaluate(&policy_with(rules, &fakes), &body);
    assert_eq!(pause(&evaluation).detail, "NAME in base64, at /messages/0/content");
}

#[test]
fn what_a_person_encodes_asks_again() {
    let policy = policy(SECRETS);
    let Evaluation { draft, recall, .. } = evaluate(&policy, &chat("hello"));
    let mut changed: Draft = draft;
    let leaf = changed.document().leaves().find(|leaf| leaf.text().expose() == "hello").unwrap().id();
    changed.set(leaf, &STANDARD.encode(words()), &Author::Person).unwrap();
    let verdict = policy.review(&mut changed, &Context::default(), &vault(), &recall).unwrap();
    assert!(matches!(verdict, Verdict::Pause(_)), "{verdict:?}");
}

#[test]
fn a_body_that_is_no_json_is_decoded_too() {
    let document = Arc::new(leafgate_tree::Document::raw(format!("see {}", STANDARD.encode(words())).into()));
    let default = Policy::load(&PolicySource::Default, &NoPlugins).unwrap();
    pause(&default.evaluate(document, &Context::default(), &vault()));
}

#[test]
fn a_place_is_told_without_what_stands_there() {
    let body: Value = chat(&STANDARD.encode(words()));
    let shown = told(&evaluate(&policy(SECRETS), &body));
    assert!(!shown.contains(&STANDARD.encode(words())) && !shown.contains("the key is"));
}

//! Clients resend the whole history: what was looked at before is not looked at again, and nothing comes out differently for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leafgate_contract::{Fault, PluginFinding};
use leafgate_policy::{Cause, Verdict};
use serde_json::json;

use super::support::*;

const NAMES: &str = r#"
    [[rule]]
    id = "names"
    match = { kind = "text" }
    detect = ["plugin:names"]
    action = "redact"
    [plugins.names]
    file = "names.wasm"
"#;

fn long(text: &str) -> String {
    format!("{text}, in a message that is long enough to be remembered")
}

#[test]
fn a_detector_plugin_is_shown_what_is_new() {
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let policy = policy_with(NAMES, &fakes);
    let mut texts = vec![long("at Acme"), long("of Acme")];
    evaluate(&policy, &history(&texts));
    texts.push(long("by Acme"));
    let evaluation = evaluate(&policy, &history(&texts));
    let calls = fakes.get("names").calls();
    assert!(calls[0].starts_with(&texts[..2]), "and the keys");
    assert_eq!(calls[1..], [texts[2..].to_vec()]);
    for turn in 0..3 {
        let sent = sent_at(&evaluation, &format!("/messages/{turn}/content"));
        assert!(sent.contains(&token("NAME", "Acme")) && !sent.contains("Acme"), "{sent}");
    }
    assert_eq!(evaluation.report.rules[0].findings["NAME"], 3);
}

#[test]
fn an_answer_is_for_one_leaf_as_the_plugin_saw_it() {
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let policy = policy_with(NAMES, &fakes);
    let text = long("at Acme");
    for role in ["user", "assistant", "user"] {
        evaluate(&policy, &json!({"messages": [{"role": role, "content": text}]}));
    }
    assert_eq!(fakes.get("names").calls().len(), 2, "another role is another question");
}

#[test]
fn a_fault_is_not_remembered() {
    let fails_on = |word: &'static str| {
        Fake::detector(move |leaves| match leaves.iter().any(|leaf| leaf.text.contains(word)) {
            true => Err(Fault::Trap { code: "unreachable".into() }),
            false => Ok(Vec::<PluginFinding>::new()),
        })
    };
    let fakes = Fakes::default().with("names", fails_on("poison"));
    let policy = policy_with(NAMES, &fakes);
    for _ in 0..2 {
        let evaluation = evaluate(&policy, &history(&[long("poison")]));
        assert_eq!(block(&evaluation).cause, Cause::Error);
    }
    assert_eq!(fakes.get("names").calls().len(), 2);
}

#[test]
fn what_is_encoded_pauses_every_time() {
    let policy =
        policy("extends = \"default\"\n[[rule]]\nid = \"x\"\nmatch = {}\nwhen = 'false'\naction = \"block\"");
    let body = chat(&format!("see {}", STANDARD.encode(long(&secret()))));
    for turn in 0..3 {
        let evaluation = evaluate(&policy, &body);
        assert!(matches!(evaluation.verdict, Verdict::Pause(_)), "turn {turn}: {:?}", evaluation.verdict);
    }
}

#[test]
fn a_protected_leaf_does_not_answer_for_an_open_one_with_the_same_text() {
    let policy = policy("[[rule]]\nid = \"mail\"\nmatch = {}\ndetect = [\"pii/email\"]\naction = \"redact\"");
    let text = long(EMAIL);
    let mut body = tool_chat(&json!({}), "ok");
    body["messages"][2]["tool_call_id"] = text.clone().into();
    assert_forward(&evaluate(&policy, &body));
    let evaluation = evaluate(&policy, &tool_chat(&json!({}), &text));
    assert_eq!(evaluation.draft.redactions().count(), 1);
}

//! Clients resend the whole history: what was looked at before is not looked at again, and nothing comes out differently for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leafgate_policy::plugin::{Fault, PluginFinding};
use leafgate_policy::{Cause, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

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

fn history(texts: &[String]) -> Value {
    let role = |turn: usize| if turn.is_multiple_of(2) { "user" } else { "assistant" };
    let message = |(turn, text): (usize, &String)| json!({"role": role(turn), "content": text});
    json!({"model": "gpt-4o", "messages": texts.iter().enumerate().map(message).collect::<Vec<_>>()})
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

proptest! {
    // Each case loads several policies, which takes longer than all that they do.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_policy_that_remembers_does_what_a_new_one_does(
        turns in prop::collection::vec((0usize..5, "[a-z ]{20,60}"), 1..6)
    ) {
        let rules = r#"
            [[rule]]
            id = "secrets"
            match = {}
            detect = ["secrets"]
            action = "redact"
            [[rule]]
            id = "mail"
            match = { role = "user" }
            detect = ["pii/email"]
            action = "redact"
            with = "mask"
        "#;
        let part = |kind: usize| match kind {
            0 => String::new(),
            1 => secret(),
            2 => EMAIL.to_owned(),
            3 => STANDARD.encode(format!("the key is {}", secret())),
            _ => format!("{} {EMAIL}", token("SECRET", &secret())),
        };
        let texts: Vec<String> = turns.iter().map(|(kind, words)| format!("{words} {} {words}", part(*kind))).collect();
        let remembers = policy(rules);
        for turn in 1..=texts.len() {
            let body = history(&texts[..turn]);
            let (one, other) = (evaluate(&remembers, &body), evaluate(&policy(rules), &body));
            prop_assert_eq!(one.draft.render(), other.draft.render());
            prop_assert_eq!(&one.verdict, &other.verdict);
            let counts = |evaluation: &leafgate_policy::Evaluation| {
                evaluation.report.rules.iter().map(|rule| (rule.findings.clone(), rule.unredactable)).collect::<Vec<_>>()
            };
            prop_assert_eq!(counts(&one), counts(&other));
        }
    }
}

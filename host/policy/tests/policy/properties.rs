//! Invariants over generated requests and policies.

use std::sync::Arc;

use leafgate_contract::{Action, PluginEdit, Target};
use leafgate_policy::{Context, Evaluation, Policy, Verdict};
use leafgate_tree::Document;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::*;

/// A text that now and then holds something to find, in hostile company.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z \\\\\"\n]{0,12}".prop_map(String::from),
        2 => Just(EMAIL.to_owned()),
        1 => Just(secret()),
        1 => Just(card()),
        1 => Just(token("EMAIL", EMAIL)),
        1 => Just("EMAIL_0123456789abcdef".to_owned()),
        1 => Just("日本\u{200b}é\u{1F600}".to_owned()),
    ];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.join(", "))
}

fn message() -> impl Strategy<Value = Value> {
    (prop::sample::select(vec!["system", "user", "assistant"]), text(), any::<bool>()).prop_map(
        |(role, text, parts)| {
            let content = if parts { json!([{"type": "text", "text": text}]) } else { json!(text) };
            json!({"role": role, "content": content})
        },
    )
}

fn body() -> impl Strategy<Value = Value> {
    (prop::collection::vec(message(), 1..5), text(), text()).prop_map(|(mut messages, argument, result)| {
        let arguments = json!({"path": argument, "n": [1, {"deep": argument}]}).to_string();
        let call =
            json!({"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": "call_1", "content": result}));
        json!({"model": "m", "messages": messages, "temperature": 0.5})
    })
}

const REDACT: &str = r#"
    [[rule]]
    id = "find"
    match = {}
    detect = ["secrets", "pii/email", "pii/payment-card"]
    action = "redact"
"#;

/// Rules that write in every way, with secrets in what they write, and a plugin that repeats all that it sees.
fn writing_policy() -> Policy {
    let rules = format!(
        r#"
        {REDACT}
        [[rule]]
        id = "keep"
        match = {{ role = "system" }}
        action = "pin"
        [[rule]]
        id = "prepend"
        match = {{ path = "messages[*].content", role = "user" }}
        action = "rewrite"
        prepend = "{EMAIL} says: "
        [[rule]]
        id = "swap"
        match = {{ kind = ["text", "tool-result"] }}
        when = 'leaf.text.size() > 3'
        action = "rewrite"
        replace = {{ pattern = "a(.)", with = "${{1}}a {EMAIL} " }}
        [[rule]]
        id = "echo"
        match = {{ kind = ["text", "tool-arguments"] }}
        action = "transform"
        plugin = "echo"
        sees = "raw"
        [plugins.echo]
        file = "echo.wasm"
        "#
    );
    let echo = Fake::transformer(|request| {
        let edit = |(place, leaf): (usize, &leafgate_contract::TransformLeaf<'_>)| PluginEdit {
            target: Target::Leaf(place),
            action: Action::Set(format!("{0}, {0}", leaf.text)),
        };
        let texts = request.leaves.iter().enumerate();
        Ok(texts.filter(|(_, leaf)| leaf.value == leafgate_tree::ValueType::Text).map(edit).collect())
    });
    policy_with(&rules, &Fakes::default().with("echo", echo))
}

fn run(policy: &Policy, body: &Value) -> Evaluation {
    policy.evaluate(document(body), &Context { session: "s", ..Context::default() }, &vault())
}

fn holds_a_secret(text: &str) -> bool {
    [EMAIL.to_owned(), secret(), card()].iter().any(|value| text.contains(value.as_str()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn invariant_1_rules_that_change_nothing_forward_the_received_buffer(body in body()) {
        let rules = r#"
            [[rule]]
            id = "none"
            match = {}
            detect = ["pii/iban"]
            action = "redact"
            [[rule]]
            id = "same"
            match = { kind = "text" }
            action = "rewrite"
            replace = { pattern = '(z)q', with = '${1}q' }
            [[rule]]
            id = "keep"
            match = {}
            action = "pin"
        "#;
        let document = document(&body);
        let evaluation = policy(rules).evaluate(Arc::clone(&document), &Context::default(), &vault());
        prop_assert_eq!(evaluation.draft.render().as_ptr(), document.source().as_ptr());
    }

    #[test]
    fn invariant_5_same_in_same_out(body in body()) {
        let policy = writing_policy();
        let (first, second) = (run(&policy, &body), run(&policy, &body));
        prop_assert_eq!(first.draft.render(), second.draft.render());
        prop_assert_eq!(&first.verdict, &second.verdict);
        // Another load of the same rules is the same policy.
        prop_assert_eq!(run(&writing_policy(), &body).draft.render(), first.draft.render());
    }

    #[test]
    fn invariant_6_no_value_leaves_or_is_told(body in body()) {
        let evaluation = run(&writing_policy(), &body);
        prop_assert!(!holds_a_secret(&told(&evaluation)), "told");
        if evaluation.verdict == Verdict::Forward {
            let sent = String::from_utf8(evaluation.draft.render().to_vec()).unwrap();
            prop_assert!(!holds_a_secret(&sent), "sent: {}", sent);
        }
    }

    #[test]
    fn invariant_7_a_guard_that_cannot_run_never_passes(body in body()) {
        let rules = format!("{REDACT}when = 'leaf.text.size() / (leaf.text.size() - leaf.text.size()) > 0'\n");
        let evaluation = run(&policy(&rules), &body);
        prop_assert!(matches!(evaluation.verdict, Verdict::Block(_)), "{:?}", evaluation.verdict);
    }

    #[test]
    fn invariant_10_pinned_leaves_differ_by_redactions_only(body in body()) {
        let evaluation = run(&writing_policy(), &body);
        let expected = run(&policy(REDACT), &body);
        let document: &Arc<Document> = evaluation.draft.document();
        for leaf in document.leaves().filter(|leaf| evaluation.draft.is_pinned(leaf.id())) {
            prop_assert_eq!(evaluation.draft.text(leaf.id()), expected.draft.text(leaf.id()));
        }
        prop_assert!(evaluation.draft.edits().all(|edit| !evaluation.draft.is_pinned(edit.target)));
    }

    #[test]
    fn redacting_what_was_redacted_changes_nothing(body in body()) {
        let policy = policy(REDACT);
        let once = run(&policy, &body);
        prop_assume!(once.verdict == Verdict::Forward);
        let again = run(&policy, &sent(&once));
        prop_assert_eq!(sent(&again), sent(&once));
    }

    #[test]
    fn undo_reaches_no_secret(body in body()) {
        let mut evaluation = run(&writing_policy(), &body);
        prop_assume!(evaluation.verdict == Verdict::Forward);
        while evaluation.draft.undo().is_some() {
            let sent = String::from_utf8(evaluation.draft.render().to_vec()).unwrap();
            prop_assert!(!holds_a_secret(&sent), "{}", sent);
        }
        prop_assert_eq!(evaluation.draft.render(), run(&policy(REDACT), &body).draft.render());
    }
}

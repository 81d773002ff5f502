//! Phase 3: edits that people saved, between pins and rewriting rules.

use leafgate_policy::{Cause, Context, Evaluation, Hold, Phase, Policy, SAVED_EDITS, Verdict};
use leafgate_tree::{Author, Draft, EditError};
use serde_json::{Value, json};

use super::support::{
    EMAIL, assert_forward, block, chat, document, evaluate, policy, sent, sent_at, token, vault,
};

const RULES: &str = r#"
[[rule]]
id = "addresses"
match = {}
detect = ["pii/email"]
action = "redact"

[[rule]]
id = "steady"
match = { role = "system" }
action = "pin"

[[rule]]
id = "polite"
match = { role = "user" }
action = "rewrite"
append = " Please."
"#;

fn saved() -> Author {
    Author::SavedEdit { id: "one".into() }
}

fn with_saved(policy: &Policy, body: &Value, make: impl FnOnce(&mut Draft) -> Vec<Hold>) -> Evaluation {
    let context = Context { session: "s1", ..Context::default() };
    policy.evaluate_with_saved(document(body), &context, &vault(), make)
}

fn sets(pointer: &'static str, text: String) -> impl FnOnce(&mut Draft) -> Vec<Hold> {
    move |draft| {
        let node = draft.document().resolve(pointer).unwrap();
        draft.set(node, &text, &saved()).unwrap();
        Vec::new()
    }
}

// S0-78
#[test]
fn a_saved_edit_finds_redacted_texts_and_rules_rewrite_after_it() {
    let body = chat(&format!("Write to {EMAIL}"));
    let found = std::cell::RefCell::new(String::new());
    let evaluation = with_saved(&policy(RULES), &body, |draft| {
        let node = draft.document().resolve("/messages/0/content").unwrap();
        found.replace(draft.text(node).expose().to_owned());
        draft.set(node, "Write to nobody.", &saved()).unwrap();
        Vec::new()
    });
    assert_eq!(found.into_inner(), format!("Write to {}", token("EMAIL", EMAIL)));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), "Write to nobody. Please.");
    let phases: Vec<_> = evaluation.report.phases.iter().map(|phase| phase.phase).collect();
    assert_eq!(phases, [Phase::Redact, Phase::Pin, Phase::Saved, Phase::Rewrite, Phase::Decide]);
    let authors: Vec<_> = evaluation.draft.edits().map(|edit| edit.author.to_string()).collect();
    assert_eq!(authors, ["saved edit one", "rule polite"]);
}

#[test]
fn invariant_10_what_a_saved_edit_writes_is_redacted_before_any_rule_sees_it() {
    let evaluation =
        with_saved(&policy(RULES), &chat("Hi"), sets("/messages/0/content", format!("Ask {EMAIL}.")));
    let expected = format!("Ask {}. Please.", token("EMAIL", EMAIL));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), expected);
    let mut draft = evaluation.draft.clone();
    while draft.undo().is_some() {
        assert!(!String::from_utf8_lossy(&draft.render()).contains(EMAIL), "no undo leads to it");
    }
    let put_in = with_saved(&policy(RULES), &chat("Hi"), |draft| {
        let before = draft.document().latest_user_message().unwrap();
        draft.insert(before, leafgate_tree::Role::User, &format!("Ask {EMAIL}."), &saved()).unwrap();
        Vec::new()
    });
    assert_eq!(sent_at(&put_in, "/messages/0/content"), format!("Ask {}.", token("EMAIL", EMAIL)));
}

// S0-78
#[test]
fn invariant_10_a_leaf_that_a_rule_pinned_takes_no_saved_edit() {
    let body = json!({ "messages": [{ "role": "system", "content": "Be brief" }, { "role": "user", "content": "Hi" }] });
    let evaluation = with_saved(&policy(RULES), &body, |draft| {
        let node = draft.document().resolve("/messages/0/content").unwrap();
        assert!(matches!(draft.set(node, "Be long", &saved()), Err(EditError::Pinned { .. })));
        Vec::new()
    });
    assert_eq!(sent(&evaluation), sent(&evaluate(&policy(RULES), &body)));
}

#[test]
fn a_saved_edit_of_a_whole_json_text_is_what_rules_see() {
    let rules = r#"
[[rule]]
id = "no-drop"
match = {}
when = 'leaf.text.contains("DROP")'
action = "block"
"#;
    let body = super::support::tool_chat(&json!({ "query": "SELECT 1" }), "1");
    let evaluation = with_saved(
        &policy(rules),
        &body,
        sets("/messages/1/tool_calls/0/function/arguments", r#"{"query": "DROP"}"#.to_owned()),
    );
    assert_eq!(&*block(&evaluation).rule, "no-drop");
}

#[test]
fn a_drift_waits_for_a_person_and_no_edit_of_the_turn_takes_that_away() {
    let policy = policy(RULES);
    let drifted =
        |_: &mut Draft| vec![Hold::drift("saved edit one (session): another text stands there".to_owned())];
    let evaluation = with_saved(&policy, &chat("Hi"), drifted);
    let Verdict::Pause(holds) = &evaluation.verdict else { panic!("{:?}", evaluation.verdict) };
    assert_eq!((holds[0].cause, &*holds[0].rule), (Cause::Drift, SAVED_EDITS));
    let mut draft = evaluation.draft.clone();
    let node = draft.document().resolve("/messages/0/content").unwrap();
    draft.set(node, "By hand", &Author::Person).unwrap();
    let context = Context { session: "s1", ..Context::default() };
    let again = policy.review(&mut draft, &context, &vault(), &evaluation.recall).unwrap();
    assert!(matches!(again, Verdict::Pause(holds) if holds[0].cause == Cause::Drift));
}

#[test]
fn a_block_comes_before_saved_edits_and_none_changes_nothing() {
    let blocking =
        format!("{RULES}\n[[rule]]\nid = \"b\"\nmatch = {{}}\ndetect = [\"secrets\"]\naction = \"redact\"\n");
    let body = chat("Hi");
    assert_eq!(
        sent(&with_saved(&policy(&blocking), &body, |_| Vec::new())),
        sent(&evaluate(&policy(&blocking), &body))
    );
    let evaluation = with_saved(&policy(RULES), &body, |_| Vec::new());
    assert_forward(&evaluation);
}

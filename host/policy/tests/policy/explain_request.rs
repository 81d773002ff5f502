//! Why a rule did something to a request, or did not.

use std::sync::Arc;

use leafgate_harness::recordings;
use leafgate_policy::{Context, Policy, RequestExplanation};
use leafgate_tree::{Document, Limits, NodeId};
use serde_json::json;

use super::support::*;

const RULES: &str = r#"
[[rule]]
id = "mail"
match = {}
detect = ["pii/email"]
action = "redact"

[[rule]]
id = "for-claude"
match = { model = "claude-*" }
action = "block"

[[rule]]
id = "many-tools"
match = {}
when = "request.tools > 10 && leaf.text.size() > 2"
action = "block"

[[rule]]
id = "polite"
match = { role = "user", kind = "text" }
when = 'leaf.text.contains("write") && leaf.text.endsWith("?")'
action = "rewrite"
append = " Please."

[[rule]]
id = "shell"
match = { tool = "Bash" }
action = "delete"

[[rule]]
id = "newest"
match = { latest = true }
when = 'leaf.text.size() > 5'
action = "rewrite"
prepend = "Now: "
mode = "monitor"

[[rule]]
id = "ask"
match = { section = "tool-result" }
action = "pause"
"#;

fn explain(policy: &Policy, body: &serde_json::Value) -> RequestExplanation {
    let document = document(body);
    let leaves: Vec<NodeId> = document.leaves().map(|leaf| leaf.id()).collect();
    policy.explain_request(document, &Context::default(), &vault(), &leaves).1
}

fn body() -> serde_json::Value {
    tool_chat(&json!({ "query": "select 1" }), &format!("write to {EMAIL}"))
}

fn shown(explanation: &RequestExplanation) -> String {
    // The folder and the generation are of this run.
    let shown = explanation.to_string().replace(&explanation.generation, "GENERATION");
    let without_folder = |line: &str| match line.split_once("/tmp/") {
        Some((before, rest)) => format!("{before}{}", rest.split_once('/').map_or("", |(_, file)| file)),
        None => line.to_owned(),
    };
    shown.lines().map(|line| without_folder(line) + "\n").collect()
}

#[test]
fn every_rule_is_told_with_what_it_did_or_the_first_thing_that_does_not_fit() {
    let mut explanation = explain(&policy(RULES), &body());
    explanation.leaves.clear();
    snapshot!(shown(&explanation));
}

#[test]
fn of_a_leaf_every_rule_is_told() {
    let mut explanation = explain(&policy(RULES), &body());
    explanation.leaves.retain(|leaf| matches!(&*leaf.pointer, "/messages/0/content" | "/messages/2/content"));
    snapshot!(shown(&explanation));
}

#[test]
fn no_text_of_a_leaf_is_told_and_no_key_that_holds_a_finding() {
    let mut body = body();
    body["metadata"] = json!({ EMAIL: "pineapple" });
    let explanation = explain(&policy(RULES), &body);
    let told = format!("{explanation}{}{explanation:?}", serde_json::to_string(&explanation).unwrap());
    for text in [EMAIL, "pineapple", "select 1"] {
        assert!(!told.contains(text), "{text} in {told}");
    }
}

#[test]
fn rules_in_monitor_mode_say_what_they_would_have_done_and_where() {
    let rules = r#"
        mode = "monitor"
        [[rule]]
        id = "mail"
        match = {}
        detect = ["pii/email"]
        action = "redact"
        [[rule]]
        id = "short"
        match = { role = "user" }
        action = "rewrite"
        set = "x"
        [[rule]]
        id = "drop"
        match = { section = "tool-result" }
        action = "delete"
        [[rule]]
        id = "strip"
        match = {}
        action = "strip-tools"
        [[rule]]
        id = "stop"
        match = { tool = "run_sql" }
        action = "block"
    "#;
    let evaluation = evaluate(&policy(rules), &body());
    assert_forward(&evaluation);
    let would: Vec<String> = evaluation
        .report
        .rules
        .iter()
        .flat_map(|report| report.would.iter().map(move |would| (report, would)))
        .map(|(report, would)| {
            format!("{} {} {}", report.rule, would.what, would.at.as_deref().unwrap_or("-"))
        })
        .collect();
    let expected = [
        "mail redact EMAIL /messages/2/content",
        "short set /messages/0/content",
        "drop delete /messages/2",
        "strip delete /messages/1",
        "stop block /messages/1/tool_calls/0/function/arguments/query",
    ];
    assert_eq!(would, expected);
}

/// What rules did is read off the request; whether they match is asked before. Over every leaf of the recordings these agree, and a
/// request that is explained is judged like any other.
#[test]
fn explain_agrees_with_what_was_done_for_every_leaf() {
    let policy = policy(
        r#"
        [[rule]]
        id = "words"
        match = { role = ["user", "tool"] }
        detect = ["own/words"]
        action = "redact"
        on_unredactable = "pause"
        [[rule]]
        id = "keep"
        match = { role = "system" }
        action = "pin"
        [[rule]]
        id = "say"
        match = { kind = "text", section = ["user", "assistant"] }
        when = 'leaf.text.size() > 20 && leaf.text.contains("a")'
        action = "rewrite"
        append = "."
        [[rule]]
        id = "drop"
        match = { latest = true }
        when = 'leaf.text.contains("e")'
        action = "delete"
        [[rule]]
        id = "ask"
        match = { kind = "tool-arguments" }
        action = "pause"
        [[detector]]
        id = "words"
        words = ["the", "file", "please"]
        "#,
    );
    let mut leaves_seen = 0;
    // Of the larger set those that are quickly explained: every rule is asked about every leaf.
    let small = recordings::recorded().into_iter().filter(|recording| recording.body.len() < 40_000).take(30);
    for recording in recordings::examples().into_iter().chain(small) {
        let limits = Limits::default();
        let document =
            Arc::new(Document::parse(recording.body.clone().into(), recording.format, &limits).unwrap());
        let leaves: Vec<NodeId> = document.leaves().map(|leaf| leaf.id()).collect();
        let context = Context::default();
        let (evaluation, explanation) =
            policy.explain_request(Arc::clone(&document), &context, &vault(), &leaves);
        let plain = policy.evaluate(Arc::clone(&document), &context, &vault());
        assert_eq!(evaluation.draft.render(), plain.draft.render(), "{recording:?}");
        assert_eq!(evaluation.verdict, plain.verdict, "{recording:?}");
        assert_eq!(explanation.leaves.len(), leaves.len());
        for (place, rule) in explanation.rules.iter().enumerate() {
            let of_leaf = || explanation.leaves.iter().map(|leaf| (&leaf.pointer, &leaf.rules[place]));
            let matched = of_leaf().filter(|(_, of_leaf)| of_leaf.matched).count();
            assert_eq!(matched, rule.selected, "{recording:?}: {rule:?}");
            assert_eq!(
                rule.nearest.is_some(),
                matched == 0 && rule.why_not.is_none() && !leaves.is_empty(),
                "{rule:?}"
            );
            for (pointer, of_leaf) in of_leaf() {
                leaves_seen += 1;
                let acts = !of_leaf.did.is_empty();
                // A message that goes takes all its leaves along, and redaction looks again at what was written.
                let goes_along =
                    of_leaf.did.iter().all(|did| did == "left it out") || rule.action == "redact";
                assert!(!acts || of_leaf.matched || goes_along, "{recording:?} {pointer}: {of_leaf:?}");
                assert_eq!(of_leaf.matched, of_leaf.why_not.is_none());
                if rule.action == "pin" {
                    assert_eq!(
                        of_leaf.did.is_empty(),
                        !of_leaf.matched,
                        "{recording:?} {pointer}: {of_leaf:?}"
                    );
                }
            }
        }
    }
    assert!(leaves_seen > 3_000, "{leaves_seen}");
}

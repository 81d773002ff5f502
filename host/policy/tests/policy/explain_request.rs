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
    let timeless = |line: &&str| !line.starts_with("   took ");
    shown.lines().filter(timeless).map(|line| without_folder(line) + "\n").collect()
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
fn a_rule_that_counts_findings_says_how_many_are_missing() {
    let rules = |least: usize| {
        format!(
            "[[rule]]\nid = 'people'\nmatch = {{}}\ndetect = ['pii/email']\naction = 'redact'\n\
             [[rule]]\nid = 'many'\nmatch = {{}}\nfindings = ['pii']\nat_least = {least}\naction = 'pause'\n"
        )
    };
    let told = |least| {
        explain(&policy(&rules(least)), &chat(&format!("{EMAIL} a@b.example.org"))).rules.remove(1).did
    };
    assert_eq!(told(6), ["counts findings: 2 of at least 6, 4 missing"]);
    assert_eq!(told(2)[0], "counts findings: 2 of at least 2");
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
        id = "cool"
        match = {}
        action = "rewrite"
        options = { temperature = 0, "stream_options.include_usage" = true }
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
        "cool option /stream_options",
        "cool option /temperature",
        "stop block /messages/1/tool_calls/0/function/arguments/query",
    ];
    assert_eq!(would, expected);
}

/// What a rule let stand is neither an edit nor a hold, and is told all the same where it stands.
#[test]
fn of_a_leaf_what_was_let_stand_is_told_as_of_the_request() {
    let rules = format!(
        r#"
        [[rule]]
        id = "secrets"
        match = {{}}
        detect = ["secrets", "pii/email"]
        action = "redact"
        published = "keep"
        [[rule]]
        id = "fixed"
        match = {{ role = "user" }}
        action = "pin"
        [[rule]]
        id = "polite"
        match = {{ role = "user" }}
        action = "rewrite"
        append = " Please."
        [[exception]]
        rule = "secrets"
        value = "{EMAIL}"
        reason = "r"
        by = "b"
        until = "never"
        "#
    );
    let published = ["AKIA", "IOSFODNN7EXAMPLE"].concat();
    let body = chat(&format!("{published} is of {EMAIL} and of {EMAIL}"));
    let explanation = explain(&policy(&rules), &body);
    let leaf = explanation.leaves.iter().find(|leaf| leaf.pointer == "/messages/0/content").unwrap();
    let did = |rule: usize| leaf.rules[rule].did.join("; ");
    assert_eq!(did(0), "found published examples: 1 SECRET; let pass by an exception: 2 EMAIL");
    assert_eq!((did(1).as_str(), did(2).as_str()), ("pinned it", "left out an edit: pinned"));
    for line in leaf.rules[0].did.iter() {
        assert!(explanation.rules[0].did.contains(line), "{line} in {:?}", explanation.rules[0].did);
    }
}

#[test]
fn the_time_of_every_rule_that_applies_is_told() {
    let explanation = explain(&policy(RULES), &body());
    for rule in &explanation.rules {
        assert_eq!(rule.micros.is_some(), rule.why_not.is_none(), "{rule:?}");
    }
    let shown = explanation.rules[0].to_string();
    assert!(shown.lines().any(|line| line.starts_with("   took ") && line.ends_with(" µs")), "{shown}");
}

#[test]
fn the_whole_body_is_named_where_it_is_one_leaf() {
    let rules = "[[rule]]\nid = 'of-tools'\nmatch = { role = 'tool' }\naction = 'pause'\n\
                 [[rule]]\nid = 'any'\nmatch = { kind = 'other' }\naction = 'pause'\n";
    let raw = Arc::new(Document::raw(format!("words of {EMAIL}").into_bytes().into()));
    let leaves: Vec<NodeId> = raw.leaves().map(|leaf| leaf.id()).collect();
    let explain =
        |rules: &str| policy(rules).explain_request(Arc::clone(&raw), &Context::default(), &vault(), &leaves);
    let (evaluation, explanation) = explain(rules);
    let leafgate_policy::Verdict::Pause(holds) = &evaluation.verdict else { panic!("{evaluation:?}") };
    assert_eq!(holds[0].detail, "the whole body");
    let shown = format!(
        "{}{}",
        shown(&explanation),
        shown(&RequestExplanation { leaves: Vec::new(), ..explanation })
    );
    for empty in [" at \n", ": \n", " at ;", "nearest:  (", "\n: "] {
        assert!(!shown.contains(empty), "{empty:?} in {shown}");
    }
    assert!(shown.contains("nearest: the whole body ("), "{shown}");
    assert_eq!(block(&explain(RULES).0).detail, "EMAIL in a body that is not JSON");
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
        [[exception]]
        value = "file"
        match = { role = "user" }
        reason = "r"
        by = "b"
        until = "never"
        "#,
    );
    // How much an exception allows, as a line tells it.
    let allowed = |line: &str| -> usize {
        let counts = line.strip_prefix("let pass by an exception:").into_iter();
        counts
            .flat_map(|counts| counts.split_whitespace())
            .filter_map(|word| word.parse::<usize>().ok())
            .sum()
    };
    let (mut leaves_seen, mut allowed_in_leaves) = (0, 0);
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
            let mut told = 0;
            for (pointer, of_leaf) in of_leaf() {
                leaves_seen += 1;
                let acts = !of_leaf.did.is_empty();
                // A message that goes takes all its leaves along, and redaction looks again at what was written.
                let goes_along =
                    of_leaf.did.iter().all(|did| did == "left it out") || rule.action == "redact";
                assert!(!acts || of_leaf.matched || goes_along, "{recording:?} {pointer}: {of_leaf:?}");
                assert_eq!(of_leaf.matched, of_leaf.why_not.is_none());
                for line in &of_leaf.did {
                    told += allowed(line);
                }
                if rule.action == "pin" {
                    assert_eq!(
                        of_leaf.did.is_empty(),
                        !of_leaf.matched,
                        "{recording:?} {pointer}: {of_leaf:?}"
                    );
                }
            }
            // The rest of what is allowed stands in keys, and over the borders of parts.
            let of_request: usize = rule.did.iter().map(|line| allowed(line)).sum();
            assert!(told <= of_request, "{recording:?} {rule:?}: {told} of {of_request}");
            allowed_in_leaves += told;
        }
    }
    assert!(leaves_seen > 3_000 && allowed_in_leaves > 0, "{leaves_seen}, {allowed_in_leaves}");
}

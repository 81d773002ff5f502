//! Phase 1: what is found is replaced, wherever it can be, and holds the request where it cannot.

use leafgate_contract::NoPlugins;
use leafgate_policy::{Cause, Context, Evaluation, Policy, PolicySource, Verdict};
use leafgate_tree::{Document, Format};
use serde_json::json;

use super::support::*;

const EMAILS: &str = r#"
    [[rule]]
    id = "emails"
    match = {}
    detect = ["pii/email"]
    action = "redact"
"#;

#[test]
fn the_default_policy_tokenises_secrets_and_leaves_emails() {
    let policy = Policy::load(&PolicySource::Default, &NoPlugins).unwrap();
    let evaluation = evaluate(&policy, &chat(&format!("use {} of {EMAIL}", secret())));
    assert_forward(&evaluation);
    assert_eq!(
        sent_at(&evaluation, "/messages/0/content"),
        format!("use {} of {EMAIL}", token("SECRET", &secret()))
    );
    assert!(!told(&evaluation).contains(&secret()));
}

#[test]
fn no_policy_forwards_the_very_buffer() {
    let policy = Policy::load(&PolicySource::None, &NoPlugins).unwrap();
    let document = document(&chat(&secret()));
    let evaluation = policy.evaluate(document.clone(), &Context::default(), &vault());
    assert_forward(&evaluation);
    assert_eq!(evaluation.draft.render().as_ptr(), document.source().as_ptr());
}

#[test]
fn every_way_of_replacing() {
    for (with, expected) in [
        ("token", token("EMAIL", EMAIL)),
        ("mask", "[EMAIL]".to_owned()),
        ("hash", vault().keys().hash("EMAIL", EMAIL)),
        ("surrogate", leafgate_vault::surrogate(vault().keys(), "EMAIL", EMAIL)),
        ("drop", String::new()),
    ] {
        let policy = policy(&format!("{EMAILS}\nwith = \"{with}\""));
        let evaluation = evaluate(&policy, &chat(&format!("to {EMAIL}, now")));
        assert_eq!(sent_at(&evaluation, "/messages/0/content"), format!("to {expected}, now"), "{with}");
    }
}

#[test]
fn a_rule_that_restores_nothing_keeps_its_tokens_in_the_answer_whichever_rule_finds_the_value_too() {
    let other = "[[rule]]\nid = \"others\"\nmatch = {}\ndetect = [\"pii/email\"]\naction = \"redact\"";
    for rules in [format!("{EMAILS}\nrestore = \"off\""), format!("{EMAILS}\nrestore = \"off\"\n{other}")] {
        let vault = vault();
        let evaluation = policy(&rules).evaluate(document(&chat(EMAIL)), &Context::default(), &vault);
        assert_forward(&evaluation);
        let sent = sent_at(&evaluation, "/messages/0/content");
        assert_eq!(sent, token("EMAIL", EMAIL));
        assert_eq!(restore(&vault, &sent), sent);
    }
}

#[test]
fn restoring_means_something_to_tokens_alone() {
    let error =
        try_policy(&format!("{EMAILS}\nwith = \"mask\"\nrestore = \"off\""), &Fakes::default()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("`restore` means nothing to `with = \"mask\"`"), "{message}");
    assert!(message.contains("with = \"token\""), "{message}");
}

#[test]
fn the_vault_learns_what_tokens_stand_for() {
    let vault = vault();
    let document = document(&chat(EMAIL));
    let evaluation = policy(EMAILS).evaluate(document, &Context::default(), &vault);
    let token = sent_at(&evaluation, "/messages/0/content");
    assert_eq!(restore(&vault, &token), EMAIL);
}

#[test]
fn a_secret_inside_tool_arguments_is_redacted_inside_the_embedded_json() {
    let evaluation = evaluate(&policy(EMAILS), &tool_chat(&json!({"to": [EMAIL]}), "ok"));
    assert_forward(&evaluation);
    let arguments = sent_at(&evaluation, "/messages/1/tool_calls/0/function/arguments");
    let arguments: serde_json::Value = serde_json::from_str(&arguments).unwrap();
    assert_eq!(arguments["to"][0], token("EMAIL", EMAIL));
}

#[test]
fn a_number_becomes_a_number_of_the_same_shape_inside_tool_data() {
    let number: u64 = card().parse().unwrap();
    let policy = Policy::load(&PolicySource::Default, &NoPlugins).unwrap();
    let evaluation = evaluate(&policy, &tool_chat(&json!({"card": number}), "ok"));
    assert_forward(&evaluation);
    let arguments = sent_at(&evaluation, "/messages/1/tool_calls/0/function/arguments");
    let sent: serde_json::Value = serde_json::from_str(&arguments).unwrap();
    let sent = sent["card"].as_u64().unwrap();
    assert_ne!(sent, number);
    assert_eq!(sent.to_string().len(), 16);
}

#[test]
fn a_number_elsewhere_blocks() {
    let number: u64 = card().parse().unwrap();
    let mut body = chat("hello");
    body["seed"] = number.into();
    let policy = Policy::load(&PolicySource::Default, &NoPlugins).unwrap();
    let evaluation = evaluate(&policy, &body);
    let hold = block(&evaluation);
    assert_eq!(hold.cause, Cause::Unredactable);
    assert!(hold.detail.contains("/seed"), "{}", hold.detail);
    assert!(!told(&evaluation).contains(&card()));
}

#[test]
fn a_key_with_a_finding_blocks_and_is_never_spelled() {
    let mut body = tool_chat(&json!({EMAIL: "x"}), "ok");
    body["messages"][0]["content"] = EMAIL.into();
    let evaluation = evaluate(&policy(EMAILS), &body);
    let hold = block(&evaluation);
    assert_eq!(hold.cause, Cause::Unredactable);
    assert!(hold.detail.contains("/messages/1/tool_calls/0/function/arguments/[KEY]"), "{}", hold.detail);
    assert!(!told(&evaluation).contains(EMAIL));
}

#[test]
fn a_protected_leaf_is_looked_at_by_detectors_with_a_prefix_only() {
    let mut body = tool_chat(&json!({}), "ok");
    body["messages"][2]["tool_call_id"] = secret().into();
    let default = Policy::load(&PolicySource::Default, &NoPlugins).unwrap();
    let hold_at = block(&evaluate(&default, &body)).detail.clone();
    assert!(hold_at.contains("/messages/2/tool_call_id"), "{hold_at}");

    let mut body = tool_chat(&json!({}), "ok");
    body["messages"][2]["tool_call_id"] = EMAIL.into();
    assert_forward(&evaluate(&policy(EMAILS), &body));
}

#[test]
fn what_cannot_be_redacted_can_pause_instead() {
    let policy = policy(&format!("{EMAILS}\non_unredactable = \"pause\"\nreason = \"An address in a key\""));
    let evaluation = evaluate(&policy, &tool_chat(&json!({EMAIL: 1}), "ok"));
    let Verdict::Pause(holds) = &evaluation.verdict else { panic!("{:?}", evaluation.verdict) };
    assert_eq!(holds[0].reason, "An address in a key");
}

#[test]
fn a_body_that_is_no_json_blocks_on_a_finding_and_passes_without() {
    for (body, forwards) in [(format!("mail {EMAIL}"), false), ("nothing here".to_owned(), true)] {
        let document = std::sync::Arc::new(Document::raw(body.into()));
        let evaluation = policy(EMAILS).evaluate(document, &Context::default(), &vault());
        assert_eq!(evaluation.verdict == Verdict::Forward, forwards);
    }
}

#[test]
fn a_token_of_ours_is_not_redacted_again_and_what_looks_like_one_is() {
    let rules = r#"
        [[rule]]
        id = "secrets"
        match = {}
        detect = ["secrets"]
        action = "redact"
    "#;
    let ours = token("SECRET", &secret());
    let body = |word: &str| chat(&format!("password = \"{word}\""));
    let evaluation = evaluate(&policy(rules), &body(&ours));
    assert_eq!(sent(&evaluation), body(&ours));

    let forged = format!("{}{}", &ours[..ours.len() - 4], "0000");
    let evaluation = evaluate(&policy(rules), &body(&forged));
    assert!(!sent_at(&evaluation, "/messages/0/content").contains(&forged));
}

#[test]
fn findings_of_two_rules_are_united_and_the_earlier_rule_says_how() {
    let rules = r#"
        [[rule]]
        id = "masked"
        match = { role = "user" }
        detect = ["pii/email"]
        action = "redact"
        with = "mask"
        [[rule]]
        id = "tokens"
        match = {}
        detect = ["pii/email"]
        action = "redact"
    "#;
    let evaluation = evaluate(&policy(rules), &tool_chat(&json!({}), EMAIL));
    assert_eq!(sent_at(&evaluation, "/messages/2/content"), token("EMAIL", EMAIL));
    let evaluation = evaluate(&policy(rules), &chat(EMAIL));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), "[EMAIL]");
    assert_eq!(evaluation.report.rules[1].findings["EMAIL"], 1, "the later rule found it too");
}

#[test]
fn two_rules_in_one_leaf_keep_their_places() {
    let rules = r#"
        [[rule]]
        id = "masked"
        match = {}
        detect = ["pii/email"]
        action = "redact"
        with = "mask"
        [[rule]]
        id = "tokens"
        match = {}
        detect = ["secrets"]
        action = "redact"
    "#;
    let text = format!("é {EMAIL} {} {EMAIL} {}", secret(), secret());
    let evaluation = evaluate(&policy(rules), &chat(&text));
    let token = token("SECRET", &secret());
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), format!("é [EMAIL] {token} [EMAIL] {token}"));
}

#[test]
fn a_detector_plugin_sees_all_selected_leaves_in_one_call() {
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let rules = r#"
        [[rule]]
        id = "users"
        match = { role = "user" }
        detect = ["plugin:names"]
        action = "redact"
        [[rule]]
        id = "all"
        match = { path = "messages[*].content" }
        detect = ["plugin:names"]
        action = "redact"
        with = "mask"
        [plugins.names]
        file = "names.wasm"
        config = { names = ["Acme"], deep = { a = 1 } }
    "#;
    let policy = policy_with(rules, &fakes);
    let source = fakes.get("names").source.lock().unwrap().clone().unwrap();
    assert_eq!(source.config, r#"{"deep":{"a":1},"names":["Acme"]}"#);

    let body = json!({"messages": [{"role": "user", "content": "at Acme"}, {"role": "assistant", "content": "Acme!"}]});
    let evaluation = evaluate(&policy, &body);
    // The role is a name that only a plugin may know, and so are the keys on the way to what the rules select.
    assert_eq!(fakes.get("names").calls(), [["at Acme", "user", "Acme!", "messages", "content", "role"]]);
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), format!("at {}", token("NAME", "Acme")));
    assert_eq!(sent_at(&evaluation, "/messages/1/content"), "[NAME]!");
}

#[test]
fn a_detector_that_faults_is_dropped_whole_and_follows_on_error() {
    use leafgate_contract::{Fault, InvalidAnswer};

    for (on_error, cause) in [("block", Some(Cause::Error)), ("pass", None)] {
        let fakes = Fakes::default()
            .with("names", Fake::detector(|_| Err(Fault::Trap { code: "unreachable".into() })));
        let rules = format!("{EMAILS}\n{}", detector_rule(on_error));
        let evaluation = evaluate(&policy_with(&rules, &fakes), &chat(&format!("{EMAIL} Acme")));
        match cause {
            Some(cause) => assert_eq!(block(&evaluation).cause, cause),
            None => {
                assert_forward(&evaluation);
                let text = sent_at(&evaluation, "/messages/0/content");
                assert_eq!(text, format!("{} Acme", token("EMAIL", EMAIL)), "other rules do not notice");
            }
        }
        assert_eq!(evaluation.report.rules[1].errors.len(), 1);
    }

    let wrong = [
        (finding(9, 0..1), InvalidAnswer::UnknownLeaf),
        (finding(0, 0..99), InvalidAnswer::SpanOutside),
        (finding(0, 0..1), InvalidAnswer::SpanInsideCharacter),
    ];
    for (finding, why) in wrong {
        let fakes = Fakes::default().with("names", Fake::detector(move |_| Ok(vec![finding.clone()])));
        let evaluation = evaluate(&policy_with(&detector_rule("block"), &fakes), &chat("é"));
        let detail = &block(&evaluation).detail;
        assert!(detail.contains(&why.to_string()), "{detail}");
        // No fault said which leaf it was about.
        let names = why != InvalidAnswer::UnknownLeaf;
        assert_eq!(detail.contains("on the text of 2 bytes at /messages/0/content"), names, "{detail}");
    }
}

#[test]
fn what_a_plugin_costs_adds_up_over_the_phases_of_one_request() {
    let rules = r#"
        [[rule]]
        id = "names"
        match = {}
        detect = ["plugin:names"]
        action = "redact"
        [[rule]]
        id = "more"
        match = { path = "messages[*].content" }
        action = "rewrite"
        append = " and more"
        [plugins.names]
        file = "names.wasm"
    "#;
    let fakes = Fakes::default().with("names", Fake::finds("nobody"));
    let policy = policy_with(rules, &fakes);
    evaluate(&policy, &chat("one"));
    let totals = fakes.get("names").shown_bytes.lock().unwrap().clone();
    assert!(totals.len() >= 2 && totals.is_sorted_by(|a, b| a < b), "{totals:?}");
    evaluate(&policy, &chat("two"));
    let next = fakes.get("names").shown_bytes.lock().unwrap()[totals.len()];
    assert!(next < totals[1], "the next request begins anew: {next} after {totals:?}");
}

fn detector_rule(on_error: &str) -> String {
    format!(
        r#"
        [[rule]]
        id = "names"
        match = {{ kind = "text" }}
        detect = ["plugin:names"]
        action = "redact"
        on_error = "{on_error}"
        [plugins.names]
        file = "names.wasm"
        "#
    )
}

#[test]
fn what_is_hidden_below_nested_escapes_blocks() {
    let mut text = format!("{{\"mail\":\"{}\"}}", EMAIL.replace('@', "\\u0040"));
    for _ in 0..6 {
        text = json!({ "a": text }).to_string();
    }
    let evaluation = evaluate(&policy(EMAILS), &chat(&text));
    assert_eq!(block(&evaluation).cause, Cause::Unredactable);
    assert!(block(&evaluation).detail.contains("below nested escapes"));
}

#[test]
fn generic_bodies_are_redacted_too() {
    let document = parse(&json!({"input": [EMAIL], "n": {"m": EMAIL}}).to_string(), Format::Generic);
    let evaluation = policy(EMAILS).evaluate(document, &Context::default(), &vault());
    assert_forward(&evaluation);
    assert_eq!(evaluation.draft.redactions().count(), 2);
}

#[test]
fn every_place_that_cannot_be_redacted_is_recalled_and_none_of_a_rule_that_only_monitors() {
    let (first, second) = (secret(), secret().replace("kf", "fk"));
    let body = json!({ "model": first, (second.as_str()): 1, "messages": [{ "role": "user", "content": secret() }] });
    let places = |mode: &str| {
        let rule = format!(
            "[[rule]]\nid = \"secrets\"\nmatch = {{}}\ndetect = [\"secrets\"]\naction = \"redact\"\n{mode}"
        );
        let evaluation = evaluate(&policy(&rule), &body);
        let document = evaluation.draft.document();
        let shown = |place: leafgate_policy::Unredactable| (document.pointer(place.node), place.in_key);
        evaluation.recall.unredactable().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(
        places(""),
        [("/model".to_owned(), false), (format!("/{second}"), true)].into_iter().collect::<Vec<_>>()
    );
    assert_eq!(places("mode = \"monitor\""), []);
}

/// A policy whose one rule has these words, and a chat with a published example and a live token.
fn with_example(words: &str) -> (Evaluation, String) {
    let example = ["AKIA", "IOSFODNN7", "EXAMPLE"].concat();
    let rule = format!(
        "[[rule]]\nid = \"all\"\nmatch = {{}}\ndetect = [\"secrets\", \"pii\"]\naction = \"redact\"\n{words}"
    );
    let body = chat(&format!("the documentation says {example} and I say {}", secret()));
    (evaluate(&policy(&rule), &body), example)
}

#[test]
fn a_published_example_is_replaced_where_a_token_restores_it_and_counted_apart() {
    for (words, replaced) in [
        ("", true),
        ("with = \"mask\"", false),
        ("published = \"keep\"", false),
        ("with = \"mask\"\npublished = \"redact\"", true),
    ] {
        let (evaluation, example) = with_example(words);
        assert_forward(&evaluation);
        let sent = sent(&evaluation).to_string();
        assert_eq!(sent.contains(&example), !replaced, "{words}: {sent}");
        assert!(!sent.contains(&secret()), "{words}");
        let report = &evaluation.report.rules[0];
        assert_eq!(
            (report.published.values().sum::<usize>(), report.findings.values().sum::<usize>()),
            (1, 1),
            "{words}"
        );
    }
}

#[test]
fn a_published_example_holds_no_request_where_nothing_can_be_replaced() {
    let rule = "[[rule]]\nid = \"all\"\nmatch = {}\ndetect = [\"secrets\", \"pii\"]\naction = \"redact\"\n\n[[rule]]\nid = \"numbers\"\nmatch = {}\nwhen = 'leaf.findings.exists(f, f.label == \"SSN\" || f.label == \"SECRET\")'\naction = \"block\"";
    let example = ["AKIA", "IOSFODNN7", "EXAMPLE"].concat();
    let with_zero_width = format!("{}\u{200b}{}", &example[..6], &example[6..]);
    let body = serde_json::json!({
        "model": "gpt-4o",
        "metadata": {example.clone(): "078-05-1120", with_zero_width: "as a key", "n": 4_111_111_111_111_111_u64},
        "messages": [{"role": "user", "name": example, "content": "his number is 078-05-1120"}],
    });
    let evaluation = evaluate(&policy(rule), &body);
    assert_forward(&evaluation);
    assert!(evaluation.report.rules[0].published.values().sum::<usize>() >= 4, "{:?}", evaluation.report);
    assert!(evaluation.report.rules[0].findings.is_empty());
}

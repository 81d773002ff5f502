//! Path, query and headers are searched by every redact rule, and by plugins whose rule looks at everything; nothing is replaced there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leafgate_contract::{Fault, NoPlugins};
use leafgate_policy::{Cause, Context, Evaluation, Outside, Part, Policy, PolicySource, Verdict};

use super::support::*;

fn default() -> Policy {
    Policy::load(&PolicySource::Default, &NoPlugins).unwrap()
}

fn judged(policy: &Policy, part: &Part, text: &str) -> Evaluation {
    let outside = [Outside { part: part.clone(), text: text.to_owned() }];
    let context = Context { session: "s1", outside: &outside, ..Context::default() };
    policy.evaluate(document(&chat("hello")), &context, &vault())
}

#[test]
fn a_finding_in_any_part_blocks_and_names_the_part_alone() {
    for (part, name) in [
        (Part::Path, "SECRET in path"),
        (Part::Query { key: "q".into() }, "SECRET in query parameter q"),
        (Part::Header { name: "x-foo".into() }, "SECRET in header x-foo"),
    ] {
        let evaluation = judged(&default(), &part, &format!("/v1/{}/x", secret()));
        let hold = block(&evaluation);
        assert_eq!((hold.cause, &*hold.detail), (Cause::Unredactable, name));
        assert!(!told(&evaluation).contains(&secret()));
        assert_eq!(evaluation.report.rules[0].findings["SECRET"], 1);
        assert_forward(&judged(&default(), &part, "/v1/models"));
    }
}

#[test]
fn a_name_is_searched_too_and_not_spelled() {
    let name = secret();
    let evaluation = judged(&default(), &Part::Query { key: name.clone() }, "1");
    assert_eq!(block(&evaluation).detail, "SECRET in the name of a query parameter");
    assert!(!told(&evaluation).contains(&name));
}

#[test]
fn a_rule_says_what_becomes_of_it_and_leaf_facts_do_not_let_it_pass() {
    let rule = |more: &str| {
        policy(&format!(
            "[[rule]]\nid = 's'\nmatch = {{ kind = 'tool-result', role = 'tool', path = 'messages[0]' }}\n\
             when = 'leaf.text.contains(\"never\")'\ndetect = ['secrets']\naction = 'redact'\n{more}"
        ))
    };
    let part = Part::Header { name: "x-codex-turn-metadata".into() };
    let url = format!("{{\"remote\":\"https://me:{}@example.org/x.git\"}}", secret());
    assert!(matches!(judged(&rule(""), &part, &url).verdict, Verdict::Block(_)));
    assert!(matches!(judged(&rule("on_unredactable = 'pause'"), &part, &url).verdict, Verdict::Pause(_)));
    let monitored = judged(&rule("mode = 'monitor'"), &part, &url);
    assert_forward(&monitored);
    assert!(monitored.report.rules[0].unredactable > 0);
    let other_model = policy("[[rule]]\nid='s'\nmatch={ model='x' }\ndetect=['secrets']\naction='redact'\n");
    assert_forward(&judged(&other_model, &part, &url));
}

#[test]
fn what_is_encoded_and_what_a_plugin_knows_is_found_there() {
    let encoded = STANDARD.encode(format!("the key is {}", secret()));
    assert!(matches!(judged(&default(), &Part::Path, &encoded).verdict, Verdict::Pause(_)));
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let rules = "[[rule]]\nid='n'\nmatch={}\ndetect=['plugin:names']\naction='redact'\n[plugins.names]\nfile='names.wasm'";
    let evaluation = judged(&policy_with(rules, &fakes), &Part::Header { name: "x-team".into() }, "at Acme");
    assert_eq!(block(&evaluation).detail, "NAME in header x-team");
}

#[test]
fn invariant_9_a_plugin_that_fails_is_not_asked_beside_the_leaves_of_its_rule() {
    let fails = || Fakes::default().with("names", Fake::detector(|_| Err(Fault::Deadline { limit_ms: 5 })));
    let rules = |matching: &str| {
        format!(
            "[[rule]]\nid='n'\nmatch={matching}\ndetect=['plugin:names']\naction='redact'\n[plugins.names]\nfile='names.wasm'"
        )
    };
    let results = policy_with(&rules("{ section = 'tool-result' }"), &fails());
    assert_forward(&judged(&results, &Part::Header { name: "x-team".into() }, "at Acme"));
    let everything = policy_with(&rules("{}"), &fails());
    block(&judged(&everything, &Part::Header { name: "x-team".into() }, "at Acme"));
}

#[test]
fn a_rule_that_also_names_a_plugin_searches_there_like_one_that_does_not() {
    let rule = "[[rule]]\nid='n'\nmatch={ section = 'tool-result' }\ndetect=['secrets', 'plugin:names']\n\
                action='redact'\n[plugins.names]\nfile='names.wasm'";
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let policy = policy_with(rule, &fakes);
    let part = Part::Header { name: "x-codex-turn-metadata".into() };
    let found = judged(&policy, &part, &format!("https://me:{}@example.org/x.git", secret()));
    assert_eq!(block(&found).detail, "SECRET in header x-codex-turn-metadata");
    assert_forward(&judged(&policy, &part, "at Acme"));
}

#[test]
fn what_stands_there_is_clean_only_for_the_rules_of_this_format_and_model() {
    let rule = |matching: &str| {
        policy(&format!("[[rule]]\nid='s'\nmatch={{ {matching} }}\ndetect=['secrets']\naction='redact'\n"))
    };
    let outside = [Outside { part: Part::Header { name: "baggage".into() }, text: secret() }];
    let context = Context { session: "s1", outside: &outside, ..Context::default() };
    let hello = document(&chat("hello"));
    let judged = |matching| rule(matching).evaluate_outside(Some(&hello), &context, &vault());
    let clean = |matching| judged(matching).verdict == Verdict::Forward;
    assert!(!clean("format = 'openai-chat'") && !clean(""));
    assert!(clean("format = 'anthropic-messages'") && clean("model = 'another'"));
}

#[test]
fn a_token_of_ours_is_no_finding_there() {
    let text = format!("password={}", token("SECRET", &secret()));
    assert_forward(&judged(&default(), &Part::Query { key: "q".into() }, &text));
}

#[test]
fn a_request_without_a_body_is_judged_by_what_stands_outside_it() {
    let policy = policy(
        "extends = 'default'\n[[rule]]\nid='p'\nmatch={}\naction='pause'\n[[rule]]\nid='b'\nmatch={}\naction='block'",
    );
    let found = format!("/v1/models/{}", secret());
    for (text, blocked) in [(found.as_str(), true), ("/v1/models", false)] {
        let outside = [Outside { part: Part::Path, text: text.to_owned() }];
        let context = Context { outside: &outside, ..Context::default() };
        let evaluation = policy.evaluate_outside(None, &context, &vault());
        assert_eq!(matches!(evaluation.verdict, Verdict::Block(_)), blocked);
        assert_eq!(evaluation.verdict == Verdict::Forward, !blocked, "other rules look at bodies alone");
    }
}

#[test]
fn a_path_is_shown_without_what_is_found_in_it() {
    let policy = default();
    let shown = |target: &str| policy.masked_target(target, &vault());
    for plain in ["/v1/models", "/v1/models?limit=20&after=a%2Fb", "/", "/v1/x?q=a+b&flag"] {
        assert_eq!(shown(plain), plain);
    }
    let escaped: String = secret().bytes().map(|byte| format!("%{byte:02X}")).collect();
    let encoded = STANDARD.encode(format!("the key is {}", secret()));
    for target in [
        format!("/v1/{}/x", secret()),
        format!("/v1/{escaped}"),
        format!("/v1/x?q={}&p=2", secret()),
        format!("/v1/x?q={escaped}&p=2"),
        format!("/v1/x?{}", secret()),
        format!("/v1/x?q={encoded}"),
    ] {
        let shown = shown(&target);
        assert!(shown.contains("[SECRET]"), "{shown}");
        assert!(!shown.contains(&secret()) && !shown.contains(&escaped) && !shown.contains(&encoded));
    }
}

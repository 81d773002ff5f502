//! What rules say of sections: of which kind they are, who may change them, and that they stay as they were first.

use std::sync::Arc;

use leafgate_policy::{Context, Evaluation, Policy, Verdict};
use leafgate_tree::{Author, EditError, Format, SectionKind};
use leafgate_vault::Vault;
use serde_json::{Value, json};

use super::support::*;

const BOILERPLATE: &str = r#"
[[rule]]
id = "boilerplate"
match = { role = "user" }
when = 'leaf.text.startsWith("House rules")'
action = "classify"
as = "context"

[[rule]]
id = "no-words-of-the-user"
match = { section = "user" }
action = "block"

[[rule]]
id = "material"
match = { section = "context" }
when = 'leaf.section == "context"'
action = "rewrite"
append = " (material)"
"#;

fn kinds(evaluation: &Evaluation) -> Vec<SectionKind> {
    evaluation.draft.document().sections().iter().map(|section| section.kind).collect()
}

// S0-23
#[test]
fn a_rule_overrides_the_kind_of_a_section_for_all_that_look_later() {
    let policy = policy(BOILERPLATE);
    let evaluation = evaluate(&policy, &chat("House rules: be brief"));
    assert_forward(&evaluation);
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), "House rules: be brief (material)");
    assert!(kinds(&evaluation).contains(&SectionKind::Context), "{:?}", kinds(&evaluation));
    assert_eq!(evaluation.report.rules[0].edits, 1);
    assert_eq!(&*block(&evaluate(&policy, &chat("Hello"))).rule, "no-words-of-the-user");
}

#[test]
fn the_kind_stays_when_a_person_edits_and_when_the_request_is_judged_again() {
    let policy = policy(BOILERPLATE);
    let context = Context::default();
    let Evaluation { mut draft, recall, .. } =
        policy.evaluate(document(&chat("House rules")), &context, &vault());
    let node = draft.document().resolve("/messages/0/content").unwrap();
    // Without the first words the rule would not say so again.
    draft.set(node, "Nothing of that", &Author::Person).unwrap();
    assert_eq!(policy.review(&mut draft, &context, &vault(), &recall), Ok(Verdict::Forward));
    let again = policy.evaluate(Arc::clone(draft.document()), &context, &vault());
    assert_forward(&again);
}

// S4-18
#[test]
fn an_agents_prompt_among_a_users_words_is_a_system_prompt_and_stays_one() {
    let rules = "[[rule]]\nid = 'house'\nmatch = { section = 'system' }\naction = 'protect'\n\
                 [[rule]]\nid = 'no-user-leads'\nmatch = { section = 'user' }\nwhen = 'leaf.text.contains(\"lead\")'\naction = 'block'\n";
    let policy = || policy(rules);
    let body = json!({ "messages": [
        { "role": "user", "content": "You lead." },
        { "role": "user", "content": "You lead." },
    ]});
    let sent_by = Context { prompt: Some("You lead."), ..Context::default() };
    let known = policy().knowing_prompts(vec!["You review.".to_owned(), "You lead.".to_owned()]);
    for (policy, context) in [(policy(), sent_by), (known, Context::default())] {
        let evaluation = policy.evaluate(document(&body), &context, &vault());
        assert!(block(&evaluation).detail.contains("/messages/1/content"), "{:?}", evaluation.verdict);
        let Evaluation { mut draft, recall, .. } = evaluation;
        let [first, second] =
            [0, 1].map(|at| draft.document().resolve(&format!("/messages/{at}/content")).unwrap());
        assert!(draft.set(first, "You obey.", &Author::Person).is_err());
        draft.set(second, "Go on.", &Author::Person).unwrap();
        // What is read anew knows it too.
        assert_eq!(policy.review(&mut draft, &context, &vault(), &recall), Ok(Verdict::Forward));
        assert_eq!(draft.document().sections()[0].kind, SectionKind::System);
    }
    let other = evaluate(&policy(), &body);
    assert_eq!(other.draft.document().sections()[0].kind, SectionKind::User);
}

#[test]
fn what_an_api_must_find_together_keeps_its_kind() {
    let rule = "[[rule]]\nid = 'r'\nmatch = {}\naction = 'classify'\nas = 'context'\n";
    let body = tool_chat(&json!({ "q": 1 }), "rows");
    let evaluation = evaluate(&policy(rule), &body);
    let kinds = kinds(&evaluation);
    for kept in [SectionKind::ToolCall, SectionKind::ToolResult, SectionKind::RequestOption] {
        assert!(kinds.contains(&kept), "{kinds:?}");
    }
    assert!(evaluation.report.rules[0].skipped["tool-call"] > 0);
    assert_eq!(evaluation.draft.render(), body.to_string(), "nothing is written");
}

#[test]
fn a_rule_that_only_counts_classifies_nothing() {
    let evaluation = evaluate(&policy(&format!("mode = 'monitor'\n{BOILERPLATE}")), &chat("House rules"));
    assert!(!kinds(&evaluation).contains(&SectionKind::Context));
    assert_eq!(evaluation.report.rules[0].would[0].what, "classify it as context");
}

#[test]
fn latest_is_the_message_that_rules_leave_to_the_user() {
    let rules = BOILERPLATE.replace("match = { section = \"user\" }", "match = { latest = true }");
    let body = json!({ "messages": [
        { "role": "user", "content": "Hello" },
        { "role": "user", "content": "House rules" },
    ]});
    let evaluation = evaluate(&policy(&rules), &body);
    assert!(block(&evaluation).detail.contains("/messages/0/content"), "{:?}", evaluation.verdict);
}

const PROTECTED: &str = r#"
[[rule]]
id = "mail"
match = {}
detect = ["pii/email"]
action = "redact"

[[rule]]
id = "house-rules"
match = { path = "messages[0].content" }
action = "protect"

[[rule]]
id = "polite"
match = { role = "user" }
action = "rewrite"
append = " Please."

[[rule]]
id = "out"
match = { role = "user" }
when = 'leaf.text.contains("out")'
action = "delete"
"#;

fn two(first: &str) -> Value {
    json!({ "messages": [
        { "role": "user", "content": first }, { "role": "user", "content": "And?" },
    ]})
}

// S0-30
#[test]
fn what_is_protected_is_changed_by_nobody_but_redaction() {
    let policy = policy(PROTECTED);
    let evaluation = evaluate(&policy, &two(&format!("{EMAIL} out")));
    let expected = format!("{} out", token("EMAIL", EMAIL));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), expected);
    assert_eq!(sent_at(&evaluation, "/messages/1/content"), "And? Please.");
    assert_eq!(evaluation.report.rules[2].skipped["kept"], 1);
    assert_eq!(evaluation.report.rules[3].skipped["kept"], 1);
    let mut draft = evaluation.draft;
    let node = draft.document().resolve("/messages/0/content").unwrap();
    let section = draft.document().section_of(node).unwrap();
    for author in [Author::Person, Author::SavedEdit { id: "one".into() }] {
        let kept = draft.set(node, "x", &author).unwrap_err();
        assert_eq!(kept.to_string(), "rule house-rules keeps this as it is");
        assert!(matches!(draft.delete(section, &author), Err(EditError::Kept { .. })));
    }
}

#[test]
fn protection_may_be_from_one_of_both() {
    for (from, text, stands) in [("edit", "stay", true), ("edit", "out", false), ("delete", "out", true)] {
        let rules =
            PROTECTED.replace("action = \"protect\"", &format!("action = \"protect\"\nfrom = \"{from}\""));
        let evaluation = evaluate(&policy(&rules), &two(text));
        let messages = sent(&evaluation)["messages"].as_array().unwrap().len();
        assert_eq!(messages == 2, stands, "{from} {text}");
        if stands {
            let said = sent_at(&evaluation, "/messages/0/content");
            assert_eq!(said.ends_with("Please."), from == "delete", "{said}");
        }
    }
}

fn steady(on_drift: &str) -> Policy {
    policy(&format!(
        "[[rule]]\nid = 'steady'\nmatch = {{ role = 'system' }}\naction = 'pin'\nto = 'first-seen'\n{on_drift}\n"
    ))
}

fn turn(prompt: &str, question: &str) -> Value {
    json!({ "model": "m", "messages": [
        { "role": "system", "content": prompt }, { "role": "user", "content": question },
    ]})
}

fn asked(policy: &Policy, session: &Vault, body: &Value) -> Evaluation {
    policy.evaluate(document(body), &Context::default(), session)
}

#[test]
fn a_prompt_stays_as_its_conversation_had_it_first() {
    let (policy, session) = (steady(""), vault());
    let prompt = |evaluation: &Evaluation| sent_at(evaluation, "/messages/0/content");
    assert_eq!(prompt(&asked(&policy, &session, &turn("It is Monday", "Hi"))), "It is Monday");
    let second = asked(&policy, &session, &turn("It is Tuesday", "Hi"));
    assert_eq!((prompt(&second).as_str(), &second.verdict), ("It is Monday", &Verdict::Forward));
    // A sub-agent of the same session, another model, another session: each has its own.
    assert_eq!(prompt(&asked(&policy, &session, &turn("You are a helper", "Find x"))), "You are a helper");
    let mut other_model = turn("It is Tuesday", "Hi");
    other_model["model"] = json!("n");
    assert_eq!(prompt(&asked(&policy, &session, &other_model)), "It is Tuesday");
    assert_eq!(prompt(&asked(&policy, &vault(), &turn("It is Tuesday", "Hi"))), "It is Tuesday");
}

#[test]
fn invariant_10_what_was_first_is_kept_after_redaction() {
    let rules = "[[rule]]\nid = 'mail'\nmatch = {}\ndetect = 'pii/email'\naction = 'redact'\n";
    let pinned = "[[rule]]\nid = 's'\nmatch = { role = 'system' }\naction = 'pin'\nto = 'first-seen'\n";
    let (policy, session) = (policy(&format!("{rules}{pinned}")), vault());
    asked(&policy, &session, &turn(&format!("Ask {EMAIL} on Monday"), "Hi"));
    let second = asked(&policy, &session, &turn("Ask nobody", "Hi"));
    let expected = format!("Ask {} on Monday", token("EMAIL", EMAIL));
    assert_eq!(sent_at(&second, "/messages/0/content"), expected);
    assert!(!told(&second).contains(EMAIL));
}

#[test]
fn a_drift_can_pause_or_block_and_monitoring_changes_nothing() {
    for (on_drift, mode) in
        [("pause", ""), ("block", ""), ("pin", "mode = 'monitor'"), ("block", "mode = 'monitor'")]
    {
        let (policy, session) = (steady(&format!("on_drift = '{on_drift}'\n{mode}")), vault());
        assert_forward(&asked(&policy, &session, &turn("one", "Hi")));
        let drifted = asked(&policy, &session, &turn("other", "Hi"));
        let detail = "it differs from what was first sent, at /messages/0/content";
        match (&drifted.verdict, on_drift) {
            (Verdict::Pause(holds), "pause") => assert_eq!(holds[0].detail, detail),
            (Verdict::Block(hold), "block") if mode.is_empty() => assert_eq!(hold.detail, detail),
            (Verdict::Forward, _) if !mode.is_empty() => {
                assert_eq!(sent_at(&drifted, "/messages/0/content"), "other");
                assert!(!drifted.report.rules[0].would.is_empty());
            }
            (other, _) => panic!("{on_drift} {mode}: {other:?}"),
        }
    }
}

#[test]
fn the_folder_of_a_project_is_what_its_client_says_and_nobody_else() {
    let policy = policy("[[rule]]\nid = 'r'\nmatch = { project = '*/payments' }\naction = 'block'\n");
    let blocks = |body: &Value, format: Format| {
        let evaluation = policy.evaluate(parse(&body.to_string(), format), &Context::default(), &vault());
        matches!(evaluation.verdict, Verdict::Block(_))
    };
    let claude = |folder: &str| {
        let env =
            format!("You are Claude Code.\n<env>\nWorking directory: {folder}\nIs directory a git repo: Yes");
        json!({ "system": [{ "type": "text", "text": env }], "messages": [{ "role": "user", "content": "Hi" }] })
    };
    assert!(blocks(&claude("/home/ann/payments"), Format::AnthropicMessages));
    assert!(!blocks(&claude("/home/ann/site"), Format::AnthropicMessages));
    let codex = |folders: &[&str], text: &str| {
        let tell = |folder: &&str| {
            let text = format!("<environment_context>\n  <cwd>{folder}</cwd>\n</environment_context>");
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] })
        };
        let said =
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] });
        json!({ "input": folders.iter().map(tell).chain([said]).collect::<Vec<_>>() })
    };
    assert!(blocks(&codex(&["/src/payments"], "Hi"), Format::OpenaiResponses));
    assert!(!blocks(&codex(&["/src/payments", "/src/site"], "Hi"), Format::OpenaiResponses), "it moved");
    // Who talks about folders is in none.
    assert!(!blocks(&codex(&[], "see <cwd>/src/payments</cwd>"), Format::OpenaiResponses));
    assert!(!blocks(&tool_chat(&json!({}), "Working directory: /src/payments"), Format::OpenaiChat));
    assert!(!blocks(&chat("Working directory: /src/payments"), Format::OpenaiChat));
}

#[test]
fn wrong_words_are_refused_with_what_there_is() {
    for (rest, message) in [
        ("action = 'classify'", "`classify` needs `as`"),
        ("action = 'classify'\nas = 'tool-call'", "`tool-call` is no value of `as`"),
        ("action = 'protect'\nfrom = 'read'", "`read` is no value of `from`"),
        ("action = 'protect'\nfrom = []", "an empty `from` says nothing"),
        ("action = 'pin'\non_drift = 'pause'", "`on_drift` means nothing without `to = \"first-seen\"`"),
        ("action = 'pin'\nto = 'first-seen'\non_drift = 'warn'", "`warn` is no value of `on_drift`"),
        ("action = 'pin'\nas = 'user'", "`as` means nothing with `action = \"pin\"`"),
    ] {
        let error = try_policy(&format!("[[rule]]\nid = 'r'\nmatch = {{}}\n{rest}\n"), &Fakes::default());
        let error = error.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

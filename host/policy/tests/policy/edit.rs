//! Phases 2 and 4: pins, rewrites and deletes, their order, and what redaction does with what they write.

use leafgate_policy::{Cause, Context, Verdict};
use leafgate_tree::{Author, EditKind, Format};
use serde_json::json;

use super::support::*;

const REDACT: &str = r#"
    [[rule]]
    id = "emails"
    match = {}
    detect = ["pii/email", "secrets"]
    action = "redact"
"#;

/// A rule for the content of every message.
fn rule(id: &str, fields: &str) -> String {
    format!("[[rule]]\nid = \"{id}\"\nmatch = {{ path = \"messages[*].content\" }}\n{fields}\n")
}

fn content_after(rules: &str, text: &str) -> String {
    let evaluation = evaluate(&policy(rules), &chat(text));
    assert_forward(&evaluation);
    sent_at(&evaluation, "/messages/0/content")
}

#[test]
fn each_way_of_rewriting() {
    for (fields, expected) in [
        ("set = 'new'", "new"),
        ("prepend = 'before '", "before ann and bob"),
        ("append = ' after'", "ann and bob after"),
        ("replace = { pattern = '(\\w+) and (\\w+)', with = '$2, ${1}s' }", "bob, anns"),
        ("replace = { pattern = 'nobody', with = 'x' }", "ann and bob"),
    ] {
        let rules = rule("change", &format!("action = 'rewrite'\n{fields}"));
        assert_eq!(content_after(&rules, "ann and bob"), expected, "{fields}");
    }
}

#[test]
fn rewrites_run_in_file_order_and_see_what_the_earlier_left() {
    let rules = rule("first", "action = 'rewrite'\nreplace = { pattern = 'a', with = 'b' }")
        + &rule("second", "action = 'rewrite'\nreplace = { pattern = 'b', with = 'c' }");
    assert_eq!(content_after(&rules, "ab"), "cc");
}

#[test]
fn a_rewrite_sees_redacted_text() {
    let rules = rule("change", "action = 'rewrite'\nreplace = { pattern = '@', with = ' at ' }") + REDACT;
    assert_eq!(content_after(&rules, &format!("{EMAIL} @")), format!("{}  at ", token("EMAIL", EMAIL)));
}

#[test]
fn a_secret_that_a_rewrite_writes_is_redacted_in_every_state_that_undo_reaches() {
    let rules = REDACT.to_owned()
        + &rule("leak", &format!("action = 'rewrite'\nset = 'mail {EMAIL}'"))
        + &rule("cover", "action = 'rewrite'\nset = 'nothing'");
    let mut evaluation = evaluate(&policy(&rules), &chat("hello"));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), "nothing");
    evaluation.draft.undo();
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), format!("mail {}", token("EMAIL", EMAIL)));
    evaluation.draft.undo();
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), "hello");
}

#[test]
fn halves_of_a_secret_written_by_two_rules_are_found_when_they_meet() {
    let (left, right) = EMAIL.split_at(5);
    let rules = REDACT.to_owned()
        + &rule("left", &format!("action = 'rewrite'\nset = '{left}'"))
        + &rule("right", &format!("action = 'rewrite'\nappend = '{right}'"));
    assert_eq!(content_after(&rules, "hello"), token("EMAIL", EMAIL));
}

#[test]
fn a_pinned_leaf_is_not_rewritten_and_is_redacted() {
    let rules = rule("change", "action = 'rewrite'\nset = 'x'") + &rule("keep", "action = 'pin'") + REDACT;
    let evaluation = evaluate(&policy(&rules), &chat(&format!("to {EMAIL}")));
    assert_forward(&evaluation);
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), format!("to {}", token("EMAIL", EMAIL)));
    assert_eq!(evaluation.report.rules[0].skipped["pinned"], 1);
    assert_eq!(evaluation.report.rules[0].edits, 0);
}

/// A pin did nothing where its place was absent.
#[test]
fn a_pin_puts_its_text_in_where_the_place_is_absent() {
    let pin = |path: &str, to: &str, more: &str| {
        policy(&format!(
            "[[rule]]\nid = 'p'\nmatch = {{ path = '{path}' }}\naction = 'pin'\nto = '{to}'\n{more}"
        ))
    };
    let made = |policy: &leafgate_policy::Policy, body: &serde_json::Value| sent(&evaluate(policy, body));
    let mut body = chat("hi");
    assert_eq!(made(&pin("temperature", "0.2", ""), &body)["temperature"], json!(0.2));
    assert_eq!(made(&pin("metadata.team", "red", ""), &body)["metadata"], json!({ "team": "red" }));
    assert_eq!(made(&pin("user", "x", "when = 'request.messages > 9'"), &body), body, "`when` is false");
    assert_eq!(made(&pin("messages[7].content", "x", ""), &body), body, "no list grows");
    assert_eq!(made(&pin("user", "x", "mode = 'monitor'"), &body), body);
    body["temperature"] = json!(1);
    assert_eq!(made(&pin("temperature", "0.2", ""), &body)["temperature"], json!(0.2));
    let mail = policy(
        "[[rule]]\nid = 'p'\nmatch = { path = 'user' }\naction = 'pin'\nto = 'ann@example.org'\n\
         [[rule]]\nid = 'm'\nmatch = {}\ndetect = 'pii/email'\naction = 'redact'\n",
    );
    assert!(!matches!(evaluate(&mail, &chat("hi")).verdict, Verdict::Forward), "what is put in is searched");
}

#[test]
fn of_several_places_the_one_that_the_format_has_is_put_in() {
    let rules = "[[rule]]\nid = 'p'\nmatch = { path = ['instructions', 'system'] }\naction = 'pin'\nto = 'Be brief.'\n";
    let policy = policy(rules);
    let made = |format: Format, body: &serde_json::Value| {
        sent(&policy.evaluate(parse(&body.to_string(), format), &Context::default(), &vault()))
    };
    let asked = json!({ "model": "m", "input": "Hi" });
    let made_of = made(Format::OpenaiResponses, &asked);
    assert_eq!((&made_of["instructions"], &made_of["system"]), (&json!("Be brief."), &json!(null)));
    let made_of = made(Format::AnthropicMessages, &chat("Hi"));
    assert_eq!((&made_of["instructions"], &made_of["system"]), (&json!(null), &json!("Be brief.")));
    // Chat completions have neither.
    assert_eq!(made(Format::OpenaiChat, &chat("Hi")), chat("Hi"));
}

#[test]
fn a_pin_to_a_literal_writes_it_and_redacts_it() {
    let rules = rule("fixed", &format!("action = 'pin'\nto = 'ask {EMAIL}'"))
        + &rule("change", "action = 'rewrite'\nset = 'x'")
        + REDACT;
    assert_eq!(content_after(&rules, "hello"), format!("ask {}", token("EMAIL", EMAIL)));
}

#[test]
fn a_protected_leaf_is_skipped_and_counted() {
    let rules =
        "[[rule]]\nid = 'roles'\nmatch = { path = 'messages[*].role' }\naction = 'rewrite'\nset = 'system'";
    let evaluation = evaluate(&policy(rules), &chat("hello"));
    assert_forward(&evaluation);
    assert_eq!(sent_at(&evaluation, "/messages/0/role"), "user");
    assert_eq!(evaluation.report.rules[0].skipped["protected"], 1);
}

#[test]
fn a_rule_that_fails_takes_all_its_edits_back() {
    let mut body = chat("hello");
    body["seed"] = 5.into();
    for (on_error, blocks) in [("block", true), ("pause", false), ("pass", false)] {
        let rules = format!(
            "[[rule]]\nid = 'all'\nmatch = {{ path = ['messages[*].content', 'seed'] }}\naction = 'rewrite'\n\
             set = 'text'\non_error = '{on_error}'"
        );
        let evaluation = evaluate(&policy(&rules), &body);
        assert_eq!(sent(&evaluation), body, "nothing half-applied");
        assert_eq!(evaluation.draft.edits().count(), 0);
        assert_eq!(matches!(evaluation.verdict, Verdict::Block(_)), blocks);
        assert_eq!(evaluation.verdict == Verdict::Forward, on_error == "pass");
        assert_eq!(evaluation.report.rules[0].errors.len(), 1);
        if blocks {
            assert_eq!(block(&evaluation).cause, Cause::Error);
        }
    }
}

#[test]
fn a_null_takes_no_text_and_is_skipped() {
    let rules = rule("change", "action = 'rewrite'\nset = 'x'");
    let evaluation = evaluate(&policy(&rules), &tool_chat(&json!({}), "rows"));
    assert_forward(&evaluation);
    assert_eq!(sent(&evaluation)["messages"][1]["content"], serde_json::Value::Null);
    assert_eq!((evaluation.report.rules[0].edits, evaluation.report.rules[0].skipped["null"]), (2, 1));
}

#[test]
fn a_number_can_be_set_by_its_spelling() {
    let mut body = chat("hello");
    body["temperature"] = json!(0.7);
    let rules = "[[rule]]\nid = 'cool'\nmatch = { path = 'temperature' }\naction = 'rewrite'\nset = '0'";
    assert_eq!(sent(&evaluate(&policy(rules), &body))["temperature"], 0);
}

#[test]
fn delete_takes_the_whole_exchange() {
    let rules = "[[rule]]\nid = 'sql'\nmatch = { section = 'tool-result' }\naction = 'delete'";
    let evaluation = evaluate(&policy(rules), &tool_chat(&json!({}), "rows"));
    assert_forward(&evaluation);
    let sent = sent(&evaluation);
    assert_eq!(sent["messages"].as_array().unwrap().len(), 1);
    let edit = evaluation.draft.edits().next().unwrap();
    assert_eq!((edit.kind, &edit.author), (EditKind::Delete, &Author::rule("sql")));
}

#[test]
fn a_deleted_message_is_not_rewritten() {
    let rules = "[[rule]]\nid = 'sql'\nmatch = { section = 'tool-result' }\naction = 'delete'\n".to_owned()
        + &rule("change", "action = 'rewrite'\nset = 'x'");
    let evaluation = evaluate(&policy(&rules), &tool_chat(&json!({}), "rows"));
    assert_eq!(evaluation.report.rules[1].edits, 1, "the user's message alone");
    assert!(evaluation.report.rules[1].skipped.is_empty(), "what is deleted is not even looked at");
    assert_forward(&evaluation);
}

#[test]
fn a_pin_keeps_its_message_from_being_deleted() {
    let rules = "[[rule]]\nid = 'drop'\nmatch = { section = 'tool-result' }\naction = 'delete'\n".to_owned()
        + "[[rule]]\nid = 'keep'\nmatch = { section = 'tool-result' }\naction = 'pin'\n";
    let body = tool_chat(&json!({}), "rows");
    let evaluation = evaluate(&policy(&rules), &body);
    assert_eq!(sent(&evaluation), body);
    assert_eq!(evaluation.report.rules[0].skipped["pinned"], 1);
}

#[test]
fn an_exchange_that_may_not_go_is_asked_once_for_all_its_messages() {
    let result = |id: String| json!({"type": "tool_result", "tool_use_id": id, "content": "rows"});
    let calls = (0..9).map(|at| json!({"type": "tool_use", "id": at.to_string(), "name": "f", "input": {}}));
    let mut messages = vec![
        json!({"role": "user", "content": "count"}),
        json!({"role": "assistant", "content": calls.collect::<Vec<_>>()}),
    ];
    messages.extend((0..9).map(|at| json!({"role": "user", "content": [result(at.to_string())]})));
    let body = json!({"model": "m", "max_tokens": 1, "messages": messages}).to_string();
    let rules = "[[rule]]\nid = 'drop'\nmatch = { kind = 'tool-result' }\naction = 'delete'\n".to_owned()
        + "[[rule]]\nid = 'keep'\nmatch = { path = 'messages[10]' }\naction = 'pin'\n";
    let evaluation =
        policy(&rules).evaluate(parse(&body, Format::AnthropicMessages), &Context::default(), &vault());
    assert_eq!(evaluation.draft.render(), body);
    let report = &evaluation.report.rules[0];
    assert_eq!((report.matched, report.skipped["pinned"]), (9, 1));
}

#[test]
fn a_request_that_the_api_would_refuse_is_held_and_not_sent() {
    let rules = "[[rule]]\nid = 'all'\nmatch = { section = 'user' }\naction = 'delete'";
    let evaluation = evaluate(&policy(rules), &chat("hello"));
    let Verdict::Pause(holds) = &evaluation.verdict else { panic!("{:?}", evaluation.verdict) };
    let hold = &holds[0];
    assert_eq!((hold.cause, &*hold.rule), (Cause::Invalid, leafgate_policy::STRUCTURE));
    assert!(
        hold.reason.starts_with("The request would be invalid after this gate's edits: "),
        "{}",
        hold.reason
    );
}

#[test]
fn deleting_by_a_tools_name_takes_its_definition_and_history_only_where_the_rule_says_so() {
    let mut body = tool_chat(&json!({"q": "x"}), "ok");
    body["tools"] = json!([
        {"type": "function", "function": {"name": "run_sql", "parameters": {"type": "object"}}},
        {"type": "function", "function": {"name": "other", "parameters": {"type": "object"}}},
    ]);
    let rule = |matches: &str, more: &str| {
        format!("[[rule]]\nid = 'no-sql'\nmatch = {matches}\naction = 'delete'\n{more}")
    };
    let left = |rules: &str| {
        let evaluation = evaluate(&policy(rules), &body);
        let sent = sent(&evaluation);
        let count = |name: &str| sent[name].as_array().map_or(0, Vec::len);
        (count("tools"), count("messages"), evaluation.report.rules[0].skipped.contains_key("history"))
    };
    assert_eq!(left(&rule("{ tool = 'run_sql' }", "")), (1, 3, true));
    assert_eq!(left(&rule("{ tool = 'run_sql' }", "history = false\n")), (1, 3, true));
    assert_eq!(left(&rule("{ tool = 'run_sql' }", "history = true\n")), (1, 1, false));
    assert_eq!(
        left(&rule("{ tool = 'run_sql', kind = 'tool-result' }", "")),
        (2, 1, false),
        "it names history"
    );
}

#[test]
fn what_a_removal_joins_is_redacted() {
    let rules = "[[rule]]\nid='mail'\nmatch={}\ndetect=['pii/email']\naction='redact'\nwith='mask'\n\
                 [[rule]]\nid='join'\nmatch={}\naction='rewrite'\nreplace={ pattern='~', with='' }\n";
    let evaluation = evaluate(&policy(rules), &chat(&format!("to {}", EMAIL.replace('@', "@~"))));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), "to [EMAIL]");
}

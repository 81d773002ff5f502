//! Conditions, and phase 6: pause and block.

use std::time::Duration;

use leafgate_policy::{Cause, Context, OnTimeout, Verdict};
use leafgate_tree::Format;
use serde_json::json;

use super::support::*;

fn blocking(matches: &str, when: &str) -> String {
    format!(
        "[[rule]]\nid = 'stop'\nmatch = {matches}\nwhen = '''{when}'''\naction = 'block'\nreason = 'No'\n"
    )
}

fn blocks(matches: &str, when: &str, body: &serde_json::Value) -> bool {
    matches!(evaluate(&policy(&blocking(matches, when)), body).verdict, Verdict::Block(_))
}

#[test]
fn conditions_see_the_leaf() {
    let body = tool_chat(&json!({"q": "select 1 from prod-db"}), "rows");
    for (when, expected) in [
        (r#"leaf.text.contains("prod-db")"#, true),
        (r#"leaf.text.contains("test-db")"#, false),
        (r#"leaf.text.matches("(?i)PROD-\\w+")"#, true),
        (r#"leaf.text.lowerAscii().startsWith("select")"#, true),
        (r#"leaf.key == "q" && leaf.kind == "tool-arguments" && leaf.tool == "run_sql""#, true),
        (r#"leaf.role == "tool" && leaf.section == "tool-result" && leaf.text == "rows""#, true),
        (r#"leaf.path == "messages[1].tool_calls[0].function.arguments.q""#, true),
        (r#"leaf.pointer == "/messages/1/tool_calls/0/function/arguments/q""#, true),
        (r#"leaf.value == "null""#, true),
        (r#"size(leaf.findings) > 0"#, false),
    ] {
        assert_eq!(blocks("{}", when, &body), expected, "{when}");
    }
}

#[test]
fn conditions_see_the_request() {
    let mut body = chat("hello");
    body["stream"] = true.into();
    for (when, expected) in [
        (r#"request.model.startsWith("gpt-4")"#, true),
        (r#"request.format == "openai-chat" && request.stream"#, true),
        (r#"request.session == "s1" && request.agent == """#, true),
        (r#"request.model == "other" && leaf.text.contains("hello")"#, false),
    ] {
        assert_eq!(blocks("{}", when, &body), expected, "{when}");
    }
}

#[test]
fn findings_stay_after_redaction_and_text_does_not() {
    let redact = "[[rule]]\nid = 'mail'\nmatch = {}\ndetect = ['pii/email']\naction = 'redact'\n";
    for (when, expected) in [
        (
            r#"leaf.findings.exists(f, f.label == "EMAIL" && f.confidence != "" && f.detector == "pii/email")"#,
            true,
        ),
        (r#"leaf.text.contains("jane.doe")"#, false),
        (r#"leaf.text.contains("EMAIL_")"#, true),
    ] {
        let rules = redact.to_owned() + &blocking("{}", when);
        let evaluation = evaluate(&policy(&rules), &chat(EMAIL));
        assert_eq!(matches!(evaluation.verdict, Verdict::Block(_)), expected, "{when}");
    }
}

#[test]
fn every_field_of_match_narrows() {
    let body = tool_chat(&json!({"q": "x"}), "rows");
    for (matches, expected) in [
        ("{ kind = 'tool-result' }", true),
        ("{ kind = 'reasoning' }", false),
        ("{ kind = ['reasoning', 'tool-result'] }", true),
        ("{ role = 'tool', kind = 'tool-result' }", true),
        ("{ role = 'user', kind = 'tool-result' }", false),
        ("{ section = 'tool-call' }", true),
        ("{ section = 'prediction' }", false),
        ("{ tool = 'run_*' }", true),
        ("{ tool = 'read_*' }", false),
        ("{ model = 'gpt-4?' }", true),
        ("{ model = 'gpt-4' }", false),
        ("{ format = 'openai-chat' }", true),
        ("{ format = ['raw', 'generic'] }", false),
        ("{ agent = 'codex*' }", false),
        ("{ session = 's1' }", true),
        ("{ path = 'messages[-1].content' }", true),
        ("{ path = 'messages[9]' }", false),
        ("{ path = ['nothing', '**.arguments'] }", true),
    ] {
        assert_eq!(blocks(matches, "true", &body), expected, "{matches}");
    }
}

#[test]
fn a_content_part_belongs_to_the_message_around_it() {
    let body = json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "secret plan"}]}]});
    let when = r#"leaf.text.contains("plan")"#;
    assert!(blocks("{ section = 'user' }", when, &body));
    assert!(blocks("{ section = 'content-part' }", when, &body));
    assert!(!blocks("{ section = 'system' }", when, &body));
}

#[test]
fn a_block_tells_the_client_the_reason_and_the_operator_the_place() {
    let rules = blocking("{}", r#"leaf.text.contains("prod")"#);
    let evaluation = evaluate(&policy(&rules), &chat("the prod database"));
    let hold = block(&evaluation);
    assert_eq!((hold.cause, &*hold.reason, &*hold.rule), (Cause::Rule, "No", "stop"));
    assert_eq!(hold.detail, "first at /messages/0/content");
}

#[test]
fn a_rule_of_the_request_applies_to_a_request_without_leaves() {
    for (when, expected) in [("request.format == 'generic'", true), ("request.model == 'x'", false)] {
        let policy = policy(&blocking("{}", when));
        let evaluation = policy.evaluate(parse("{}", Format::Generic), &Context::default(), &vault());
        assert_eq!(matches!(evaluation.verdict, Verdict::Block(_)), expected, "{when}");
    }
}

#[test]
fn a_condition_that_fails_follows_on_error() {
    let when = r#"int(leaf.text) > 3"#;
    for (on_error, expected) in [("block", "block"), ("pause", "pause"), ("pass", "forward")] {
        let rules = blocking("{ kind = 'text' }", when) + &format!("on_error = '{on_error}'");
        let evaluation = evaluate(&policy(&rules), &chat("seven"));
        let verdict = match &evaluation.verdict {
            Verdict::Forward => "forward",
            Verdict::Route(_) => "route",
            Verdict::Pause(_) => "pause",
            Verdict::Block(_) => "block",
        };
        assert_eq!(verdict, expected);
        assert!(!told(&evaluation).contains("seven"), "errors never quote the leaf");
    }
}

#[test]
fn an_expression_over_its_budget_fails_instead_of_running_on() {
    let mails: String = (0..4000).map(|n| format!("{n}{EMAIL} ")).collect();
    let rules = "[[rule]]\nid = 'mail'\nmatch = {}\ndetect = ['pii/email']\naction = 'redact'\n".to_owned()
        + &blocking("{}", "leaf.findings.all(f, leaf.text.contains(f.label))");
    let evaluation = evaluate(&policy(&rules), &chat(&mails));
    assert_eq!(block(&evaluation).cause, Cause::Error);
    assert!(block(&evaluation).detail.contains("budget"), "{}", block(&evaluation).detail);
}

#[test]
fn a_pause_carries_its_terms() {
    let rules = "[[rule]]\nid = 'look'\nmatch = {}\naction = 'pause'\ntimeout = '5m'\non_timeout = 'resume'\n\
                 subagents = 'pause'\n";
    let evaluation = evaluate(&policy(rules), &chat("hello"));
    let Verdict::Pause(holds) = &evaluation.verdict else { panic!("{:?}", evaluation.verdict) };
    assert_eq!(holds[0].timeout, Some(Duration::from_secs(300)));
    assert_eq!(holds[0].on_timeout, OnTimeout::Resume);
}

#[test]
fn a_block_wins_over_pauses_before_it() {
    let rules = "[[rule]]\nid = 'look'\nmatch = {}\naction = 'pause'\n".to_owned() + &blocking("{}", "true");
    assert_eq!(&*block(&evaluate(&policy(&rules), &chat("hello"))).rule, "stop");
}

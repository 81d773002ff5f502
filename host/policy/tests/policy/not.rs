//! `any`, `not` and `ignore-case`: what every field of `match` may say beside words.

use leafgate_policy::{Context, Outside, Part, Verdict};
use serde_json::{Value, json};

use super::support::*;

fn blocks(selector: &str, body: &Value, context: &Context<'_>) -> bool {
    let rules = format!("[[rule]]\nid = 'stop'\nmatch = {{ {selector} }}\naction = 'block'\n");
    matches!(policy(&rules).evaluate(document(body), context, &vault()).verdict, Verdict::Block(_))
}

#[test]
fn what_is_left_out_of_a_request_is_not_matched() {
    let outside = [
        Outside { part: Part::Header { name: "x-team".into() }, text: "red".into() },
        Outside { part: Part::Header { name: "x-both".into() }, text: "a".into() },
        Outside { part: Part::Header { name: "x-both".into() }, text: "b".into() },
    ];
    let context = Context {
        session: "s",
        agent: Some("codex"),
        upstream: Some("https://api.openai.com"),
        upstream_name: Some("cloud"),
        endpoint: Some("/v1/chat/completions"),
        outside: &outside,
        ..Context::default()
    };
    let mut body = chat("hello");
    body["model"] = json!("Local/Llama");
    body["store"] = json!(false);
    for (selector, applies) in [
        ("model = { not = 'gpt-*' }", true),
        ("model = { not = 'Local/*' }", false),
        // What a rule that restricts lets pass is written as it is.
        ("model = { not = 'local/*' }", true),
        ("model = { not = 'local/*', ignore-case = true }", false),
        ("model = { any = ['local/*', 'o3'], not = '*mini' }", true),
        ("model = { any = 'local/*', not = ['x', '*Llama'] }", false),
        ("format = { not = 'gemini' }", true),
        ("format = { not = ['gemini', 'openai-chat'] }", false),
        ("agent = { not = 'claude-code' }", true),
        ("agent = { not = ['claude-code', 'co*'] }", false),
        ("session = { not = 's' }", false),
        ("upstream = { not = 'cloud' }", false),
        ("upstream = { not = 'https://api.openai.com' }", false),
        ("upstream = { not = 'local' }", true),
        ("upstream = 'CLOUD'", false),
        ("upstream = { any = 'CLOUD', ignore-case = true }", true),
        ("endpoint = { not = '/v1/messages' }", true),
        ("endpoint = { not = '/v1/*' }", false),
        ("project = { not = '*/payments' }", true),
        ("header = { x-team = { not = 'red' } }", false),
        ("header = { x-team = { not = 'RED', ignore-case = true } }", false),
        ("header = { x-team = { not = 'blue' } }", true),
        ("header = { x-both = { not = 'a' } }", true),
        ("header = { x-none = { not = 'red' } }", true),
        ("header = { x-none = { any = '*', not = 'red' } }", false),
        // What must be there: whoever does not say so is stopped.
        ("option = { store = { not = 'false' } }", false),
        ("option = { seed = { not = '*' } }", true),
        ("option = { store = { not = '*' } }", false),
    ] {
        assert_eq!(blocks(selector, &body, &context), applies, "{selector}");
    }
}

#[test]
fn what_is_left_out_of_the_leaves_is_not_matched() {
    let body = tool_chat(&json!({ "command": "ls" }), "found");
    let blocks = |selector: &str| {
        let rules = format!(
            "[[rule]]\nid = 'stop'\nmatch = {{ {selector} }}\nwhen = 'leaf.text == \"found\"'\naction = 'block'\n"
        );
        matches!(evaluate(&policy(&rules), &body).verdict, Verdict::Block(_))
    };
    let result = document(&body);
    let result = result.leaves().find(|leaf| leaf.text().expose() == "found").unwrap();
    let (tool, path) = (result.tool().unwrap(), document(&body).display_path(result.id()));
    for (selector, applies) in [
        ("kind = { not = 'text' }".to_owned(), true),
        ("kind = { not = 'tool-result' }".to_owned(), false),
        ("role = { not = ['user', 'assistant'] }".to_owned(), true),
        ("role = { not = 'tool' }".to_owned(), false),
        ("section = { not = 'user' }".to_owned(), true),
        ("section = { not = 'tool-result' }".to_owned(), false),
        ("tool = { not = 'other' }".to_owned(), true),
        (format!("tool = {{ not = '{tool}' }}"), false),
        (format!("tool = {{ any = '*', not = '{}', ignore-case = true }}", tool.to_uppercase()), false),
        (format!("path = {{ not = '{path}' }}"), false),
        ("path = { not = 'messages[0]' }".to_owned(), true),
        ("path = { any = 'messages[*]', not = 'messages[-1]' }".to_owned(), !path.contains("[2]")),
        (format!("path = {{ any = '{}', ignore-case = true }}", path.to_uppercase()), true),
        (format!("path = '{}'", path.to_uppercase()), false),
    ] {
        assert_eq!(blocks(&selector), applies, "{selector}");
    }
}

/// A leaf of no tool is of no other tool either: the rule would stop every request.
#[test]
fn who_leaves_out_a_tool_asks_about_tools() {
    assert!(!blocks("tool = { not = 'Bash' }", &chat("hello"), &Context::default()));
}

/// What allows leaves out in any case, and lets pass exactly.
#[test]
fn an_exception_leaves_out_more_than_it_lets_pass() {
    let mut body = chat("write to ann@example.org");
    let redacts = |selector: &str, body: &Value| {
        let rules = format!(
            "[[rule]]\nid = 'mail'\nmatch = {{}}\ndetect = 'pii/email'\naction = 'redact'\n\
             [[exception]]\nvalue = 'ann@example.org'\nmatch = {{ {selector} }}\nreason = 'x'\nby = 'y'\nuntil = 'never'\n"
        );
        sent(&evaluate(&policy(&rules), body)) != *body
    };
    body["model"] = json!("GPT-5");
    for (selector, stays) in [
        ("model = { not = 'o3' }", true),
        ("model = { not = 'gpt-5' }", false),
        ("model = 'gpt-5'", false),
        ("model = { any = 'gpt-5', ignore-case = true }", true),
        // Who sends it is not known.
        ("agent = { not = 'codex' }", false),
        ("header = { x-team = { not = 'red' } }", false),
    ] {
        assert_eq!(!redacts(selector, &body), stays, "{selector}");
    }
}

#[test]
fn a_rule_behind_one_that_leaves_more_out_is_not_told_to_do_nothing() {
    let warns = |first: &str, second: &str| {
        let rule = |id: &str, selector: &str| {
            format!("[[rule]]\nid = '{id}'\nmatch = {{ {selector} }}\naction = 'block'\n")
        };
        !policy(&(rule("a", first) + &rule("b", second))).warnings().is_empty()
    };
    assert!(warns("model = { not = 'o3' }", "model = { not = ['o3', 'o4'] }"));
    assert!(warns("kind = { not = 'text' }", "kind = { not = ['text', 'tool-result'] }"));
    assert!(!warns("model = { not = ['o3', 'o4'] }", "model = { not = 'o3' }"));
    assert!(!warns("kind = { not = ['text', 'tool-result'] }", "kind = { not = 'text' }"));
    assert!(!warns("path = { any = 'a', not = 'a.b' }", "path = 'a'"));
    assert!(!warns("model = { any = 'o3', not = 'x' }", "model = { any = 'o3', ignore-case = true }"));
}

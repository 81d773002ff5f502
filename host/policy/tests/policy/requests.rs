//! What rules ask about a request as a whole, and the latest message of its user.

use leafgate_policy::{Context, Evaluation, Outside, Part, Policy, Verdict};
use leafgate_tree::{Format, Limits};
use serde_json::{Value, json};

use super::support::*;

/// A rule that blocks what its `match` and `when` select.
fn blocking(selector: &str, when: &str) -> Policy {
    policy(&format!("[[rule]]\nid = 'stop'\nmatch = {selector}\nwhen = '''{when}'''\naction = 'block'\n"))
}

fn blocks(policy: &Policy, body: &Value, context: &Context<'_>) -> bool {
    matches!(policy.evaluate(document(body), context, &vault()).verdict, Verdict::Block(_))
}

#[test]
fn what_came_with_a_request_is_matched_as_a_whole() {
    let outside = [
        Outside { part: Part::Path, text: "/v1/chat/completions".into() },
        Outside { part: Part::Header { name: "x-team".into() }, text: "red".into() },
        Outside { part: Part::Header { name: "x-team".into() }, text: "blue-2".into() },
    ];
    let context = Context {
        session: "s",
        agent: Some("codex"),
        subagent: Some(true),
        upstream: Some("https://api.openai.com"),
        upstream_name: None,
        endpoint: Some("/v1/chat/completions"),
        outside: &outside,
        ..Context::default()
    };
    let mut body = chat("hello");
    body["temperature"] = json!(0.5);
    body["reasoning"] = json!({ "effort": "high" });
    for (selector, applies) in [
        ("{ subagent = true }", true),
        ("{ subagent = false }", false),
        ("{ stream = false }", true),
        ("{ stream = true }", false),
        ("{ upstream = 'https://*.openai.com' }", true),
        ("{ upstream = 'https://example.org' }", false),
        ("{ endpoint = ['/v1/messages', '/v1/chat/*'] }", true),
        ("{ endpoint = '/v1/messages' }", false),
        ("{ header = { X-Team = 'blue*' } }", true),
        ("{ header = { x-team = ['green', 'red'] } }", true),
        ("{ header = { x-team = 'green' } }", false),
        ("{ header = { x-project = '*' } }", false),
        ("{ option = { temperature = '0.5' } }", true),
        ("{ option = { temperature = '*', 'reasoning.effort' = 'high' } }", true),
        ("{ option = { temperature = '*', 'reasoning.effort' = 'low' } }", false),
        ("{ option = { reasoning = '*' } }", true),
        ("{ option = { top_p = '*' } }", false),
        ("{ subagent = true, header = { x-team = 'red' }, option = { temperature = '1' } }", false),
    ] {
        assert_eq!(blocks(&blocking(selector, "true"), &body, &context), applies, "{selector}");
        // A rule that names a leaf too is about the same requests.
        let leaf = blocking(selector, "leaf.text == 'hello'");
        assert_eq!(blocks(&leaf, &body, &context), applies, "{selector}");
    }
}

#[test]
fn a_request_without_them_is_not_matched() {
    let offline = Context { session: "s", ..Context::default() };
    for selector in [
        "{ subagent = true }",
        "{ upstream = '*?' }",
        "{ endpoint = '/*' }",
        "{ header = { x-team = '*' } }",
        "{ option = { temperature = '*' } }",
    ] {
        assert!(!blocks(&blocking(selector, "true"), &chat("hello"), &offline), "{selector}");
    }
}

#[test]
fn an_option_that_stands_twice_has_both_values() {
    let body = r#"{"model":"m","temperature":0,"messages":[{"role":"user","content":"x"}],"temperature":2}"#;
    for value in ["0", "2"] {
        let policy = blocking(&format!("{{ option = {{ temperature = '{value}' }} }}"), "true");
        let evaluation = policy.evaluate(parse(body, Format::OpenaiChat), &Context::default(), &vault());
        assert!(matches!(evaluation.verdict, Verdict::Block(_)), "{value}");
    }
}

#[test]
fn conditions_count_messages_tools_bytes_and_tokens() {
    let body = json!({ "model": "m", "messages": [
        { "role": "system", "content": "be brief" },
        { "role": "user", "content": "a".repeat(4000) },
    ], "tools": [
        { "type": "function", "function": { "name": "one" } },
        { "type": "function", "function": { "name": "two" } },
    ] });
    let bytes = body.to_string().len();
    let context = Context { subagent: Some(true), endpoint: Some("/v1/x"), ..Context::default() };
    for (when, applies) in [
        ("request.messages == 2", true),
        ("request.tools == 2", true),
        ("request.tools > 2", false),
        (&*format!("request.bytes == {bytes}"), true),
        ("request.tokens >= 1000 && request.tokens < 1100", true),
        ("request['tokens'] >= 1000", true),
        ("dyn(request)['tok' + 'ens'] >= 1000", true),
        ("request.tokens * 4 <= request.bytes", true),
        ("request.subagent && request.endpoint.startsWith('/v1/') && request.upstream == ''", true),
        ("request.messages == 2 && leaf.text == 'be brief'", true),
        ("request.messages == 3 && leaf.text == 'be brief'", false),
    ] {
        assert_eq!(blocks(&blocking("{}", when), &body, &context), applies, "{when}");
    }
}

#[test]
fn tools_of_a_group_count_one_by_one() {
    let body = r#"{"contents":[{"role":"user","parts":[{"text":"x"}]}],"tools":[
        {"functionDeclarations":[{"name":"a"},{"name":"b"}]},{"googleSearch":{}}]}"#;
    let evaluation = blocking("{}", "request.tools == 3").evaluate(
        parse(body, Format::Gemini),
        &Context::default(),
        &vault(),
    );
    assert!(matches!(evaluation.verdict, Verdict::Block(_)));
}

/// Requests whose user said `now` last, in each format that has users, and `then` before.
fn conversations() -> Vec<(Format, Value)> {
    vec![
        (
            Format::OpenaiChat,
            json!({ "messages": [
            { "role": "user", "content": "then" }, { "role": "assistant", "content": "yes" },
            { "role": "user", "content": [{ "type": "text", "text": "now" }] },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "1", "type": "function", "function": { "name": "f", "arguments": "{}" } }] },
            { "role": "tool", "tool_call_id": "1", "content": "then" },
        ] }),
        ),
        (
            Format::OpenaiResponses,
            json!({ "input": [
            { "role": "user", "content": "then" },
            { "role": "user", "content": [{ "type": "input_text", "text": "now" }] },
            { "type": "function_call", "call_id": "1", "name": "f", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "1", "output": "then" },
        ] }),
        ),
        (Format::OpenaiResponses, json!({ "instructions": "then", "input": "now" })),
        (
            Format::AnthropicMessages,
            json!({ "max_tokens": 9, "system": "then", "messages": [
            { "role": "user", "content": "then" }, { "role": "assistant", "content": "then" },
            { "role": "user", "content": "now" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "f", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1", "content": "then" }] },
            { "role": "system", "content": "then" },
        ] }),
        ),
        (
            Format::AnthropicMessages,
            json!({ "max_tokens": 9, "messages": [
                { "role": "user", "content": "then" },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "f", "input": {} }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "1", "content": [{ "type": "text", "text": "then" }] },
                    { "type": "text", "text": "now" },
                ] },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "2", "name": "f", "input": {} }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "2", "content": "then" },
                    { "type": "text", "text": "<system-reminder>\nthen\n</system-reminder>" },
                ] },
            ] }),
        ),
        (
            Format::Gemini,
            json!({ "contents": [
            { "role": "user", "parts": [{ "text": "then" }] }, { "role": "model", "parts": [{ "text": "then" }] },
            { "role": "user", "parts": [{ "text": "now" }] },
        ] }),
        ),
    ]
}

#[test]
fn the_latest_message_of_the_user_is_found_in_every_format() {
    for (format, body) in conversations() {
        let judged = |word: &str| {
            let policy = blocking("{ latest = true }", &format!("leaf.text == '{word}'"));
            policy.evaluate(parse(&body.to_string(), format), &Context::default(), &vault()).verdict
        };
        assert!(matches!(judged("now"), Verdict::Block(_)), "{format}: {body}");
        assert_eq!(judged("then"), Verdict::Forward, "{format}: {body}");
    }
}

#[test]
fn latest_narrows_a_path_and_a_path_narrows_latest() {
    let body = json!({ "messages": [
        { "role": "user", "content": "now" }, { "role": "user", "name": "now", "content": "now" },
    ] });
    let set = |selector: &str| {
        let rules = format!("[[rule]]\nid='r'\nmatch={selector}\naction='rewrite'\nset='x'\n");
        sent(&evaluate(&policy(&rules), &body))
    };
    let latest = set("{ latest = true, path = 'messages[*].content' }");
    assert_eq!(latest["messages"][0]["content"], "now");
    assert_eq!(latest["messages"][1]["content"], "x");
    let elsewhere = set("{ latest = true, path = 'messages[0].content' }");
    assert_eq!(elsewhere, body);
}

#[test]
fn what_a_detector_finds_in_the_latest_message_alone_is_redacted_turn_after_turn() {
    let rules = "[[rule]]\nid='mail'\nmatch={ latest = true }\ndetect=['pii/email']\naction='redact'\n";
    let policy = policy(rules);
    let turn = |said: &[&str]| {
        let messages: Vec<Value> =
            said.iter().map(|text| json!({ "role": "user", "content": text })).collect();
        sent(&evaluate(&policy, &json!({ "messages": messages })))
    };
    let mine = format!("write to {EMAIL} please, and tell me when it is done");
    let first = turn(&[&mine]);
    assert!(!first["messages"][0]["content"].as_str().unwrap().contains(EMAIL));
    // The policy remembers the message, and not that it was the latest one.
    let second = turn(&[&mine, "and now?"]);
    assert_eq!(second["messages"][0]["content"], *mine);
    assert_eq!(turn(&[&mine]), first);
}

#[test]
fn a_person_who_changes_the_latest_message_changes_what_rules_look_at() {
    let policy = blocking("{ latest = true }", "leaf.text.contains('stop')");
    let body = json!({ "messages": [
        { "role": "user", "content": "stop" }, { "role": "user", "content": "go" },
    ] });
    let Evaluation { mut draft, recall, verdict, .. } = evaluate(&policy, &body);
    assert_eq!(verdict, Verdict::Forward);
    let last = draft.document().resolve("/messages/1/content").unwrap();
    draft.set(last, "now stop", &leafgate_tree::Author::Person).unwrap();
    let context = Context { session: "s1", ..Context::default() };
    let reviewed = policy.review(&mut draft, &context, &vault(), &recall).unwrap();
    assert!(matches!(reviewed, Verdict::Block(_)));
    assert!(draft.reread(&Limits::default()).is_ok());
}

// S0-93
#[test]
fn a_pause_lets_sub_agents_pass_where_it_says_so() {
    let rules = "[[rule]]\nid='look'\nmatch={}\naction='pause'\nsubagents='skip'\n";
    let policy = policy(rules);
    let verdict = |subagent| {
        let context = Context { subagent, ..Context::default() };
        policy.evaluate(document(&chat("hello")), &context, &vault()).verdict
    };
    assert_eq!(verdict(Some(true)), Verdict::Forward);
    assert!(matches!(verdict(Some(false)), Verdict::Pause(_)));
    assert!(matches!(verdict(None), Verdict::Pause(_)), "who cannot be told is not let pass");
}

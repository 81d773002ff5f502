//! How rules name tools and models: in which case, under which other names, and what counts where the
//! tool is not certain.

use leafgate_policy::{Context, Offered, Verdict};
use leafgate_tree::{CallBefore, Document, Format, Limits};
use serde_json::{Value, json};

use super::support::*;

/// A conversation with these calls, each `(id, tool)`, and results of these ids.
fn called(calls: &[(&str, &str)], results: &[&str]) -> Value {
    let call = |(id, tool): &(&str, &str)| json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": "{}" } });
    let mut messages =
        vec![json!({ "role": "assistant", "tool_calls": calls.iter().map(call).collect::<Vec<_>>() })];
    messages
        .extend(results.iter().map(|id| json!({ "role": "tool", "tool_call_id": id, "content": "found" })));
    json!({ "messages": messages })
}

fn rule(selector: &str, action: &str) -> String {
    format!(
        "[[rule]]\nid = 'r'\nmatch = {{ {selector} }}\nwhen = 'leaf.text == \"found\"'\naction = {action}\n"
    )
}

fn blocks(selector: &str, body: &Value) -> bool {
    matches!(evaluate(&policy(&rule(selector, "'block'")), body).verdict, Verdict::Block(_))
}

/// P-05: `Bash` passed a rule on `bash`, `container.exec` one on `shell`.
#[test]
fn tools_are_named_in_any_case_and_shells_by_one_word() {
    for (selector, tool, is_named) in [
        ("tool = 'bash'", "Bash", true),
        ("tool = '*delete*'", "FileDelete", true),
        ("tool = 'shell'", "container.exec", true),
        ("tool = 'shell'", "Bash", true),
        ("tool = 'shell'", "run_in_terminal", true),
        ("tool = ['x', 'Shell']", "exec_command", true),
        ("tool = 'shell'", "Read", false),
        ("tool = 'bash'", "shell", false),
        ("tool = 'bash'", "bash_output", false),
    ] {
        assert_eq!(blocks(selector, &called(&[("1", tool)], &["1"])), is_named, "{selector} {tool}");
    }
    let dropped =
        policy("[[rule]]\nid = 'r'\nmatch = {}\naction = 'filter-tools'\ndrop = ['shell', 'WEB*']\n");
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let mut body = chat("hi");
    body["tools"] = json!([tool("Bash"), tool("Read"), tool("webfetch")]);
    assert_eq!(sent(&evaluate(&dropped, &body))["tools"], json!([tool("Read")]));
    let kept = policy("[[rule]]\nid = 'r'\nmatch = {}\naction = 'filter-tools'\nkeep = ['read', 'Bash']\n");
    assert_eq!(sent(&evaluate(&kept, &body))["tools"], json!([tool("Bash")]), "what allows, allows exactly");
}

/// P-10: two calls of one id, and the results counted for the tool that came last.
#[test]
fn a_result_that_may_be_of_either_tool_is_of_both_to_what_restricts() {
    for calls in [[("1", "Read"), ("1", "Bash")], [("1", "Bash"), ("1", "Read")]] {
        for tool in ["Read", "Bash"] {
            let selector = format!("tool = '{tool}', kind = 'tool-result'");
            assert!(blocks(&selector, &called(&calls, &["1", "1"])), "{calls:?} {tool}");
            assert!(!blocks(&selector, &called(&[("2", "Edit"), calls[0], calls[1]], &["2"])), "{calls:?}");
        }
    }
    // One after the other is no doubt: each result is of the call before it.
    let mut body = called(&[("1", "Bash")], &["1"]);
    let again = called(&[("1", "Read")], &["1"]);
    body["messages"].as_array_mut().unwrap().extend(again["messages"].as_array().unwrap().clone());
    body["messages"][1]["content"] = json!("other");
    assert!(blocks("tool = 'Read'", &body) && !blocks("tool = 'Bash'", &body));
}

/// P-16: the call of a result stands in no message where the conversation is the server's.
#[test]
fn a_result_without_its_call_is_of_every_tool_to_what_restricts() {
    let body = json!({ "previous_response_id": "resp_1",
        "input": [{ "type": "function_call_output", "call_id": "c", "output": "found" }] });
    let restricts = policy(&rule("tool = 'Bash'", "'block'"));
    let context = Context::default();
    let parsed =
        || Document::parse(body.to_string().into(), Format::OpenaiResponses, &Limits::default()).unwrap();
    let is_blocked = |document: Document| {
        matches!(restricts.evaluate(document.into(), &context, &vault()).verdict, Verdict::Block(_))
    };
    assert!(is_blocked(parsed()));
    let knowing = |tool: &str| {
        let mut document = parsed();
        document.know_calls(|id| (id == "c").then(|| CallBefore { tool: tool.into(), file: None }));
        document
    };
    assert!(is_blocked(knowing("Bash")) && !is_blocked(knowing("Read")));
    let changes = policy(&rule("tool = 'Bash'", "'rewrite'\nset = 'x'"));
    let evaluation = changes.evaluate(parsed().into(), &context, &vault());
    assert!(String::from_utf8_lossy(&evaluation.draft.render()).contains("found"));
}

/// A call whose tool nobody offered under exactly this name.
#[test]
fn a_call_that_was_not_offered_is_of_every_tool_to_what_restricts() {
    let mut request = chat("hi");
    request["tools"] = json!([{ "type": "function", "function": { "name": "bash" } }]);
    let offered = Offered::of(&document(&request));
    let is_blocked = |selector: &str, tool: &str| {
        let calls = called(&[("1", tool)], &[]);
        let mut document =
            Document::parse(calls.to_string().into(), Format::OpenaiChat, &Limits::default()).unwrap();
        document.doubt_calls(|name| offered.has(name));
        let rules = format!("[[rule]]\nid = 'r'\nmatch = {{ {selector} }}\naction = 'block'\n");
        let evaluation = policy(&rules).evaluate(document.into(), &Context::default(), &vault());
        matches!(evaluation.verdict, Verdict::Block(_))
    };
    assert!(!is_blocked("tool = 'Read'", "bash"));
    for odd in ["Bash", "bash ", " bash", "functions.bash", "\u{a0}bash", "container.exec", ""] {
        assert!(is_blocked("tool = 'Read'", odd), "{odd:?}");
        assert!(!is_blocked("tool = 'Read', role = 'user'", odd), "{odd:?}: other fields count as ever");
    }
}

/// P-24: rules by model were passed by another case, a second member, and a list.
#[test]
fn whatever_a_body_names_as_model_is_one_to_what_restricts() {
    let restricts = policy("[[rule]]\nid = 'r'\nmatch = { model = 'gpt-5*' }\naction = 'block'\n");
    let is_blocked = |body: &str| {
        let document = parse(body, Format::OpenaiChat);
        matches!(restricts.evaluate(document, &Context::default(), &vault()).verdict, Verdict::Block(_))
    };
    let messages = r#""messages": [{"role": "user", "content": "hi"}]"#;
    for named in [
        r#""model": "gpt-5""#,
        r#""model": "GPT-5-mini""#,
        r#""model": "gpt-4", "model": "gpt-5""#,
        r#""model": "gpt-5", "model": "gpt-4""#,
        r#""model": "gpt-4", "Model": "gpt-5""#,
        r#""model": "gpt-4", "models": ["x", "gpt-5"]"#,
        r#""models": ["gpt-5"]"#,
    ] {
        assert!(is_blocked(&format!("{{{named}, {messages}}}")), "{named}");
    }
    for named in [r#""model": "gpt-4""#, r#""model": "my-gpt-5""#, r#""metadata": {"model": "gpt-5"}"#] {
        assert!(!is_blocked(&format!("{{{named}, {messages}}}")), "{named}");
    }
}

#[test]
fn an_exception_takes_names_as_they_are_written() {
    let rules = |selector: &str| {
        format!(
            "[[rule]]\nid = 'r'\nmatch = {{}}\ndetect = ['secrets']\naction = 'redact'\n\n\
             [[exception]]\nmatch = {{ {selector} }}\nvalue = '{}'\nreason = 'a test'\nby = 'x'\nuntil = 'never'\n",
            secret()
        )
    };
    let is_allowed = |selector: &str, body: &str| {
        let evaluation =
            policy(&rules(selector)).evaluate(parse(body, Format::OpenaiChat), &Context::default(), &vault());
        String::from_utf8_lossy(&evaluation.draft.render()).contains(&secret())
    };
    let body =
        |model: &str| format!(r#"{{{model}, "messages": [{{"role": "user", "content": "{}"}}]}}"#, secret());
    assert!(is_allowed("model = 'gpt-5'", &body(r#""model": "gpt-5""#)));
    for odd in [
        r#""model": "GPT-5""#,
        r#""model": "gpt-5", "models": ["gpt-4"]"#,
        r#""model": "gpt-5", "model": "x""#,
    ] {
        assert!(!is_allowed("model = 'gpt-5'", &body(odd)), "{odd}");
    }
    let mut read = called(&[("1", "Read")], &["1"]);
    read["messages"][1]["content"] = json!(secret());
    assert!(
        is_allowed("tool = 'Read'", &read.to_string()) && !is_allowed("tool = 'read'", &read.to_string())
    );
    read["messages"][1]["tool_call_id"] = json!("2");
    assert!(!is_allowed("tool = 'Read'", &read.to_string()), "nobody knows whose result it is");
}

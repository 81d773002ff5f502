//! Tools that leave no trace, and tools whose schemas ask for everything.

use leafgate_policy::{Context, Evaluation, Policy};
use leafgate_tree::Format;
use serde_json::{Value, json};

use super::support::*;

fn rule(action: &str) -> Policy {
    policy(&format!("[[rule]]\nid = 'r'\nmatch = {{}}\n{action}\n"))
}

fn evaluated(policy: &Policy, format: Format, body: &Value) -> Evaluation {
    policy.evaluate(parse(&body.to_string(), format), &Context::default(), &vault())
}

fn stripped(format: Format, body: &Value) -> Value {
    let evaluation = evaluated(&rule("action = 'strip-tools'"), format, body);
    assert_forward(&evaluation);
    sent(&evaluation)
}

// S3-07
#[test]
fn no_trace_of_tools_is_left_and_what_was_said_beside_them_stays() {
    let call = json!([{ "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{}" } }]);
    let body = json!({
        "model": "m",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Look" },
            { "role": "assistant", "content": "I look.", "tool_calls": call },
            { "role": "tool", "tool_call_id": "c1", "content": "found" },
            { "role": "assistant", "content": null, "tool_calls": call },
            { "role": "tool", "tool_call_id": "c1", "content": "found again" },
            { "role": "user", "content": "And?" },
        ],
        "tools": [{ "type": "function", "function": { "name": "read", "parameters": {} } }],
        "tool_choice": "auto",
    });
    let expected = json!({
        "model": "m",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Look" },
            { "role": "assistant", "content": "I look." },
            { "role": "user", "content": "And?" },
        ],
    });
    assert_eq!(stripped(Format::OpenaiChat, &body), expected);
}

#[test]
fn the_user_and_the_model_keep_their_words_in_every_format() {
    let anthropic = json!({
        "model": "m", "max_tokens": 9,
        "messages": [
            { "role": "user", "content": "Look" },
            { "role": "assistant", "content": [
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "c1", "name": "read", "input": { "path": "/a" } },
            ]},
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c1", "content": "found" },
                { "type": "text", "text": "Go on." },
            ]},
        ],
        "tools": [{ "name": "read", "input_schema": { "type": "object" } }],
    });
    let responses = json!({
        "model": "m",
        "input": [
            { "type": "message", "role": "user", "content": "Look" },
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I look." }] },
            { "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c1", "output": "found" },
            { "type": "message", "role": "user", "content": "Go on." },
        ],
        "tools": [{ "type": "function", "name": "read", "parameters": {} }],
    });
    let gemini = json!({
        "contents": [
            { "role": "user", "parts": [{ "text": "Look" }] },
            { "role": "model", "parts": [{ "text": "I look." }, { "functionCall": { "name": "read", "args": {} } }] },
            { "role": "user", "parts": [{ "functionResponse": { "name": "read", "response": { "r": "found" } } }] },
            { "role": "user", "parts": [{ "text": "Go on." }] },
        ],
        "tools": [{ "functionDeclarations": [{ "name": "read" }] }],
    });
    for (format, body) in [
        (Format::AnthropicMessages, anthropic),
        (Format::OpenaiResponses, responses),
        (Format::Gemini, gemini),
    ] {
        let sent = stripped(format, &body).to_string();
        for said in ["Look", "I look.", "Go on."] {
            assert_eq!(sent.matches(said).count(), 1, "{format}: {said} in {sent}");
        }
        for gone in ["found", "read", "tools", "c1", "rs_1"] {
            assert!(!sent.contains(gone), "{format}: {gone} in {sent}");
        }
    }
}

#[test]
fn what_was_redacted_stays_what_it_is() {
    let policy = policy(
        "[[rule]]\nid = 'mail'\nmatch = {}\ndetect = ['pii/email']\naction = 'redact'\nwith = 'surrogate'\n\
         [[rule]]\nid = 'strip'\nmatch = {}\naction = 'strip-tools'\n",
    );
    let call = json!([{ "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{}" } }]);
    let body = json!({ "messages": [
        { "role": "user", "content": "Look" },
        { "role": "assistant", "content": format!("I ask {EMAIL}."), "tool_calls": call },
        { "role": "tool", "tool_call_id": "c1", "content": "found" },
    ]});
    let evaluation = evaluate(&policy, &body);
    let alone = super::support::policy(
        "[[rule]]\nid = 'mail'\nmatch = {}\ndetect = ['pii/email']\naction = 'redact'\nwith = 'surrogate'\n",
    );
    let expected = sent_at(&evaluate(&alone, &body), "/messages/1/content");
    assert_eq!(sent_at(&evaluation, "/messages/1/content"), expected);
    assert!(!told(&evaluation).contains(EMAIL));
}

#[test]
fn a_pinned_call_keeps_its_exchange_and_a_request_without_tools_is_untouched() {
    let pinned = policy(
        "[[rule]]\nid = 'pin'\nmatch = { kind = 'tool-arguments' }\naction = 'pin'\n\
         [[rule]]\nid = 'strip'\nmatch = {}\naction = 'strip-tools'\n",
    );
    let evaluation = evaluate(&pinned, &tool_chat(&json!({ "query": "x" }), "found"));
    assert!(!evaluation.draft.is_dirty());
    assert_eq!(evaluation.report.rules[1].skipped["pinned"], 1);
    assert!(!evaluate(&rule("action = 'strip-tools'"), &chat("hello")).draft.is_dirty());
    let monitored = rule("action = 'strip-tools'\nmode = 'monitor'");
    let evaluation = evaluate(&monitored, &tool_chat(&json!({ "query": "x" }), "found"));
    assert!(!evaluation.draft.is_dirty() && evaluation.report.rules[0].edits > 0);
}

// S3-22
#[test]
fn every_property_is_required_at_every_depth_and_strict_is_gone() {
    let schema = |required: bool| {
        let mut inner = json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
        let mut outer = json!({ "type": "object", "properties": {
            "list": { "type": "array", "items": inner.clone() },
            // A property may have the name of a keyword.
            "properties": { "type": "string" },
            "any": { "anyOf": [{ "type": "null" }, inner.clone()] },
        }});
        if required {
            inner["required"] = json!(["a", "b"]);
            outer["properties"]["list"]["items"] = inner.clone();
            outer["properties"]["any"]["anyOf"][1] = inner;
            outer["required"] = json!(["any", "list", "properties"]);
        }
        outer
    };
    let chat_tools = |required: bool, strict: bool| {
        let mut function = json!({ "name": "f", "parameters": schema(required) });
        if strict {
            function["strict"] = json!(true);
        }
        json!([{ "type": "function", "function": function }])
    };
    let sorted = |mut tools: Value| {
        let required = tools.pointer_mut("/0/function/parameters/required").and_then(Value::as_array_mut);
        required.unwrap().sort_by_key(ToString::to_string);
        tools
    };
    let body = json!({ "messages": [{ "role": "user", "content": "x" }], "tools": chat_tools(false, true) });
    let policy = rule("action = 'normalise-tools'");
    let evaluation = evaluate(&policy, &body);
    assert_forward(&evaluation);
    assert_eq!(sorted(sent(&evaluation)["tools"].clone()), chat_tools(true, false));
    let again = evaluate(&policy, &sent(&evaluation));
    assert!(!again.draft.is_dirty(), "what is normal stays as it came");
    for (format, tools) in [
        (Format::AnthropicMessages, json!([{ "name": "f", "input_schema": schema(false) }])),
        (
            Format::OpenaiResponses,
            json!([{ "type": "function", "name": "f", "strict": false, "parameters": schema(false) }]),
        ),
        (Format::Gemini, json!([{ "functionDeclarations": [{ "name": "f", "parameters": schema(false) }] }])),
    ] {
        let body = json!({ "tools": tools, "messages": [], "input": [], "contents": [] });
        let sent = sent(&evaluated(&policy, format, &body)).to_string();
        assert_eq!(sent.matches("\"required\"").count(), 3, "{format}: {sent}");
        assert!(!sent.contains("strict"), "{format}: {sent}");
    }
}

#[test]
fn tools_are_normalised_after_every_other_rule() {
    let policy = policy(
        "[[rule]]\nid = 'normal'\nmatch = {}\naction = 'normalise-tools'\n\
         [[rule]]\nid = 'filter'\nmatch = {}\naction = 'filter-tools'\ndrop = 'Bash'\n\
         [[rule]]\nid = 'words'\nmatch = { path = 'tools[*].**.description' }\naction = 'rewrite'\nappend = '!'\n",
    );
    let tool = |name: &str| {
        let parameters = json!({ "type": "object", "properties": { "a": { "description": "an a" } } });
        json!({ "type": "function", "function": { "name": name, "parameters": parameters } })
    };
    let mut body = chat("hello");
    body["tools"] = json!([tool("Read"), tool("Bash")]);
    let sent = sent(&evaluate(&policy, &body));
    assert_eq!(sent["tools"].as_array().unwrap().len(), 1);
    let parameters = &sent["tools"][0]["function"]["parameters"];
    assert_eq!(parameters["required"], json!(["a"]));
    assert_eq!(parameters["properties"]["a"]["description"], "an a!");
}

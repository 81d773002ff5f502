//! Answers that clients read in different ways: where rules or a person decide about them, nothing of them passes.

use leafgate_answer::Api;
use serde_json::{Value, json};

use crate::answering::{ASK, BUFFERED, request};
use crate::support::{House, LONG, Reply};

/// Reads a stream while it comes.
const LIVE: &str = "[[rule]]\nid = \"addresses\"\non = \"response\"\nmatch = {}\ndetect = [\"pii/email\"]\naction = \"redact\"\n";

/// What may reach nobody.
const HIDDEN: &str = "run_hidden";

fn chat(message: Value) -> String {
    json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }] }).to_string()
}

fn call(more: Value) -> Value {
    let mut call = json!({ "index": 0, "id": "c", "type": "function",
        "function": { "name": HIDDEN, "arguments": "{\"command\":\"rm\"}" } });
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

fn event(data: &Value) -> String {
    match data["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}

fn chunk(delta: Value) -> String {
    event(&json!({ "choices": [{ "index": 0, "delta": delta }] }))
}

fn done(at: usize, item: &Value) -> String {
    event(&json!({ "type": "response.output_item.done", "output_index": at, "item": item }))
}

fn completed(output: Value) -> String {
    event(&json!({ "type": "response.completed", "response": { "id": "r", "status": "completed", "output": output } }))
}

async fn told(rules: &str, api: Api, stream: bool, sent: &str) -> String {
    let kind = if stream { "text/event-stream" } else { "application/json" };
    let reply = Reply { status: 200, kind, body: Some(sent.to_owned()) };
    let house = House::with(rules, reply, |config| config.limits.keepalive = LONG).await;
    house.send_raw(request(&house, api, stream)).await.unwrap().text().to_owned()
}

/// P-01, P-10, P-14, P-26: each of these was read by some client as a call that was not judged.
#[tokio::test]
async fn what_clients_read_differently_reaches_none() {
    let shell = |command: &str| json!({ "type": "local_shell_call", "call_id": "c", "action": { "command": [command] } });
    let renamed = json!({ "type": "local_shell_call", "call_id": "c", "name": HIDDEN, "action": { "command": [HIDDEN] } });
    let message = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Hi" }] });
    let plain = chunk(json!({ "content": "Hi" }));
    let hidden = chunk(json!({ "tool_calls": [call(json!({}))] }));
    let cases = [
        (Api::Chat, false, chat(json!({ "tool_calls": [call(json!({ "custom": {} }))] }))),
        (Api::Chat, false, chat(json!({ "Tool_Calls": [call(json!({}))] }))),
        (Api::Chat, false, chat(json!({ "Content": HIDDEN }))),
        (Api::Chat, true, chunk(json!({ "tool_calls": [call(json!({ "custom": {} }))] }))),
        (Api::Chat, true, chunk(json!({ "Content": HIDDEN }))),
        (Api::Chat, true, hidden.replacen("data:", "Data:", 1)),
        (Api::Chat, true, hidden.replacen("data:", " data:", 1)),
        (Api::Chat, true, hidden.replacen("data: ", "", 1)),
        (Api::Chat, true, format!("{plain}\u{feff}{hidden}")),
        (Api::Chat, true, format!("{plain}: x\u{85}{hidden}")),
        (Api::Chat, true, format!("{plain}: x\u{2028}{hidden}")),
        (Api::Responses, false, json!({ "id": "r", "output": [renamed.clone()] }).to_string()),
        (Api::Responses, true, done(0, &renamed) + &completed(json!([renamed]))),
        (Api::Responses, true, done(0, &shell(HIDDEN)) + &completed(json!([message]))),
        (Api::Responses, true, done(0, &shell(HIDDEN)) + &completed(json!([shell("ls")]))),
        (Api::Responses, true, done(0, &shell(HIDDEN)) + &done(0, &shell("ls"))),
    ];
    for (api, stream, sent) in cases {
        for rules in [ASK, BUFFERED, LIVE] {
            let told = told(rules, api, stream, &sent).await;
            assert!(told.contains("clients may read"), "{api:?} {sent}\n-> {told}");
            assert!(!told.contains(HIDDEN), "{api:?} {sent}\n-> {told}");
        }
    }
}

/// Servers write nulls by accident, which are nothing to every client.
#[tokio::test]
async fn a_null_changes_nothing() {
    let nulls = json!({ "role": "assistant", "content": "Hi", "refusal": null, "function_call": null, "tool_calls": null });
    let whole = chat(nulls.clone());
    let called = chat(json!({ "content": null, "tool_calls": [call(json!({ "custom": null }))] }));
    for rules in [ASK, BUFFERED, LIVE] {
        assert_eq!(told(rules, Api::Chat, false, &whole).await, whole);
        let stream = chunk(nulls.clone()) + "data: [DONE]\n\n";
        assert_eq!(told(rules, Api::Chat, true, &stream).await, stream);
    }
    assert_eq!(told(BUFFERED, Api::Chat, false, &called).await, called);
}

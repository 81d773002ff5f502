//! [Responses](https://platform.openai.com/docs/api-reference/responses).

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::{Call, Form, Heard, Reply, Turn, fragments, named, text_of};

const ITEM: &str = "item_kit";

pub(super) const FORM: Form = Form { heard, whole, events, ending: 4 };

/// What has been asked, response by response: who goes on from one by its name does not say it again.
static ASKED: Mutex<Vec<Vec<Value>>> = Mutex::new(Vec::new());

/// How the names of responses begin; their place in [`ASKED`] follows. VS Code goes on from no other ones.
const ID: &str = "resp_kit_";

/// A request with all that was asked before it, and with the name that the response to it will have.
pub(super) fn whole_of(mut body: Value) -> Value {
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let before = body["previous_response_id"].as_str().and_then(|id| id.strip_prefix(ID)?.parse().ok());
    let mut input = before.and_then(|at: usize| asked.get(at).cloned()).unwrap_or_default();
    match body["input"].take() {
        Value::Array(items) => input.extend(items),
        text => input.push(json!({ "role": "user", "content": text })),
    }
    body["id"] = json!(format!("{ID}{}", asked.len()));
    body["input"] = json!(input);
    asked.push(input);
    body
}

fn heard(body: &Value) -> Heard {
    let input = &body["input"];
    let last = input.as_array().and_then(|items| items.last()).unwrap_or(&Value::Null);
    let is_result = last["type"] == "function_call_output";
    let said = if is_result { &last["output"] } else { &last["content"] };
    Heard { text: text_of(said), is_result, tool: body["tools"][0]["name"].as_str().map(str::to_owned) }
}

fn whole(reply: &Reply) -> Value {
    let item = match &reply.turn {
        Turn::Says(text) => says(&[part(text)], "completed"),
        Turn::Calls(call) => calls(call, &call.arguments, "completed"),
    };
    response(reply, &json!([item]), "completed")
}

fn events(reply: &Reply) -> Vec<String> {
    let begun = response(reply, &json!([]), "in_progress");
    let whole = whole(reply);
    let mut events = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
    ];
    match &reply.turn {
        Turn::Says(text) => events.extend(speech(text)),
        Turn::Calls(made) => events.extend(call(made)),
    }
    events.extend([
        json!({ "type": "response.output_item.done", "output_index": 0, "item": whole["output"][0] }),
        json!({ "type": "response.completed", "response": whole }),
    ]);
    for (at, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = at.into();
    }
    events.iter().map(named).collect()
}

/// The events of a message that speaks, but for its end.
fn speech(text: &str) -> Vec<Value> {
    let about = |kind: &str, key: &str, value: Value| json!({ "type": kind, "item_id": ITEM, "output_index": 0, "content_index": 0, key: value });
    let mut events = vec![
        json!({ "type": "response.output_item.added", "output_index": 0, "item": says(&[], "in_progress") }),
        about("response.content_part.added", "part", part("")),
    ];
    for fragment in fragments(text) {
        let mut event = about("response.output_text.delta", "delta", json!(fragment));
        event["logprobs"] = json!([]);
        events.push(event);
    }
    let mut done = about("response.output_text.done", "text", json!(text));
    done["logprobs"] = json!([]);
    events.extend([done, about("response.content_part.done", "part", part(text))]);
    events
}

/// The events of a call, but for its end.
fn call(made: &Call) -> Vec<Value> {
    let about = |kind: &str, key: &str, value: &str| json!({ "type": kind, "item_id": ITEM, "output_index": 0, key: value });
    let mut events = vec![
        json!({ "type": "response.output_item.added", "output_index": 0, "item": calls(made, "", "in_progress") }),
    ];
    let delta = |json: &String| about("response.function_call_arguments.delta", "delta", json);
    events.extend(fragments(&made.arguments).iter().map(delta));
    let mut done = about("response.function_call_arguments.done", "arguments", &made.arguments);
    done["name"] = json!(made.tool);
    events.push(done);
    events
}

fn response(reply: &Reply, output: &Value, status: &str) -> Value {
    json!({
        "id": reply.id, "object": "response", "created_at": 0, "status": status, "model": reply.model,
        "output": output, "error": null, "incomplete_details": null, "instructions": null, "metadata": {},
        "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "usage": {
            "input_tokens": 1, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": 1, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 2,
        },
    })
}

fn says(content: &[Value], status: &str) -> Value {
    json!({ "id": ITEM, "type": "message", "role": "assistant", "status": status, "content": content })
}

fn calls(made: &Call, arguments: &str, status: &str) -> Value {
    let mut item = json!({
        "id": ITEM, "type": "function_call", "status": status,
        "call_id": made.id, "name": made.tool, "arguments": arguments,
    });
    if let Some(group) = made.group {
        item["namespace"] = json!(group);
    }
    item
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

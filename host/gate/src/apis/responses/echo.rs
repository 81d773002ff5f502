//! `POST /v1/responses` ([API
//! reference](https://platform.openai.com/docs/api-reference/responses)).
//!
//! A stream says its text many times: in fragments, and whole as text, part, item and response.
//! Here all of them agree.

use leafgate_tokenize::estimate;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::echo::{Echo, fragments};
use crate::sse;

/// The item that speaks.
const ITEM: &str = "msg_echo";

/// Bytes of the request's digest in the name of its response: clients go on from a response by
/// name, so each needs its own.
const NAME: usize = 12;

pub(in crate::apis) fn whole(echo: &Echo<'_>) -> Value {
    response(echo, "completed", &json!([item(&[part(echo.text)], "completed")]))
}

/// A guess that depends on the request alone.
pub(in crate::apis) fn count(echo: &Echo<'_>) -> Value {
    json!({ "object": "response.input_tokens", "input_tokens": estimate(echo.text.len()) })
}

pub(in crate::apis) fn events(echo: &Echo<'_>) -> Vec<String> {
    let begun = response(echo, "in_progress", &json!([]));
    let done = whole(echo);
    let mut events = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item(&[], "in_progress") }),
        in_part("response.content_part.added", json!({ "part": part("") })),
    ];
    let delta = |text| in_part("response.output_text.delta", json!({ "delta": text, "logprobs": [] }));
    events.extend(fragments(echo.text).map(delta));
    events.extend([
        in_part("response.output_text.done", json!({ "text": echo.text, "logprobs": [] })),
        in_part("response.content_part.done", json!({ "part": part(echo.text) })),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": done["output"][0] }),
        json!({ "type": "response.completed", "response": done }),
    ]);
    for (at, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = at.into();
    }
    events.iter().map(sse::typed_event).collect()
}

/// An event about the one part of the one item.
fn in_part(kind: &str, mut event: Value) -> Value {
    event["type"] = kind.into();
    event["item_id"] = ITEM.into();
    event["output_index"] = 0.into();
    event["content_index"] = 0.into();
    event
}

fn response(echo: &Echo<'_>, status: &str, output: &Value) -> Value {
    json!({
        "id": name(echo),
        "object": "response",
        "created_at": 0,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "metadata": {},
        "model": echo.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": { "effort": null, "summary": null },
        "store": false,
        "temperature": 1.0,
        "text": { "format": { "type": "text" } },
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": if status == "completed" { usage() } else { Value::Null },
    })
}

fn name(echo: &Echo<'_>) -> String {
    format!("resp_{}", base16ct::lower::encode_string(&Sha256::digest(echo.text)[..NAME]))
}

fn item(content: &[Value], status: &str) -> Value {
    json!({ "id": ITEM, "type": "message", "role": "assistant", "status": status, "content": content })
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

fn usage() -> Value {
    json!({
        "input_tokens": 0,
        "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 0,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": 0,
    })
}

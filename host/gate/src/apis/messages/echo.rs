//! `POST /v1/messages` and `/v1/messages/count_tokens` ([API
//! reference](https://docs.anthropic.com/en/api/messages)).

use leafgate_tokenize::estimate;
use serde_json::{Value, json};

use crate::echo::{Echo, fragments};
use crate::sse;

pub(in crate::apis) fn whole(echo: &Echo<'_>) -> Value {
    message(echo, &json!([block(echo.text)]), &json!("end_turn"))
}

/// A guess that depends on the request alone.
pub(in crate::apis) fn count(echo: &Echo<'_>) -> Value {
    json!({ "input_tokens": estimate(echo.text.len()) })
}

pub(in crate::apis) fn events(echo: &Echo<'_>) -> Vec<String> {
    let delta = |text: &str| json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } });
    let mut events = vec![
        json!({ "type": "message_start", "message": message(echo, &json!([]), &Value::Null) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block("") }),
        json!({ "type": "ping" }),
    ];
    events.extend(fragments(echo.text).map(delta));
    events.extend([
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta",
            "delta": { "stop_reason": "end_turn", "stop_sequence": null },
            "usage": { "output_tokens": 0 },
        }),
        json!({ "type": "message_stop" }),
    ]);
    events.iter().map(sse::typed_event).collect()
}

fn message(echo: &Echo<'_>, content: &Value, stop_reason: &Value) -> Value {
    json!({
        "id": "msg_echo",
        "type": "message",
        "role": "assistant",
        "model": echo.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {
            "input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        },
    })
}

fn block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

//! `POST /v1/chat/completions` ([API
//! reference](https://platform.openai.com/docs/api-reference/chat)).

use serde_json::{Value, json};

use crate::echo::{Echo, fragments};
use crate::sse::event;

const ID: &str = "chatcmpl-echo";

pub(in crate::apis) fn whole(echo: &Echo<'_>) -> Value {
    json!({
        "id": ID,
        "object": "chat.completion",
        "created": 0,
        "model": echo.model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": echo.text, "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": usage(),
    })
}

pub(in crate::apis) fn events(echo: &Echo<'_>) -> Vec<String> {
    let delta = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        chunk(echo, &json!([choice]), &Value::Null)
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
    events.extend(fragments(echo.text).map(|text| delta(json!({ "content": text }), Value::Null)));
    events.push(delta(json!({}), json!("stop")));
    if echo.usage {
        events.push(chunk(echo, &json!([]), &usage()));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn chunk(echo: &Echo<'_>, choices: &Value, usage: &Value) -> String {
    let mut chunk = json!({
        "id": ID, "object": "chat.completion.chunk", "created": 0, "model": echo.model, "choices": choices,
    });
    if echo.usage {
        chunk["usage"] = usage.clone();
    }
    let mut out = String::new();
    event(&mut out, None, &chunk);
    out
}

/// Nothing was computed, so nothing is charged.
pub(in crate::apis) fn usage() -> Value {
    json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 })
}

//! `POST /v1/completions` ([API
//! reference](https://platform.openai.com/docs/api-reference/completions)).

use serde_json::{Value, json};

use crate::apis::echo::{Echo, fragments};
use crate::sse::event;

pub(in crate::apis) fn whole(echo: &Echo<'_>) -> Value {
    let mut whole = completion(echo, echo.text, &json!("stop"));
    // Nothing was computed, so nothing is charged.
    whole["usage"] = json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 });
    whole
}

pub(in crate::apis) fn events(echo: &Echo<'_>) -> Vec<String> {
    let chunk = |text: &str, finish: Value| {
        let mut out = String::new();
        event(&mut out, None, &completion(echo, text, &finish));
        out
    };
    let mut events: Vec<_> = fragments(echo.text).map(|text| chunk(text, Value::Null)).collect();
    events.push(chunk("", json!("stop")));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// Pieces of a completion look like the whole.
fn completion(echo: &Echo<'_>, text: &str, finish: &Value) -> Value {
    json!({
        "id": "cmpl-echo",
        "object": "text_completion",
        "created": 0,
        "model": echo.model,
        "choices": [{ "text": text, "index": 0, "logprobs": null, "finish_reason": finish }],
    })
}

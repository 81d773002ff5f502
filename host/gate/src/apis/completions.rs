//! OpenAI's text completions, from before there was chat ([API
//! reference](https://platform.openai.com/docs/api-reference/completions)). They belong to no conversation, so
//! nothing is restored in them.

use leafgate_answer::StreamEvent;
use leafgate_tree::Format;
use serde_json::{Value, json};

use super::{Endpoint, Wants, openai};
use crate::apis::echo::{Echo, Echoed, fragments};

pub(super) static COMPLETIONS: Endpoint = Endpoint {
    serves: |_, path, _| openai::endpoint(path) == Some("completions"),
    format: Some(Format::Generic),
    with_model: openai::with_model,
    deployment: openai::model,
    wants: |_| Wants::Text,
    echo: |echo| Some(if echo.streams { Echoed::Events(events(echo)) } else { Echoed::Json(whole(echo)) }),
    ..Endpoint::other("completions", &openai::OPENAI)
};

fn whole(echo: &Echo<'_>) -> Value {
    let mut whole = completion(echo, echo.text, &json!("stop"));
    // Nothing was computed, so nothing is charged.
    whole["usage"] = json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 });
    whole
}

fn events(echo: &Echo<'_>) -> Vec<StreamEvent> {
    let chunk = |text, finish| StreamEvent::plain(completion(echo, text, &finish));
    let texts = fragments(echo.text).map(|text| chunk(text, Value::Null));
    texts.chain([chunk("", json!("stop")), StreamEvent::DONE]).collect()
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

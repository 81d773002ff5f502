//! How the built-in upstream answers as Gemini.

use leafgate_tokenize::estimate;
use serde_json::{Value, json};

use crate::echo::{Echo, fragments};
use crate::sse;

pub(super) fn whole(echo: &Echo<'_>) -> Value {
    let mut answer = piece(echo, echo.text);
    finish(&mut answer);
    answer
}

pub(super) fn events(echo: &Echo<'_>) -> Vec<String> {
    let event = |data: &Value| {
        let mut out = String::new();
        sse::event(&mut out, None, data);
        out
    };
    pieces(echo).iter().map(event).collect()
}

/// A stream without `alt=sse`.
pub(super) fn array(echo: &Echo<'_>) -> Value {
    pieces(echo).into()
}

/// A guess that depends on the request alone.
pub(super) fn count(echo: &Echo<'_>) -> Value {
    json!({ "totalTokens": estimate(echo.text.len()) })
}

fn pieces(echo: &Echo<'_>) -> Vec<Value> {
    let mut pieces: Vec<_> = fragments(echo.text).chain([""]).map(|text| piece(echo, text)).collect();
    if let Some(last) = pieces.last_mut() {
        finish(last);
    }
    pieces
}

fn piece(echo: &Echo<'_>, text: &str) -> Value {
    json!({
        "candidates": [{ "content": { "parts": [{ "text": text }], "role": "model" }, "index": 0 }],
        "modelVersion": model(echo.path),
        "responseId": "echo",
    })
}

fn finish(answer: &mut Value) {
    answer["candidates"][0]["finishReason"] = "STOP".into();
    answer["usageMetadata"] =
        json!({ "promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0 });
}

/// The model that a path names.
fn model(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split(':').next().unwrap_or_default()
}

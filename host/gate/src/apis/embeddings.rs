//! OpenAI's embeddings ([API
//! reference](https://platform.openai.com/docs/api-reference/embeddings)). Their answers are numbers: a vector
//! cannot say a request, so each input is echoed as the same one.

use leafgate_tree::Format;
use serde_json::{Value, json};

use super::{Endpoint, Wants, openai};
use crate::apis::echo::{Echo, Echoed};

pub(super) static EMBEDDINGS: Endpoint = Endpoint {
    serves: |_, path, _| openai::endpoint(path) == Some("embeddings"),
    format: Some(Format::Generic),
    with_model: openai::with_model,
    deployment: openai::model,
    wants: |_| Wants::Data,
    echo: |echo| Some(Echoed::Json(whole(echo))),
    ..Endpoint::other("embeddings", &openai::OPENAI)
};

/// The vector as the official clients ask for it: base64 of its numbers as 32-bit floats, lowest
/// byte first.
const CODED: &str = "AACAPwAAAAAAAAAA";
const VECTOR: [f32; 3] = [1.0, 0.0, 0.0];

fn whole(echo: &Echo<'_>) -> Value {
    let asked: Value = serde_json::from_str(echo.text).unwrap_or_default();
    let embedding = if asked["encoding_format"] == "base64" { json!(CODED) } else { json!(VECTOR) };
    let vector = |index| json!({ "object": "embedding", "index": index, "embedding": embedding });
    json!({
        "object": "list",
        "data": (0..inputs(&asked["input"])).map(vector).collect::<Vec<_>>(),
        "model": echo.model,
        "usage": { "prompt_tokens": 0, "total_tokens": 0 },
    })
}

/// An array of numbers is one text in the model's tokens; other arrays hold a text per element.
fn inputs(input: &Value) -> usize {
    match input.as_array() {
        Some(texts) if !texts.first().is_some_and(Value::is_number) => texts.len(),
        _ => 1,
    }
}

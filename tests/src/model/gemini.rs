//! [Gemini](https://ai.google.dev/api/generate-content).

use serde_json::{Value, json};

use super::{Call, Form, Heard, Reply, Turn, fragments, text_of};

pub(super) const FORM: Form = Form { heard, whole, events, ending: 1 };

/// The model and the method that a path names.
pub(super) fn asked(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("/v1beta/models/")?.split_once(':')
}

/// An error in Google's words.
pub(super) fn error(status: u16) -> Value {
    let word = match status {
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        _ => "UNAVAILABLE",
    };
    json!({ "error": { "code": status, "message": format!("The upstream says {status}."), "status": word } })
}

fn heard(body: &Value) -> Heard {
    let last = body["contents"].as_array().and_then(|contents| contents.last()).unwrap_or(&Value::Null);
    let mut parts = last["parts"].as_array().into_iter().flatten();
    let result = parts.find(|part| part["functionResponse"].is_object());
    let said = |result: &Value| text_of(&result["functionResponse"]["response"]["result"]);
    Heard {
        text: result.map_or_else(|| text_of(&last["parts"]), said),
        is_result: result.is_some(),
        tool: body["tools"][0]["functionDeclarations"][0]["name"].as_str().map(str::to_owned),
    }
}

fn whole(reply: &Reply) -> Value {
    let part = match &reply.turn {
        Turn::Says(text) => json!({ "text": text }),
        Turn::Calls(made) => call(made),
    };
    piece(reply, &part, Some("STOP"))
}

fn events(reply: &Reply) -> Vec<String> {
    let parts = match &reply.turn {
        Turn::Says(text) => fragments(text).iter().map(|text| json!({ "text": text })).collect(),
        Turn::Calls(made) => vec![call(made)],
    };
    let mut pieces: Vec<_> = parts.iter().map(|part| piece(reply, part, None)).collect();
    pieces.push(piece(reply, &json!({ "text": "" }), Some("STOP")));
    pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect()
}

fn piece(reply: &Reply, part: &Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({ "content": { "parts": [part], "role": "model" }, "index": 0 });
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({
        "candidates": [candidate], "modelVersion": reply.model, "responseId": "kit",
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
    })
}

/// A function is called with an object.
fn call(made: &Call) -> Value {
    let arguments: Value = serde_json::from_str(&made.arguments).unwrap_or_default();
    json!({ "functionCall": { "id": made.id, "name": made.tool, "args": arguments } })
}

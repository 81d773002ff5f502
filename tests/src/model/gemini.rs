//! [Gemini](https://ai.google.dev/api/generate-content).

use leafgate_harness::clients::Api;
use serde_json::{Value, json};

use super::{Form, Heard, text_of};

pub(super) const FORM: Form = Form { api: Api::Gemini, heard, ending: 1 };

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

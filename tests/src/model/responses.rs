//! [Responses](https://platform.openai.com/docs/api-reference/responses).

use std::sync::{Mutex, PoisonError};

use leafgate_harness::clients::Api;
use serde_json::{Value, json};

use super::{Form, Heard, text_of};

pub(super) const FORM: Form = Form { api: Api::Responses, heard, ending: 4 };

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

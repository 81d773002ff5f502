//! [Chat completions](https://platform.openai.com/docs/api-reference/chat).

use leafgate_harness::clients::Api;
use serde_json::Value;

use super::{Form, Heard, text_of};

pub(super) const FORM: Form = Form { api: Api::Chat, heard, ending: 2 };

fn heard(body: &Value) -> Heard {
    let last = body["messages"].as_array().and_then(|messages| messages.last()).unwrap_or(&Value::Null);
    Heard {
        text: text_of(&last["content"]),
        is_result: last["role"] == "tool",
        tool: body["tools"][0]["function"]["name"].as_str().map(str::to_owned),
    }
}

//! [Messages](https://docs.anthropic.com/en/api/messages).

use leafgate_harness::clients::Api;
use serde_json::Value;

use super::{Form, Heard, text_of};

pub(super) const FORM: Form = Form { api: Api::Messages, heard, ending: 3 };

fn heard(body: &Value) -> Heard {
    let last = body["messages"].as_array().and_then(|messages| messages.last()).unwrap_or(&Value::Null);
    let mut blocks = last["content"].as_array().into_iter().flatten();
    let result = blocks.find(|block| block["type"] == "tool_result");
    Heard {
        text: text_of(result.map_or(&last["content"], |result| &result["content"])),
        is_result: result.is_some(),
        tool: body["tools"][0]["name"].as_str().map(str::to_owned),
    }
}

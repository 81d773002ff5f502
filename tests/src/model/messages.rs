//! [Messages](https://docs.anthropic.com/en/api/messages).

use serde_json::{Value, json};

use super::{Call, Form, Heard, Reply, Turn, fragments, named, text_of};

pub(super) const FORM: Form = Form { heard, whole, events, ending: 3 };

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

fn whole(reply: &Reply) -> Value {
    let block = match &reply.turn {
        Turn::Says(text) => json!({ "type": "text", "text": text }),
        Turn::Calls(call) => {
            json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": input(call) })
        }
    };
    message(reply, &json!([block]), &json!(stop_reason(reply)))
}

fn events(reply: &Reply) -> Vec<String> {
    let (begun, deltas): (Value, Vec<Value>) = match &reply.turn {
        Turn::Says(text) => (
            json!({ "type": "text", "text": "" }),
            fragments(text).iter().map(|text| json!({ "type": "text_delta", "text": text })).collect(),
        ),
        Turn::Calls(call) => (
            json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": {} }),
            fragments(&call.arguments)
                .iter()
                .map(|json| json!({ "type": "input_json_delta", "partial_json": json }))
                .collect(),
        ),
    };
    let mut events = vec![
        json!({ "type": "message_start", "message": message(reply, &json!([]), &Value::Null) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": begun }),
        json!({ "type": "ping" }),
    ];
    let delta = |delta| json!({ "type": "content_block_delta", "index": 0, "delta": delta });
    events.extend(deltas.into_iter().map(delta));
    events.extend([
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop_reason(reply), "stop_sequence": null },
            "usage": { "output_tokens": 1 },
        }),
        json!({ "type": "message_stop" }),
    ]);
    events.iter().map(named).collect()
}

fn message(reply: &Reply, content: &Value, stop_reason: &Value) -> Value {
    json!({
        "id": "msg_kit", "type": "message", "role": "assistant", "model": reply.model,
        "content": content, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": { "input_tokens": 1, "output_tokens": 1 },
    })
}

/// Here a tool is called with an object, not with a text.
fn input(call: &Call) -> Value {
    serde_json::from_str(&call.arguments).unwrap_or_default()
}

fn stop_reason(reply: &Reply) -> &'static str {
    match reply.turn {
        Turn::Says(_) => "end_turn",
        Turn::Calls(_) => "tool_use",
    }
}

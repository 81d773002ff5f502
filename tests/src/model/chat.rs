//! [Chat completions](https://platform.openai.com/docs/api-reference/chat).

use serde_json::{Value, json};

use super::{Call, Form, Heard, Reply, Turn, fragments, text_of};

pub(super) const FORM: Form = Form { heard, whole, events, ending: 2 };

fn heard(body: &Value) -> Heard {
    let last = body["messages"].as_array().and_then(|messages| messages.last()).unwrap_or(&Value::Null);
    Heard {
        text: text_of(&last["content"]),
        is_result: last["role"] == "tool",
        tool: body["tools"][0]["function"]["name"].as_str().map(str::to_owned),
    }
}

fn whole(reply: &Reply) -> Value {
    let (content, calls, finish) = match &reply.turn {
        Turn::Says(text) => (json!(text), Value::Null, "stop"),
        Turn::Calls(made) => (Value::Null, json!([call(made, &made.arguments)]), "tool_calls"),
    };
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    if !calls.is_null() {
        message["tool_calls"] = calls;
    }
    json!({
        "id": "chatcmpl-kit", "object": "chat.completion", "created": 0, "model": reply.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 },
    })
}

fn events(reply: &Reply) -> Vec<String> {
    let mut deltas = vec![json!({ "role": "assistant", "content": null })];
    let finish = match &reply.turn {
        Turn::Says(text) => {
            deltas.extend(fragments(text).iter().map(|text| json!({ "content": text })));
            "stop"
        }
        Turn::Calls(made) => {
            let mut begun = call(made, "");
            begun["index"] = json!(0);
            deltas.push(json!({ "tool_calls": [begun] }));
            let more =
                |arguments| json!({ "tool_calls": [{ "index": 0, "function": { "arguments": arguments } }] });
            deltas.extend(fragments(&made.arguments).into_iter().map(more));
            "tool_calls"
        }
    };
    let chunk = |delta: &Value, finish: Value| {
        let chunk = json!({
            "id": "chatcmpl-kit", "object": "chat.completion.chunk", "created": 0, "model": reply.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        });
        format!("data: {chunk}\n\n")
    };
    let mut events: Vec<String> = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    events.push(chunk(&json!({}), json!(finish)));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn call(made: &Call, arguments: &str) -> Value {
    json!({ "id": made.id, "type": "function", "function": { "name": made.tool, "arguments": arguments } })
}

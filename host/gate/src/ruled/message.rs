//! An answer as a request: the form in which rules and people see it, whatever its API.

use bytes::Bytes;
use leafgate_answer::ToolCall;
use serde_json::{Value, json};

/// Spells texts and calls as the messages of chat completions, the calls in the last one.
pub(super) fn written(model: Option<&str>, texts: &[&str], calls: &[ToolCall]) -> Bytes {
    let mut messages: Vec<Value> =
        texts.iter().map(|text| json!({ "role": "assistant", "content": text })).collect();
    if !calls.is_empty() {
        let calls: Vec<Value> = calls.iter().map(call).collect();
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls }));
    }
    json!({ "model": model.unwrap_or_default(), "messages": messages }).to_string().into()
}

fn call(call: &ToolCall) -> Value {
    let (id, name, arguments) = (call.id.expose(), call.name.expose(), call.arguments.expose());
    match call.is_json {
        true => json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }),
        false => json!({ "id": id, "type": "custom", "custom": { "name": name, "input": arguments } }),
    }
}

/// Reads what [`written`] wrote, after it was changed; `None` where it has another form.
pub(super) fn read(body: &[u8], texts: usize) -> Option<(Vec<String>, Vec<ToolCall>)> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let messages = body["messages"].as_array()?;
    if messages.len() < texts || messages.len() > texts + 1 {
        return None;
    }
    let said = messages[..texts].iter().map(|message| Some(message["content"].as_str()?.to_owned()));
    let calls =
        messages.get(texts).map(|message| message["tool_calls"].as_array()?.iter().map(read_call).collect());
    Some((said.collect::<Option<_>>()?, calls.unwrap_or_else(|| Some(Vec::new()))?))
}

fn read_call(call: &Value) -> Option<ToolCall> {
    let (kind, key) =
        if call.get("custom").is_some() { ("custom", "input") } else { ("function", "arguments") };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(ToolCall {
        id: text(&call["id"])?.into(),
        name: text(&call[kind]["name"])?.into(),
        arguments: text(&call[kind][key])?.into(),
        is_json: kind == "function",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let call = |name: &str, arguments: &str, is_json| ToolCall {
            id: "1".into(),
            name: name.into(),
            arguments: arguments.into(),
            is_json,
        };
        let calls = vec![call("read", r#"{"a": 1}"#, true), call("patch", "*** Begin", false)];
        let texts = ["one", "two"];
        let written = written(Some("m"), &texts, &calls);
        assert_eq!(read(&written, 2), Some((texts.map(str::to_owned).to_vec(), calls)));
        assert_eq!(read(br#"{"messages": []}"#, 1), None);
        assert_eq!(read(br#"{"messages": [{"content": 1}]}"#, 1), None);
    }
}

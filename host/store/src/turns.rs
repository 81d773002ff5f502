//! A logged body as what was said in it, whatever API it speaks: for exports that know messages with
//! roles and texts, and nothing else.
//!
//! It is a summary. Media is named, calls and results are told as text, and options are left out: the
//! whole body stands in the exports that have room for it.

use serde_json::Value;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    System,
    User,
    Assistant,
    Tool,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) speaker: Speaker,
    pub(crate) text: String,
}

/// Returns what is said in a body, in order.
pub(crate) fn said(body: &Value) -> Vec<Said> {
    let mut all = Vec::new();
    for key in ["system", "instructions", "systemInstruction", "system_instruction"] {
        add(&mut all, Speaker::System, body.get(key));
    }
    for key in ["messages", "input", "contents", "prompt"] {
        match body.get(key) {
            Some(Value::Array(messages)) => {
                messages.iter().for_each(|message| add_message(&mut all, message))
            }
            other => add(&mut all, Speaker::User, other),
        }
    }
    all
}

fn add(all: &mut Vec<Said>, speaker: Speaker, content: Option<&Value>) {
    let Some(content) = content else { return };
    let text = text_of(content);
    if !text.is_empty() {
        all.push(Said { speaker, text });
    }
}

fn add_message(all: &mut Vec<Said>, message: &Value) {
    let Some(object) = message.as_object() else { return add(all, Speaker::User, Some(message)) };
    let role = object.get("role").and_then(Value::as_str);
    let kind = object.get("type").and_then(Value::as_str);
    let speaker = match (role, kind) {
        (Some("system" | "developer"), _) => Speaker::System,
        (Some("assistant" | "model"), _)
        | (None, Some("function_call" | "custom_tool_call" | "reasoning")) => Speaker::Assistant,
        (Some("tool" | "function"), _) | (None, Some("function_call_output" | "custom_tool_call_output")) => {
            Speaker::Tool
        }
        _ => Speaker::User,
    };
    // Results of tools stand among what a user says in some APIs; they are nobody's words.
    let content = object.get("content").or_else(|| object.get("parts"));
    let parts = content.and_then(Value::as_array);
    let is_result = |part: &Value| {
        part.get("type").is_some_and(|kind| kind == "tool_result") || part.get("functionResponse").is_some()
    };
    if let Some(parts) = parts.filter(|parts| parts.iter().any(is_result)) {
        for part in parts {
            let speaker = if is_result(part) { Speaker::Tool } else { speaker };
            add(all, speaker, Some(part));
        }
        return;
    }
    add(all, speaker, Some(message));
}

/// Returns the texts of a value, a line each.
fn text_of(value: &Value) -> String {
    let mut lines = Vec::new();
    collect(value, &mut lines);
    lines.join("\n")
}

fn collect(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::String(text) => lines.push(text.clone()),
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, lines)),
        Value::Object(part) => {
            let text = |key: &str| part.get(key).and_then(Value::as_str);
            let call = part.get("functionCall").and_then(Value::as_object);
            if let Some(call) = call {
                let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
                return lines.push(format!("‹call› {name} {}", call.get("args").unwrap_or(&Value::Null)));
            }
            match text("type") {
                Some("tool_use") => {
                    let input = part.get("input").unwrap_or(&Value::Null);
                    return lines.push(format!("‹call› {} {input}", text("name").unwrap_or_default()));
                }
                Some("function_call" | "custom_tool_call") => {
                    let arguments = text("arguments").or_else(|| text("input")).unwrap_or_default();
                    return lines.push(format!("‹call› {} {arguments}", text("name").unwrap_or_default()));
                }
                Some(kind) if kind.contains("image") || kind.contains("audio") || kind.contains("file") => {
                    return lines.push(format!("‹{kind}›"));
                }
                _ => {}
            }
            for key in ["text", "thinking", "refusal"] {
                lines.extend(text(key).map(str::to_owned));
            }
            for key in ["content", "parts", "output", "summary", "functionResponse", "response"] {
                part.get(key).into_iter().for_each(|inner| collect(inner, lines));
            }
            for call in part.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                let function = call.get("function").unwrap_or(call);
                let field = |key: &str| function.get(key).and_then(Value::as_str).unwrap_or_default();
                lines.push(format!("‹call› {} {}", field("name"), field("arguments")));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_api_says_the_same() {
        let expected = [
            (Speaker::System, "Be brief."),
            (Speaker::User, "Read it"),
            (Speaker::Assistant, "‹call› read {\"path\":\"a\"}"),
            (Speaker::Tool, "42"),
        ];
        let arguments = "{\"path\":\"a\"}";
        let bodies = [
            json!({ "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": [{ "type": "text", "text": "Read it" }] },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "1", "type": "function", "function": { "name": "read", "arguments": arguments } }] },
                { "role": "tool", "tool_call_id": "1", "content": "42" },
            ] }),
            json!({ "system": [{ "type": "text", "text": "Be brief." }], "messages": [
                { "role": "user", "content": "Read it" },
                { "role": "assistant", "content": [
                    { "type": "tool_use", "id": "1", "name": "read", "input": { "path": "a" } }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "1", "content": [{ "type": "text", "text": "42" }] }] },
            ] }),
            json!({ "instructions": "Be brief.", "input": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Read it" }] },
                { "type": "function_call", "call_id": "1", "name": "read", "arguments": arguments },
                { "type": "function_call_output", "call_id": "1", "output": "42" },
            ] }),
            json!({ "systemInstruction": { "parts": [{ "text": "Be brief." }] }, "contents": [
                { "role": "user", "parts": [{ "text": "Read it" }] },
                { "role": "model", "parts": [{ "functionCall": { "name": "read", "args": { "path": "a" } } }] },
                { "role": "user", "parts": [{ "functionResponse": { "name": "read", "response": { "content": "42" } } }] },
            ] }),
        ];
        for body in bodies {
            let said: Vec<_> = said(&body).into_iter().map(|said| (said.speaker, said.text)).collect();
            let expected = expected.map(|(speaker, text)| (speaker, text.to_owned()));
            assert_eq!(said, expected, "{body}");
        }
    }
}

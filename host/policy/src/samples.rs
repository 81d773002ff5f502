//! Requests made for one text: in each format a small one that holds it wherever somebody speaks.
//!
//! They are what a rule's own examples are judged in. A rule that names paths is shown requests that
//! hold nothing but those.

use leafgate_tree::Format;
use serde_json::{Value, json};

use crate::pattern::PathPattern;
use crate::selector::Selector;

/// Returns requests that may hold a text where a selector looks, with the formats to read them in.
pub(crate) fn holding(text: &str, selector: &Selector) -> Vec<(Format, Value)> {
    let tool =
        selector.tools.first().map_or("run".to_owned(), |glob| glob.to_string().replace(['*', '?'], "x"));
    let formats = selector.formats();
    let talks = formats.iter().map(|&format| (format, talk(format, text, &tool)));
    let by_path = selector.paths.iter().filter_map(PathPattern::sample).map(|body| with_text(body, text));
    let by_path = by_path.flat_map(|body| formats.iter().map(move |&format| (format, body.clone())));
    talks.chain(by_path).collect()
}

/// Puts a text in the place of every leaf.
fn with_text(body: Value, text: &str) -> Value {
    match body {
        Value::Array(items) => items.into_iter().map(|item| with_text(item, text)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| (key, with_text(value, text))).collect()
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => text.into(),
    }
}

fn talk(format: Format, text: &str, tool: &str) -> Value {
    match format {
        Format::OpenaiChat => openai_chat(text, tool),
        Format::OpenaiResponses => openai_responses(text, tool),
        Format::AnthropicMessages => anthropic_messages(text, tool),
        Format::Gemini => gemini(text, tool),
        Format::Raw => json!([
            { "role": 0, "content": [{ "type": 1, "text": text }] },
            { "role": 1, "content": [{ "type": 1, "text": text }] },
        ]),
        Format::VscodeChat => json!({ "requests": [{ "message": { "text": text } }] }),
        Format::Generic => json!({ "text": text }),
    }
}

fn openai_chat(text: &str, tool: &str) -> Value {
    let arguments = json!({ "text": text }).to_string();
    json!({
        "model": "model",
        "messages": [
            { "role": "system", "content": text },
            { "role": "user", "content": text },
            { "role": "assistant", "content": text, "tool_calls": [
                { "id": "call_1", "type": "function", "function": { "name": tool, "arguments": arguments } },
            ]},
            { "role": "tool", "tool_call_id": "call_1", "content": text },
            { "role": "user", "content": [{ "type": "text", "text": text }] },
        ],
        "tools": [{ "type": "function", "function": { "name": tool, "description": text } }],
    })
}

fn openai_responses(text: &str, tool: &str) -> Value {
    let arguments = json!({ "text": text }).to_string();
    json!({
        "model": "model",
        "instructions": text,
        "input": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] },
            { "type": "function_call", "call_id": "call_1", "name": tool, "arguments": arguments },
            { "type": "function_call_output", "call_id": "call_1", "output": text },
            { "type": "message", "role": "user", "content": text },
        ],
        "tools": [{ "type": "function", "name": tool, "description": text }],
    })
}

fn anthropic_messages(text: &str, tool: &str) -> Value {
    json!({
        "model": "model",
        "max_tokens": 100,
        "system": text,
        "messages": [
            { "role": "user", "content": text },
            { "role": "assistant", "content": [
                { "type": "text", "text": text },
                { "type": "tool_use", "id": "call_1", "name": tool, "input": { "text": text } },
            ]},
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "call_1", "content": text },
                { "type": "text", "text": text },
            ]},
        ],
        "tools": [{ "name": tool, "description": text, "input_schema": { "type": "object" } }],
    })
}

fn gemini(text: &str, tool: &str) -> Value {
    json!({
        "systemInstruction": { "parts": [{ "text": text }] },
        "contents": [
            { "role": "user", "parts": [{ "text": text }] },
            { "role": "model", "parts": [
                { "text": text },
                { "functionCall": { "name": tool, "args": { "text": text } } },
            ]},
            { "role": "user", "parts": [{ "functionResponse": { "name": tool, "response": { "text": text } } }] },
            { "role": "user", "parts": [{ "text": text }] },
        ],
        "tools": [{ "functionDeclarations": [{ "name": tool, "description": text }] }],
    })
}

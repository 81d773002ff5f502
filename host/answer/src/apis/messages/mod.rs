//! Anthropic Messages.

mod said;

use serde_json::{Value, json};

use super::{AnswerAssembly, AnswerWire, Count, LiveTerms, call_id, if_any};
use crate::event::StreamEvent;
use crate::json::{
    Again, Object, arguments, arguments_text, elements, index, is_nothing, merge, merge_member, text,
};
use crate::reply::{Finish, Head, Reply};

/// What is said in pieces: the member of a block that they are joined in, the type of their deltas and the member of those.
const PIECES: [(&str, &str, &str); 4] = [
    ("text", "text_delta", "text"),
    ("thinking", "thinking_delta", "thinking"),
    ("signature", "signature_delta", "signature"),
    ("input", "input_json_delta", "partial_json"),
];

pub(super) const WIRE: AnswerWire = AnswerWire {
    put,
    settle,
    finish: |root| WIRE.reason(root.get("stop_reason")),
    turn,
    write,
    append,
    events,
    wrapped_in: None,
    says: |_| Box::new(said::MessageReader::default()),
    answer: &["content", "error"],
    lists: false,
    names_events: true,
    repeats: false,
    names_answers: false,
    beside: &["/content", "/delta/citation", "/content_block/citations"],
    list: "content",
    probabilities: None,
    live: Some(LiveTerms {
        around: (1, 2),
        costs_apart: false,
        has_parts: true,
        index: "/index",
        content: "/delta/text",
        reasoning: "/delta/thinking",
    }),
    head: ["id", "model", ""],
    reasons: &[
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("tool_use", Finish::Calls),
        ("pause_turn", Finish::Paused),
        ("refusal", Finish::Refusal),
        ("refusal", Finish::Filtered),
    ],
    usage: "usage",
    // Its `input_tokens` are those that no cache has a part in.
    counts: &[
        ("/input_tokens", Count::Input, |usage| {
            Some(usage.input.saturating_sub(usage.cached).saturating_sub(usage.written))
        }),
        ("/cache_read_input_tokens", Count::Input, |_| None),
        ("/cache_creation_input_tokens", Count::Input, |_| None),
        ("/cache_read_input_tokens", Count::Cached, |usage| Some(usage.cached)),
        ("/cache_creation_input_tokens", Count::Written, |usage| Some(usage.written)),
        ("/output_tokens", Count::Output, |usage| Some(usage.output)),
        ("/output_tokens_details/thinking_tokens", Count::Reasoning, |usage| if_any(usage.reasoning)),
    ],
};

fn put(into: &mut AnswerAssembly, mut event: Object) -> bool {
    let kind = text(&event, "type").to_owned();
    into.came |= matches!(&*kind, "message_start" | "content_block_start" | "message_delta" | "error");
    match kind.as_str() {
        "message_start" => {
            let Some(Value::Object(mut message)) = event.remove("message") else { return true };
            let blocks = elements(&message, "content").iter().filter_map(Value::as_object).cloned();
            let begun = into.items.len();
            into.items.extend((begun..).zip(blocks));
            message.remove("content");
            into.root = message;
        }
        "content_block_start" => {
            let begun = into.items.len();
            let at = index(&event, "index").unwrap_or(begun);
            // Blocks come in order; a gap or a second beginning has no place in a message.
            let Some(block) = Some(at).filter(|&at| at == begun).and_then(|at| into.item(at)) else {
                return false;
            };
            if let Some(Value::Object(begins)) = event.remove("content_block") {
                *block = begins;
            }
        }
        "content_block_delta" => return put_delta(into, event).is_some(),
        "message_delta" => {
            if let Some(Value::Object(delta)) = event.remove("delta") {
                merge(&mut into.root, delta, Again::Replace);
            }
            event.retain(|key, _| key == "usage" || key == "context_management");
            merge(&mut into.root, event, Again::Replace);
        }
        "error" => drop(into.root.insert(kind, event.remove("error").unwrap_or_default())),
        _ => {}
    }
    true
}

/// What was cut off stays text, so that nobody takes it for arguments.
fn settle(assembly: &mut AnswerAssembly) {
    for input in assembly.items.values_mut().filter_map(|block| block.get_mut("input")) {
        if let Some(whole) = input.as_str().and_then(arguments) {
            *input = whole;
        }
    }
}

fn turn(whole: &Value) -> Vec<Value> {
    let content = whole.get("content").filter(|content| !is_nothing(content));
    content.map(|content| json!({ "role": "assistant", "content": content })).into_iter().collect()
}

fn write(reply: &Reply, head: &Head) -> Value {
    let mut content = Vec::new();
    if !reply.reasoning.is_empty() {
        content.push(json!({ "type": "thinking", "thinking": reply.reasoning.expose(), "signature": "" }));
    }
    if !reply.content.is_empty() {
        content.push(json!({ "type": "text", "text": reply.content.expose() }));
    }
    for (at, call) in reply.calls.iter().enumerate() {
        content.push(json!({
            "type": "tool_use",
            "id": call_id(call.id.expose(), at),
            "name": call.name.expose(),
            "input": call.input(),
        }));
    }
    json!({
        "id": head.id.expose(),
        "type": "message",
        "role": "assistant",
        "model": head.model.expose(),
        "content": content,
        "stop_reason": reply.finish.map(|finish| WIRE.word(finish)),
        "stop_sequence": null,
        "usage": WIRE.write_usage(reply.usage.unwrap_or_default()),
    })
}

fn append(whole: &mut Value, text: &str) -> Option<()> {
    let content = whole.get_mut("content")?.as_array_mut()?;
    content.push(serde_json::json!({ "type": "text", "text": text.trim_start() }));
    Some(())
}

fn events(whole: &Object, _: bool) -> Option<Vec<StreamEvent>> {
    let blocks = whole.get("content")?.as_array()?;
    let mut start = whole.clone();
    start.insert("content".to_owned(), json!([]));
    start.insert("stop_reason".to_owned(), Value::Null);
    start.insert("stop_sequence".to_owned(), Value::Null);
    let mut end = Object::new();
    for key in ["stop_reason", "stop_sequence", "stop_details", "container", "context_management"] {
        if let Some(value) = whole.get(key) {
            end.insert(key.to_owned(), value.clone());
        }
    }
    let usage = whole.get("usage").cloned().unwrap_or_else(|| json!({ "output_tokens": 0 }));
    let mut events = vec![json!({ "type": "message_start", "message": start })];
    for (at, block) in blocks.iter().enumerate() {
        let (begin, deltas) = block_pieces(block.as_object()?);
        events.push(json!({ "type": "content_block_start", "index": at, "content_block": begin }));
        let delta = |delta| json!({ "type": "content_block_delta", "index": at, "delta": delta });
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({ "type": "content_block_stop", "index": at }));
    }
    events.push(json!({ "type": "message_delta", "delta": end, "usage": usage }));
    events.push(json!({ "type": "message_stop" }));
    Some(events.into_iter().map(StreamEvent::typed).collect())
}

/// How a block begins, and what follows of it.
fn block_pieces(block: &Object) -> (Value, Vec<Value>) {
    let mut begin = block.clone();
    let mut deltas = Vec::new();
    let mut empty = |key: &str, nothing: Value| begin.insert(key.to_owned(), nothing).unwrap_or_default();
    match text(block, "type") {
        "text" => {
            if !elements(block, "citations").is_empty()
                && let Value::Array(citations) = empty("citations", json!([]))
            {
                let delta = |citation| json!({ "type": "citations_delta", "citation": citation });
                deltas.extend(citations.into_iter().map(delta));
            }
            deltas.push(json!({ "type": "text_delta", "text": empty("text", "".into()) }));
        }
        "thinking" => {
            deltas.push(json!({ "type": "thinking_delta", "thinking": empty("thinking", "".into()) }));
            if !text(block, "signature").is_empty() {
                deltas.push(json!({ "type": "signature_delta", "signature": empty("signature", "".into()) }));
            }
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            let input = arguments_text(Some(&empty("input", json!({}))));
            deltas.push(json!({ "type": "input_json_delta", "partial_json": input }));
        }
        _ => {}
    }
    (Value::Object(begin), deltas)
}

/// Adds more of a block; `None` for what has no place.
fn put_delta(into: &mut AnswerAssembly, mut event: Object) -> Option<()> {
    let Some(Value::Object(mut delta)) = event.remove("delta") else { return Some(()) };
    let block = into.items.get_mut(&index(&event, "index")?)?;
    let kind = text(&delta, "type").to_owned();
    if kind == "citations_delta" {
        let citation = delta.remove("citation").unwrap_or_default();
        merge_member(block, "citations", json!([citation]), Again::Join);
    }
    let Some((key, _, piece)) = PIECES.into_iter().find(|(_, own, _)| *own == kind) else { return Some(()) };
    let piece = text(&delta, piece);
    match key {
        "text" | "thinking" if text(block, "type") != key => {}
        // A block begins with an empty object, which the pieces replace.
        "input" if piece.is_empty() => {}
        "input" if !block.get(key).is_some_and(Value::is_string) => {
            drop(block.insert(key.into(), piece.into()))
        }
        _ => merge_member(block, key, piece.into(), Again::Join),
    }
    Some(())
}

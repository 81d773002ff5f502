//! Answers as the APIs document them, written without the gate's own writers.

use serde_json::{Value, json};

use super::{Answer, Frame};
use crate::clients::{Api, Json};

/// What a model says or calls.
#[derive(Clone, Copy, Debug)]
pub enum Part<'p> {
    /// A text.
    Says(&'p str),
    /// A call of a tool with these arguments, which are JSON.
    Calls(&'p str, &'p str),
}

/// Spells parts as an answer of an API; of a stream, each text and all arguments come in pieces of
/// so many characters.
#[must_use]
pub fn spoken(api: Api, stream: bool, parts: &[Part<'_>], piece: usize) -> Answer {
    let frames = match (api, stream) {
        (Api::Chat, false) => vec![whole(chat_whole(parts))],
        (Api::Chat, true) => chat_stream(parts, piece),
        (Api::Responses, false) => vec![whole(response(parts))],
        (Api::Responses, true) => named(response_events(parts, piece)),
        (Api::Messages, false) => vec![whole(message(parts))],
        (Api::Messages, true) => named(message_events(parts, piece)),
        (Api::Gemini, false) => vec![whole(content(parts, true))],
        (Api::Gemini, true) => gemini_stream(parts, piece),
        (Api::CodeAssist, _) => wrapped(spoken(Api::Gemini, stream, parts, piece).frames),
    };
    Answer { api, stream, frames }
}

fn whole(value: Value) -> Frame {
    Frame::of(None, read(&value))
}

fn read(value: &Value) -> Json {
    Json::read(&value.to_string()).expect("what is written is JSON")
}

fn named(events: Vec<Value>) -> Vec<Frame> {
    events.iter().map(|event| Frame::of(event["type"].as_str(), read(event))).collect()
}

fn pieces(text: &str, length: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(length.max(1)).map(String::from_iter).collect()
}

fn chat_call(at: usize, tool: &str, arguments: &str) -> Value {
    let function = json!({ "name": tool, "arguments": arguments });
    json!({ "id": format!("call_{at}"), "type": "function", "function": function })
}

fn chat_whole(parts: &[Part<'_>]) -> Value {
    let (mut said, mut calls) = (String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Says(text) => said.push_str(text),
            Part::Calls(tool, arguments) => calls.push(chat_call(calls.len(), tool, arguments)),
        }
    }
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let mut message = json!({ "role": "assistant", "content": said });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }] })
}

fn chat_stream(parts: &[Part<'_>], piece: usize) -> Vec<Frame> {
    let (mut deltas, mut calls) = (vec![json!({ "role": "assistant", "content": "" })], 0);
    for part in parts {
        match part {
            Part::Says(text) => {
                deltas.extend(pieces(text, piece).into_iter().map(|text| json!({ "content": text })));
            }
            Part::Calls(tool, arguments) => {
                let mut begun = chat_call(calls, tool, "");
                begun["index"] = calls.into();
                deltas.push(json!({ "tool_calls": [begun] }));
                deltas.extend(pieces(arguments, piece).into_iter().map(
                    |more| json!({ "tool_calls": [{ "index": calls, "function": { "arguments": more } }] }),
                ));
                calls += 1;
            }
        }
    }
    let chunk = |delta: Value, finish: Value| {
        whole(json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] }))
    };
    let finish = if calls == 0 { "stop" } else { "tool_calls" };
    let mut frames: Vec<Frame> = deltas.into_iter().map(|delta| chunk(delta, Value::Null)).collect();
    frames.push(chunk(json!({}), finish.into()));
    frames.push(Frame::of(None, Json::Scalar("[DONE]".to_owned())));
    frames
}

/// An item of Responses: its number, and what it has before its texts and arguments come.
fn item(at: usize, part: &Part<'_>, is_begun: bool) -> Value {
    let status = if is_begun { "in_progress" } else { "completed" };
    match part {
        Part::Says(text) => {
            let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
            let content = if is_begun { json!([]) } else { content };
            json!({ "id": format!("msg_{at}"), "type": "message", "role": "assistant", "status": status, "content": content })
        }
        Part::Calls(tool, arguments) => {
            let arguments = if is_begun { "" } else { arguments };
            json!({ "id": format!("fc_{at}"), "type": "function_call", "call_id": format!("call_{at}"), "name": tool,
                "status": status, "arguments": arguments })
        }
    }
}

fn response(parts: &[Part<'_>]) -> Value {
    let output: Vec<Value> = parts.iter().enumerate().map(|(at, part)| item(at, part, false)).collect();
    let usage = json!({ "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 });
    json!({ "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m",
        "output": output, "usage": usage })
}

fn response_events(parts: &[Part<'_>], piece: usize) -> Vec<Value> {
    let mut begun = response(&[]);
    begun["status"] = "in_progress".into();
    let mut events = vec![json!({ "type": "response.created", "response": begun })];
    for (at, part) in parts.iter().enumerate() {
        events.push(
            json!({ "type": "response.output_item.added", "output_index": at, "item": item(at, part, true) }),
        );
        let mut tell = |kind: &str, more: Value| {
            let mut event =
                json!({ "type": kind, "output_index": at, "item_id": item(at, part, true)["id"] });
            event.as_object_mut().into_iter().zip(more.as_object()).for_each(|(event, more)| {
                event.extend(more.clone());
            });
            events.push(event);
        };
        match part {
            Part::Says(text) => {
                let of = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
                tell("response.content_part.added", json!({ "content_index": 0, "part": of("") }));
                for more in pieces(text, piece) {
                    tell("response.output_text.delta", json!({ "content_index": 0, "delta": more }));
                }
                tell("response.output_text.done", json!({ "content_index": 0, "text": text }));
                tell("response.content_part.done", json!({ "content_index": 0, "part": of(text) }));
            }
            Part::Calls(_, arguments) => {
                for more in pieces(arguments, piece) {
                    tell("response.function_call_arguments.delta", json!({ "delta": more }));
                }
                tell("response.function_call_arguments.done", json!({ "arguments": arguments }));
            }
        }
        events.push(
            json!({ "type": "response.output_item.done", "output_index": at, "item": item(at, part, false) }),
        );
    }
    events.push(json!({ "type": "response.completed", "response": response(parts) }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events
}

fn block(at: usize, part: &Part<'_>) -> Value {
    match part {
        Part::Says(text) => json!({ "type": "text", "text": text }),
        Part::Calls(tool, arguments) => {
            let input: Value = serde_json::from_str(arguments).expect("arguments are JSON");
            json!({ "type": "tool_use", "id": format!("toolu_{at}"), "name": tool, "input": input })
        }
    }
}

fn has_calls(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Calls(..)))
}

fn message(parts: &[Part<'_>]) -> Value {
    let content: Vec<Value> = parts.iter().enumerate().map(|(at, part)| block(at, part)).collect();
    let stop = if has_calls(parts) { "tool_use" } else { "end_turn" };
    json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": stop, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 } })
}

fn message_events(parts: &[Part<'_>], piece: usize) -> Vec<Value> {
    let mut begun = message(&[]);
    begun["stop_reason"] = Value::Null;
    let mut events = vec![json!({ "type": "message_start", "message": begun })];
    for (at, part) in parts.iter().enumerate() {
        let (empty, deltas): (_, Vec<Value>) = match part {
            Part::Says(text) => (
                Part::Says(""),
                pieces(text, piece)
                    .iter()
                    .map(|text| json!({ "type": "text_delta", "text": text }))
                    .collect(),
            ),
            Part::Calls(tool, arguments) => (
                Part::Calls(tool, "{}"),
                pieces(arguments, piece)
                    .iter()
                    .map(|more| json!({ "type": "input_json_delta", "partial_json": more }))
                    .collect(),
            ),
        };
        events
            .push(json!({ "type": "content_block_start", "index": at, "content_block": block(at, &empty) }));
        let delta = |delta| json!({ "type": "content_block_delta", "index": at, "delta": delta });
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({ "type": "content_block_stop", "index": at }));
    }
    let stop = if has_calls(parts) { "tool_use" } else { "end_turn" };
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 1 } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

fn content(parts: &[Part<'_>], is_last: bool) -> Value {
    let part = |part: &Part<'_>| match part {
        Part::Says(text) => json!({ "text": text }),
        Part::Calls(tool, arguments) => {
            let args: Value = serde_json::from_str(arguments).expect("arguments are JSON");
            json!({ "functionCall": { "name": tool, "args": args } })
        }
    };
    let parts: Vec<Value> = parts.iter().map(part).collect();
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
    if is_last {
        candidate["finishReason"] = "STOP".into();
    }
    json!({ "candidates": [candidate], "modelVersion": "m", "responseId": "r" })
}

fn gemini_stream(parts: &[Part<'_>], piece: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    for part in parts {
        match part {
            Part::Says(text) => {
                frames.extend(
                    pieces(text, piece).iter().map(|text| whole(content(&[Part::Says(text)], false))),
                );
            }
            Part::Calls(..) => frames.push(whole(content(&[*part], false))),
        }
    }
    frames.push(whole(content(&[], true)));
    frames
}

fn wrapped(frames: Vec<Frame>) -> Vec<Frame> {
    let wrap =
        |frame: Frame| Frame { data: Json::Object(vec![("response".to_owned(), frame.data)]), ..frame };
    frames.into_iter().map(wrap).collect()
}

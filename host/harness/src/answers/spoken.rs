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

/// Who answers: what answers are called after.
#[derive(Clone, Copy, Debug)]
pub struct Voice<'v> {
    /// The name of a response; clients go on from it.
    pub response: &'v str,
    /// The model.
    pub model: &'v str,
    /// The id of the one call; without it, calls are numbered.
    pub call: Option<&'v str>,
    /// The group of tools that the call is of, where there are such.
    pub group: Option<&'v str>,
}

/// Spells parts as an answer of an API; of a stream, each text and all arguments come in pieces of
/// so many characters.
pub fn spoken(api: Api, stream: bool, parts: &[Part<'_>], piece: usize) -> Answer {
    Voice { response: "resp_1", model: "m", call: None, group: None }.speaks(api, stream, parts, piece)
}

impl Voice<'_> {
    /// The same as [`spoken`], by this one.
    pub fn speaks(&self, api: Api, stream: bool, parts: &[Part<'_>], piece: usize) -> Answer {
        let frames = match (api, stream) {
            (Api::Chat, false) => vec![whole(chat_whole(self, parts))],
            (Api::Chat, true) => chat_stream(self, parts, piece),
            (Api::Responses, false) => vec![whole(response(self, parts, "completed"))],
            (Api::Responses, true) => named(response_events(self, parts, piece)),
            (Api::Messages, false) => vec![whole(message(self, parts))],
            (Api::Messages, true) => named(message_events(self, parts, piece)),
            (Api::Gemini, false) => vec![whole(content(self, parts, true))],
            (Api::Gemini, true) => gemini_stream(self, parts, piece),
            (Api::CodeAssist, _) => wrapped(self.speaks(Api::Gemini, stream, parts, piece).frames),
        };
        Answer { api, stream, frames }
    }

    fn call(&self, prefix: &str, at: usize) -> String {
        self.call.map_or_else(|| format!("{prefix}_{at}"), str::to_owned)
    }
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

fn chat_call(voice: &Voice<'_>, at: usize, tool: &str, arguments: &str) -> Value {
    let function = json!({ "name": tool, "arguments": arguments });
    json!({ "id": voice.call("call", at), "type": "function", "function": function })
}

fn chat_whole(voice: &Voice<'_>, parts: &[Part<'_>]) -> Value {
    let (mut said, mut calls) = (String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Says(text) => said.push_str(text),
            Part::Calls(tool, arguments) => calls.push(chat_call(voice, calls.len(), tool, arguments)),
        }
    }
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let said = Some(said).filter(|said| !said.is_empty() || calls.is_empty());
    let mut message = json!({ "role": "assistant", "content": said, "refusal": null });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": voice.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 } })
}

fn chat_stream(voice: &Voice<'_>, parts: &[Part<'_>], piece: usize) -> Vec<Frame> {
    let (mut deltas, mut calls) = (vec![json!({ "role": "assistant", "content": null })], 0);
    for part in parts {
        match part {
            Part::Says(text) => {
                deltas.extend(pieces(text, piece).into_iter().map(|text| json!({ "content": text })));
            }
            Part::Calls(tool, arguments) => {
                let mut begun = chat_call(voice, calls, tool, "");
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
        whole(
            json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": voice.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] }),
        )
    };
    let finish = if calls == 0 { "stop" } else { "tool_calls" };
    let mut frames: Vec<Frame> = deltas.into_iter().map(|delta| chunk(delta, Value::Null)).collect();
    frames.push(chunk(json!({}), finish.into()));
    frames.push(Frame::of(None, Json::Scalar("[DONE]".to_owned())));
    frames
}

/// An item of Responses: its number, and what it has before its texts and arguments come.
fn item(voice: &Voice<'_>, at: usize, part: &Part<'_>, is_begun: bool) -> Value {
    let status = if is_begun { "in_progress" } else { "completed" };
    match part {
        Part::Says(text) => {
            let content = if is_begun { json!([]) } else { json!([output_text(text)]) };
            json!({ "id": format!("msg_{at}"), "type": "message", "role": "assistant", "status": status, "content": content })
        }
        Part::Calls(tool, arguments) => {
            let arguments = if is_begun { "" } else { arguments };
            let mut item = json!({ "id": format!("fc_{at}"), "type": "function_call", "call_id": voice.call("call", at),
                "name": tool, "status": status, "arguments": arguments });
            if let Some(group) = voice.group {
                item["namespace"] = group.into();
            }
            item
        }
    }
}

fn output_text(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

fn response(voice: &Voice<'_>, parts: &[Part<'_>], status: &str) -> Value {
    let output: Vec<Value> =
        parts.iter().enumerate().map(|(at, part)| item(voice, at, part, false)).collect();
    json!({
        "id": voice.response, "object": "response", "created_at": 1, "status": status, "model": voice.model,
        "output": output, "error": null, "incomplete_details": null, "instructions": null, "metadata": {},
        "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "usage": {
            "input_tokens": 1, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": 1, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 2,
        },
    })
}

fn response_events(voice: &Voice<'_>, parts: &[Part<'_>], piece: usize) -> Vec<Value> {
    let begun = response(voice, &[], "in_progress");
    let mut events: Vec<Value> = ["response.created", "response.in_progress"]
        .map(|kind| json!({ "type": kind, "response": begun }))
        .into();
    for (at, part) in parts.iter().enumerate() {
        events.push(
            json!({ "type": "response.output_item.added", "output_index": at, "item": item(voice, at, part, true) }),
        );
        let mut tell = |kind: &str, more: Value| {
            let mut event =
                json!({ "type": kind, "output_index": at, "item_id": item(voice, at, part, true)["id"] });
            event.as_object_mut().into_iter().zip(more.as_object()).for_each(|(event, more)| {
                event.extend(more.clone());
            });
            events.push(event);
        };
        match part {
            Part::Says(text) => {
                tell("response.content_part.added", json!({ "content_index": 0, "part": output_text("") }));
                for more in pieces(text, piece) {
                    tell(
                        "response.output_text.delta",
                        json!({ "content_index": 0, "delta": more, "logprobs": [] }),
                    );
                }
                tell(
                    "response.output_text.done",
                    json!({ "content_index": 0, "text": text, "logprobs": [] }),
                );
                tell("response.content_part.done", json!({ "content_index": 0, "part": output_text(text) }));
            }
            Part::Calls(tool, arguments) => {
                for more in pieces(arguments, piece) {
                    tell("response.function_call_arguments.delta", json!({ "delta": more }));
                }
                let done = json!({ "arguments": arguments, "name": tool });
                tell("response.function_call_arguments.done", done);
            }
        }
        events.push(
            json!({ "type": "response.output_item.done", "output_index": at, "item": item(voice, at, part, false) }),
        );
    }
    events.push(json!({ "type": "response.completed", "response": response(voice, parts, "completed") }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events
}

fn block(voice: &Voice<'_>, at: usize, part: &Part<'_>) -> Value {
    match part {
        Part::Says(text) => json!({ "type": "text", "text": text }),
        Part::Calls(tool, arguments) => {
            let input: Value = serde_json::from_str(arguments).expect("arguments are JSON");
            json!({ "type": "tool_use", "id": voice.call("toolu", at), "name": tool, "input": input })
        }
    }
}

fn has_calls(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Calls(..)))
}

fn message(voice: &Voice<'_>, parts: &[Part<'_>]) -> Value {
    let content: Vec<Value> = parts.iter().enumerate().map(|(at, part)| block(voice, at, part)).collect();
    let stop = if has_calls(parts) { "tool_use" } else { "end_turn" };
    json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": voice.model, "content": content,
        "stop_reason": stop, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 } })
}

fn message_events(voice: &Voice<'_>, parts: &[Part<'_>], piece: usize) -> Vec<Value> {
    let mut begun = message(voice, &[]);
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
        events.push(
            json!({ "type": "content_block_start", "index": at, "content_block": block(voice, at, &empty) }),
        );
        if at == 0 {
            events.push(json!({ "type": "ping" }));
        }
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

fn content(voice: &Voice<'_>, parts: &[Part<'_>], is_last: bool) -> Value {
    let part = |part: &Part<'_>| match part {
        Part::Says(text) => json!({ "text": text }),
        Part::Calls(tool, arguments) => {
            let args: Value = serde_json::from_str(arguments).expect("arguments are JSON");
            let mut call = json!({ "name": tool, "args": args });
            if let Some(id) = voice.call {
                call["id"] = id.into();
            }
            json!({ "functionCall": call })
        }
    };
    let parts: Vec<Value> = parts.iter().map(part).collect();
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
    if is_last {
        candidate["finishReason"] = "STOP".into();
    }
    json!({ "candidates": [candidate], "modelVersion": voice.model, "responseId": "r",
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 } })
}

fn gemini_stream(voice: &Voice<'_>, parts: &[Part<'_>], piece: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    for part in parts {
        match part {
            Part::Says(text) => {
                frames.extend(
                    pieces(text, piece).iter().map(|text| whole(content(voice, &[Part::Says(text)], false))),
                );
            }
            Part::Calls(..) => frames.push(whole(content(voice, &[*part], false))),
        }
    }
    frames.push(whole(content(voice, &[Part::Says("")], true)));
    frames
}

fn wrapped(frames: Vec<Frame>) -> Vec<Frame> {
    let wrap =
        |frame: Frame| Frame { data: Json::Object(vec![("response".to_owned(), frame.data)]), ..frame };
    frames.into_iter().map(wrap).collect()
}

//! OpenAI Responses.
//!
//! A stream says each text in deltas, and then repeats it whole up to three more times: as text, item
//! and response. The last word counts; what differs from the deltas is noted.

mod events;
mod said;
mod stream;
mod words;

use serde_json::{Value, json};

use events::item_events;
use words::{Asked, CONTENT, List, SUMMARY, asked, spoken};

use super::{Assembly, BETWEEN_REASONING, Event, Read, Wire, call_id, failure, is_error};
use crate::json::{Object, elements, is_nothing, member, number, rest, text};
use crate::loss::{Losses, Lost};
use crate::reply::{Call, CallKind, Finish, Head, Reply, Usage};
use crate::said::Says;

/// What of the request a response repeats.
const SETTINGS: [&str; 24] = [
    "background",
    "frequency_penalty",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "parallel_tool_calls",
    "presence_penalty",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
    "metadata",
    "conversation",
];
const READ: [&str; 10] = [
    "id",
    "object",
    "created_at",
    "completed_at",
    "model",
    "status",
    "output",
    "usage",
    "error",
    "incomplete_details",
];
const OF_PART: [(&str, Lost); 2] = [("annotations", Lost::Citation), ("logprobs", Lost::Probabilities)];

pub(super) struct Responses;

impl Wire for Responses {
    fn says(&self, sealed: bool) -> Box<dyn Says> {
        Box::new(said::ResponseReader::new(sealed))
    }

    fn assembly(&self) -> Box<dyn Assembly> {
        Box::new(stream::Items::default())
    }

    fn read(&self, whole: &Value, losses: &mut Losses) -> Option<Read> {
        let root = whole.as_object()?;
        if is_error(root, "output") {
            return failure(root).map(Read::failed);
        }
        let output = root.get("output")?.as_array()?;
        let settings = SETTINGS.map(|name| (name, Lost::Setting));
        rest(losses, "", root, &READ, &settings);
        let mut reply = Reply::default();
        for (at, item) in output.iter().enumerate() {
            read_item(item, &format!("/output/{at}"), &mut reply, losses);
        }
        reply.finish = read_finish(root, &reply, losses);
        reply.usage = member(root, "usage").map(|usage| read_usage(usage, losses));
        let head = Head {
            id: text(root, "id").into(),
            model: text(root, "model").into(),
            created: number(root, "created_at"),
        };
        Some(Read { reply, head, failure: failure(root) })
    }

    fn turn(&self, whole: &Value) -> Vec<Value> {
        whole.get("output").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    fn write(&self, reply: &Reply, head: &Head, _: &mut Losses) -> Value {
        let id = |kind: &str, at: usize| format!("{kind}_{}_{at}", head.id.expose());
        let mut output = Vec::new();
        if !reply.reasoning.is_empty() {
            let summary = json!([{ "type": "summary_text", "text": reply.reasoning.expose() }]);
            output.push(json!({ "id": id("rs", 0), "type": "reasoning", "summary": summary }));
        }
        if !reply.content.is_empty() {
            let said = reply.content.expose();
            let part = match reply.finish {
                Some(Finish::Refusal) => json!({ "type": "refusal", "refusal": said }),
                _ => json!({ "type": "output_text", "text": said, "annotations": [], "logprobs": [] }),
            };
            output.push(json!({
                "id": id("msg", output.len()), "type": "message", "role": "assistant", "status": "completed", "content": [part],
            }));
        }
        for (at, call) in reply.calls.iter().enumerate() {
            let (kind, prefix, key) = match call.kind {
                CallKind::Function => ("function_call", "fc", "arguments"),
                CallKind::Custom => ("custom_tool_call", "ctc", "input"),
            };
            output.push(json!({
                "id": id(prefix, output.len()),
                "type": kind,
                "status": "completed",
                "call_id": call_id(call.id.expose(), at),
                "name": call.name.expose(),
                key: call.arguments.expose(),
            }));
        }
        response(reply, head, output)
    }

    fn append(&self, whole: &mut Value, text: &str) -> Option<()> {
        let output = whole.get_mut("output")?.as_array_mut()?;
        if output.iter().any(|item| item["type"].as_str().is_some_and(|kind| kind.ends_with("_call"))) {
            return None;
        }
        let message = output.iter_mut().rev().find(|item| item["type"] == "message")?;
        let mut parts = message.get_mut("content")?.as_array_mut()?.iter_mut().rev();
        let part = parts.find(|part| part["type"] == "output_text")?;
        let said = part["text"].as_str()?;
        part["text"] = format!("{said}{text}").into();
        Some(())
    }

    fn events(&self, whole: &Object, _: bool) -> Option<Vec<Event>> {
        let output = whole.get("output")?.as_array()?;
        let mut begun = whole.clone();
        for (key, value) in [("status", json!("in_progress")), ("output", json!([])), ("usage", Value::Null)]
        {
            begun.insert(key.to_owned(), value);
        }
        for key in ["error", "incomplete_details", "completed_at"] {
            if let Some(value) = begun.get_mut(key) {
                *value = Value::Null;
            }
        }
        let mut events = vec![
            json!({ "type": "response.created", "response": begun }),
            json!({ "type": "response.in_progress", "response": begun }),
        ];
        for (at, item) in output.iter().enumerate() {
            item_events(at, item.as_object()?, &mut events);
        }
        let end = match text(whole, "status") {
            "incomplete" => "response.incomplete",
            "failed" | "cancelled" => "response.failed",
            _ => "response.completed",
        };
        events.push(json!({ "type": end, "response": whole }));
        for (at, event) in events.iter_mut().enumerate() {
            event["sequence_number"] = at.into();
        }
        Some(events.iter().map(Event::typed).collect())
    }
}

/// A response around its items, with what SDKs demand of one.
fn response(reply: &Reply, head: &Head, output: Vec<Value>) -> Value {
    let (status, why) = match reply.finish {
        Some(Finish::Length) => ("incomplete", json!({ "reason": "max_output_tokens" })),
        Some(Finish::Filtered) => ("incomplete", json!({ "reason": "content_filter" })),
        Some(Finish::Failed) => ("failed", Value::Null),
        Some(Finish::Cancelled) => ("cancelled", Value::Null),
        Some(Finish::Stop | Finish::Calls | Finish::Refusal | Finish::Paused | Finish::Other) => {
            ("completed", Value::Null)
        }
        None => ("in_progress", Value::Null),
    };
    json!({
        "id": head.id.expose(),
        "object": "response",
        "created_at": head.created,
        "status": status,
        "error": null,
        "incomplete_details": why,
        "instructions": null,
        "max_output_tokens": null,
        "metadata": {},
        "model": head.model.expose(),
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "store": false,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": reply.usage.map(write_usage),
    })
}

fn read_item(item: &Value, at: &str, reply: &mut Reply, losses: &mut Losses) {
    let Some(item) = item.as_object() else { return losses.add(Lost::Part, at) };
    if let Some(asked) = asked(item) {
        rest(losses, at, item, &["type", "id", "status", "call_id", "name", asked.key], &[]);
        return reply.calls.push(read_call(item, asked));
    }
    match text(item, "type") {
        "message" => {
            rest(losses, at, item, &["type", "id", "status", "role", "content"], &[]);
            if text(item, "role") != "assistant" {
                return losses.add(Lost::Part, at);
            }
            let follows = !reply.calls.is_empty() || !reply.content.is_empty();
            read_parts(item, &CONTENT, at, follows, reply, losses);
        }
        "reasoning" => {
            let read = ["type", "id", "status", "summary", "content"];
            rest(losses, at, item, &read, &[("encrypted_content", Lost::Sealed)]);
            let follows = !reply.calls.is_empty() || !reply.content.is_empty() || !reply.reasoning.is_empty();
            read_parts(item, &SUMMARY, at, follows, reply, losses);
            read_parts(item, &CONTENT, at, follows, reply, losses);
        }
        "compaction" => losses.add(Lost::Sealed, at),
        "image_generation_call" => losses.add(Lost::Media, at),
        kind if kind.ends_with("_call") || kind.ends_with("_output") || kind.starts_with("mcp_") => {
            losses.add(Lost::ServerTool, at);
        }
        _ => losses.add(Lost::Part, at),
    }
}

/// `follows`: something was said before that a reply has in another place, or joined with this.
fn read_parts(item: &Object, list: &List, at: &str, follows: bool, reply: &mut Reply, losses: &mut Losses) {
    for (index, part) in elements(item, list.member).iter().enumerate() {
        let at = format!("{at}/{}/{index}", list.member);
        let known = part.as_object().and_then(|part| Some((spoken(part)?, part)));
        let Some((spoken, part)) = known else {
            losses.add(Lost::Part, at);
            continue;
        };
        rest(losses, &at, part, &["type", spoken.key], &OF_PART);
        let into = if spoken.text.is_reasoning() { &mut reply.reasoning } else { &mut reply.content };
        if follows || !into.is_empty() {
            losses.add(Lost::Order, at);
        }
        let words = text(part, spoken.key);
        if spoken.text.is_reasoning() && !into.is_empty() && !words.is_empty() {
            into.push(BETWEEN_REASONING);
        }
        into.push(words);
        if spoken.key == "refusal" {
            reply.finish = Some(Finish::Refusal);
        }
    }
}

fn read_call(item: &Object, asked: &Asked) -> Call {
    Call {
        id: text(item, "call_id").into(),
        name: text(item, "name").into(),
        arguments: text(item, asked.key).into(),
        kind: asked.kind,
    }
}

fn read_finish(root: &Object, reply: &Reply, losses: &mut Losses) -> Option<Finish> {
    let why = member(root, "incomplete_details").map(|details| text(details, "reason")).unwrap_or_default();
    match (text(root, "status"), why) {
        ("queued" | "in_progress", _) => None,
        ("failed", _) => Some(Finish::Failed),
        ("cancelled", _) => Some(Finish::Cancelled),
        ("incomplete", "max_output_tokens") => Some(Finish::Length),
        ("incomplete", "content_filter") => Some(Finish::Filtered),
        ("incomplete", _) => {
            losses.add(Lost::Finish, "/incomplete_details");
            Some(Finish::Other)
        }
        _ if reply.finish.is_some() => reply.finish,
        _ if !reply.calls.is_empty() => Some(Finish::Calls),
        _ => Some(Finish::Stop),
    }
}

fn read_usage(usage: &Object, losses: &mut Losses) -> Usage {
    let empty = Object::new();
    let input = member(usage, "input_tokens_details").unwrap_or(&empty);
    let output = member(usage, "output_tokens_details").unwrap_or(&empty);
    let totals =
        ["input_tokens", "output_tokens", "total_tokens", "input_tokens_details", "output_tokens_details"];
    let more = |of: &Object, read: &[&str]| {
        of.iter().any(|(key, value)| !read.contains(&key.as_str()) && !is_nothing(value))
    };
    if more(usage, &totals)
        || more(input, &["cached_tokens", "cache_write_tokens"])
        || more(output, &["reasoning_tokens"])
    {
        losses.add(Lost::Usage, "/usage");
    }
    Usage {
        input: number(usage, "input_tokens"),
        cached: number(input, "cached_tokens"),
        written: number(input, "cache_write_tokens"),
        output: number(usage, "output_tokens"),
        reasoning: number(output, "reasoning_tokens"),
    }
}

fn write_usage(usage: Usage) -> Value {
    let mut json = json!({
        "input_tokens": usage.input,
        "input_tokens_details": { "cached_tokens": usage.cached },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": usage.input.saturating_add(usage.output),
    });
    if usage.written > 0 {
        json["input_tokens_details"]["cache_write_tokens"] = usage.written.into();
    }
    json
}

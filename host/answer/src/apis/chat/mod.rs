//! OpenAI chat completions, as OpenAI, Azure, Copilot, OpenRouter, DeepSeek and others speak them.

mod said;
mod stream;

use serde_json::{Value, json};

use super::{Assembly, Event, Read, Wire, call_id, failure, is_error};
use crate::json::{Object, elements, is_nothing, member, number, rest, text};
use crate::loss::{Losses, Lost};
use crate::reply::{Call, CallKind, Finish, Head, Reply, Usage};
use crate::said::Says;

/// Where providers put reasoning: DeepSeek and most local servers, OpenRouter, Copilot.
const REASONING: [&str; 4] = ["reasoning_content", "reasoning", "reasoning_text", "cot_summary"];

const MEMBERS: [(&str, Lost); 2] = [("error", Lost::Member), ("usage", Lost::Usage)];
/// Members that every chunk has.
const IN_EACH_CHUNK: [&str; 6] = ["id", "object", "created", "model", "service_tier", "system_fingerprint"];

const OF_CHOICE: [(&str, Lost); 2] =
    [("logprobs", Lost::Probabilities), ("native_finish_reason", Lost::Finish)];
const OF_MESSAGE: [(&str, Lost); 8] = [
    ("annotations", Lost::Citation),
    ("audio", Lost::Media),
    ("images", Lost::Media),
    ("extra_content", Lost::Sealed),
    ("thought_signature", Lost::Sealed),
    ("reasoning_details", Lost::Sealed),
    ("reasoning_opaque", Lost::Sealed),
    ("cot_id", Lost::Sealed),
];

pub(super) struct Chat;

impl Wire for Chat {
    fn says(&self, _: bool) -> Box<dyn Says> {
        Box::new(said::CompletionReader::default())
    }

    fn assembly(&self) -> Box<dyn Assembly> {
        Box::new(stream::Chunks::default())
    }

    fn read(&self, whole: &Value, losses: &mut Losses) -> Option<Read> {
        let root = whole.as_object()?;
        if is_error(root, "choices") {
            return failure(root).map(Read::failed);
        }
        let choices = root.get("choices")?.as_array()?;
        let mut read = Read {
            head: Head {
                id: text(root, "id").into(),
                model: text(root, "model").into(),
                created: number(root, "created"),
            },
            ..Read::default()
        };
        rest(losses, "", root, &["id", "object", "created", "model", "choices", "usage", "error"], &MEMBERS);
        (1..choices.len()).for_each(|at| losses.add(Lost::Choice, format!("/choices/{at}")));
        if let Some(choice) = choices.first().and_then(Value::as_object) {
            read_choice(choice, &mut read.reply, losses);
        }
        read.reply.usage = member(root, "usage").map(|usage| read_usage(usage, losses));
        if let Some(failure) = failure(root) {
            read.fail(failure);
        }
        Some(read)
    }

    fn turn(&self, whole: &Value) -> Vec<Value> {
        let Some(message) = whole.pointer("/choices/0/message").and_then(Value::as_object) else {
            return Vec::new();
        };
        // What has no value is left out: not every server takes it back.
        let mut turn: Object = message
            .iter()
            .filter(|(_, value)| !is_nothing(value))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        turn.remove("annotations");
        turn.insert("role".to_owned(), "assistant".into());
        turn.entry("content").or_insert(Value::Null);
        vec![Value::Object(turn)]
    }

    fn write(&self, reply: &Reply, head: &Head, _: &mut Losses) -> Value {
        let refuses = reply.finish == Some(Finish::Refusal);
        let said = reply.content.expose();
        let content = if refuses || (said.is_empty() && !reply.calls.is_empty()) { None } else { Some(said) };
        let mut message = json!({
            "role": "assistant",
            "content": content,
            "refusal": refuses.then_some(said),
        });
        if !reply.reasoning.is_empty() {
            message[REASONING[0]] = reply.reasoning.expose().into();
        }
        if !reply.calls.is_empty() {
            message["tool_calls"] =
                reply.calls.iter().enumerate().map(|(at, call)| write_call(at, call)).collect();
        }
        let finish = reply.finish.map(write_finish);
        let mut whole = json!({
            "id": head.id.expose(),
            "object": "chat.completion",
            "created": head.created,
            "model": head.model.expose(),
            "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish }],
        });
        if let Some(usage) = reply.usage {
            whole["usage"] = write_usage(usage);
        }
        whole
    }

    fn append(&self, whole: &mut Value, text: &str) -> Option<()> {
        let message = whole.pointer_mut("/choices/0/message")?;
        if message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty()) {
            return None;
        }
        let said = message["content"].as_str().unwrap_or_default();
        message["content"] = format!("{said}{text}").into();
        Some(())
    }

    fn events(&self, whole: &Object, usage: bool) -> Option<Vec<Event>> {
        let choices = whole.get("choices")?.as_array()?;
        let mut base = Object::new();
        for (key, value) in whole.iter().filter(|(key, _)| IN_EACH_CHUNK.contains(&key.as_str())) {
            base.insert(key.clone(), value.clone());
        }
        base.insert("object".to_owned(), "chat.completion.chunk".into());
        let mut rest = whole.clone();
        rest.retain(|key, _| !base.contains_key(key) && key != "choices" && key != "usage");
        let mut chunk = |choices: Value, costs: Option<&Value>| {
            let mut chunk = base.clone();
            // What else there is comes once.
            chunk.append(&mut rest);
            chunk.insert("choices".to_owned(), choices);
            if usage {
                chunk.insert("usage".to_owned(), costs.cloned().unwrap_or_default());
            }
            Event::plain(&Value::Object(chunk))
        };
        let mut events = Vec::new();
        for (at, choice) in choices.iter().enumerate() {
            let pieces = pieces(choice.as_object()?, at);
            events.extend(pieces.into_iter().map(|piece| chunk(json!([piece]), None)));
        }
        if usage {
            events.push(chunk(json!([]), whole.get("usage")));
        }
        events.push(Event { name: None, data: "[DONE]".to_owned() });
        Some(events)
    }
}

/// The pieces of a choice: who speaks, each text and call by itself, and why it ends.
fn pieces(choice: &Object, at: usize) -> Vec<Value> {
    let index = choice.get("index").cloned().unwrap_or_else(|| at.into());
    let piece =
        |delta: Value| json!({ "index": index, "delta": delta, "logprobs": null, "finish_reason": null });
    let empty = Object::new();
    let message = member(choice, "message").unwrap_or(&empty);
    let (mut begin, mut texts) = (Object::new(), Vec::new());
    for (key, value) in message {
        let is_text = REASONING.contains(&key.as_str()) || key == "content" || key == "refusal";
        match value {
            Value::String(text) if is_text && !text.is_empty() => texts.push((key, value)),
            _ if key == "tool_calls" => {}
            _ => drop(begin.insert(key.clone(), value.clone())),
        }
    }
    // Reasoning comes before what follows from it.
    texts.sort_by_key(|(key, _)| !REASONING.contains(&key.as_str()));
    let mut pieces = Vec::new();
    // A choice that was filtered away has no message.
    if choice.contains_key("message") {
        begin.insert("role".to_owned(), "assistant".into());
        pieces.push(piece(Value::Object(begin)));
    }
    pieces.extend(texts.into_iter().map(|(key, text)| piece(json!({ key: text }))));
    let calls = elements(message, "tool_calls").iter().filter_map(Value::as_object);
    for (at, mut call) in calls.cloned().enumerate() {
        call.insert("index".to_owned(), at.into());
        pieces.push(piece(json!({ "tool_calls": [call] })));
    }
    let mut end: Object = choice.clone();
    end.remove("message");
    end.insert("index".to_owned(), index);
    end.insert("delta".to_owned(), json!({}));
    pieces.push(Value::Object(end));
    pieces
}

fn read_choice(choice: &Object, reply: &mut Reply, losses: &mut Losses) {
    rest(losses, "/choices/0", choice, &["index", "message", "finish_reason"], &OF_CHOICE);
    reply.finish = choice.get("finish_reason").and_then(Value::as_str).map(read_finish);
    match text(choice, "finish_reason") {
        "function_call" => losses.add(Lost::Form, "/choices/0/finish_reason"),
        _ if reply.finish == Some(Finish::Other) => losses.add(Lost::Finish, "/choices/0/finish_reason"),
        _ => {}
    }
    let Some(message) = member(choice, "message") else { return };
    let at = "/choices/0/message";
    let spoken = REASONING.into_iter().find(|key| !text(message, key).is_empty());
    let mut read = vec!["role", "content", "refusal", "tool_calls", "function_call"];
    read.extend(spoken);
    rest(losses, at, message, &read, &OF_MESSAGE);
    reply.reasoning = spoken.map(|key| text(message, key)).unwrap_or_default().into();
    read_content(message, reply, losses);
    let refusal = text(message, "refusal");
    if !refusal.is_empty() {
        if !reply.content.is_empty() {
            losses.add(Lost::Order, format!("{at}/refusal"));
        }
        reply.content.push(refusal);
        reply.finish = Some(Finish::Refusal);
    }
    if let Some(call) = member(message, "function_call") {
        losses.add(Lost::Form, format!("{at}/function_call"));
        reply.calls.push(function(call, "", CallKind::Function));
    }
    for (index, call) in elements(message, "tool_calls").iter().enumerate() {
        reply.calls.extend(
            call.as_object().map(|call| read_call(call, &format!("{at}/tool_calls/{index}"), losses)),
        );
    }
}

/// A text, or parts of which some are (Mistral).
fn read_content(message: &Object, reply: &mut Reply, losses: &mut Losses) {
    reply.content = text(message, "content").into();
    for (index, part) in elements(message, "content").iter().enumerate() {
        let Some(part) = part.as_object() else { continue };
        match text(part, "type") {
            "text" => reply.content.push(text(part, "text")),
            _ => losses.add(Lost::Part, format!("/choices/0/message/content/{index}")),
        }
    }
}

fn read_call(call: &Object, at: &str, losses: &mut Losses) -> Call {
    let (kind, key) = match text(call, "type") {
        "custom" => (CallKind::Custom, "custom"),
        _ => (CallKind::Function, "function"),
    };
    rest(losses, at, call, &["id", "type", "index", key], &OF_MESSAGE);
    let empty = Object::new();
    function(member(call, key).unwrap_or(&empty), text(call, "id"), kind)
}

fn function(function: &Object, id: &str, kind: CallKind) -> Call {
    let arguments = match kind {
        CallKind::Function => crate::json::arguments_text(function.get("arguments")),
        CallKind::Custom => text(function, "input").to_owned(),
    };
    Call { id: id.into(), name: text(function, "name").into(), arguments: arguments.into(), kind }
}

fn write_call(at: usize, call: &Call) -> Value {
    let (id, name, arguments) = (call_id(call.id.expose(), at), call.name.expose(), call.arguments.expose());
    match call.kind {
        CallKind::Function => {
            json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
        }
        CallKind::Custom => {
            json!({ "id": id, "type": "custom", "custom": { "name": name, "input": arguments } })
        }
    }
}

fn read_finish(reason: &str) -> Finish {
    match reason {
        "stop" => Finish::Stop,
        "length" => Finish::Length,
        "tool_calls" | "function_call" => Finish::Calls,
        "content_filter" => Finish::Filtered,
        // OpenRouter's word for an upstream that broke off.
        "error" => Finish::Failed,
        _ => Finish::Other,
    }
}

fn write_finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop
        | Finish::Refusal
        | Finish::Paused
        | Finish::Cancelled
        | Finish::Failed
        | Finish::Other => "stop",
        Finish::Length => "length",
        Finish::Calls => "tool_calls",
        Finish::Filtered => "content_filter",
    }
}

fn read_usage(usage: &Object, losses: &mut Losses) -> Usage {
    let empty = Object::new();
    let input = member(usage, "prompt_tokens_details").unwrap_or(&empty);
    let output = member(usage, "completion_tokens_details").unwrap_or(&empty);
    let totals = [
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "prompt_tokens_details",
        "completion_tokens_details",
    ];
    let more = |of: &Object, read: &[&str]| {
        of.iter().any(|(key, value)| !read.contains(&key.as_str()) && !is_nothing(value) && value != 0)
    };
    if more(usage, &totals)
        || more(input, &["cached_tokens", "cache_write_tokens"])
        || more(output, &["reasoning_tokens"])
    {
        losses.add(Lost::Usage, "/usage");
    }
    Usage {
        input: number(usage, "prompt_tokens"),
        cached: number(input, "cached_tokens"),
        written: number(input, "cache_write_tokens"),
        output: number(usage, "completion_tokens"),
        reasoning: number(output, "reasoning_tokens"),
    }
}

fn write_usage(usage: Usage) -> Value {
    let mut written = json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input.saturating_add(usage.output),
        "prompt_tokens_details": { "cached_tokens": usage.cached },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
    });
    // A member of OpenRouter.
    if usage.written > 0 {
        written["prompt_tokens_details"]["cache_write_tokens"] = usage.written.into();
    }
    written
}

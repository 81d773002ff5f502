//! Anthropic Messages.

mod said;

use serde_json::{Value, json};

use super::{Assembly, Event, Read, Wire, call_id, failure, is_error};
use crate::json::{
    Again, Object, arguments, arguments_text, elements, index, is_nothing, member, merge, number, rest, text,
};
use crate::loss::{Losses, Lost};
use crate::reply::{Call, CallKind, Delta, Finish, Head, Reply, Usage};
use crate::said::Says;

/// Blocks of one message that are kept.
const MAX_BLOCKS: usize = 2048;

const MEMBERS: [&str; 8] = ["id", "type", "role", "model", "content", "stop_reason", "usage", "error"];
const OF_MESSAGE: [(&str, Lost); 3] =
    [("stop_sequence", Lost::Finish), ("stop_details", Lost::Finish), ("container", Lost::ServerTool)];

/// A text whose words stand under a member of a block and of its delta.
const TEXT: (&str, &str) = ("text", "text_delta");
const THINKING: (&str, &str) = ("thinking", "thinking_delta");

pub(super) struct Messages;

impl Wire for Messages {
    fn says(&self, _: bool) -> Box<dyn Says> {
        Box::new(said::MessageReader::default())
    }

    fn assembly(&self) -> Box<dyn Assembly> {
        Box::new(Blocks::default())
    }

    fn read(&self, whole: &Value, losses: &mut Losses) -> Option<Read> {
        let root = whole.as_object()?;
        if is_error(root, "content") {
            return failure(root).map(Read::failed);
        }
        let blocks = root.get("content")?.as_array()?;
        rest(losses, "", root, &MEMBERS, &OF_MESSAGE);
        let mut reply = Reply { finish: read_finish(root, losses), ..Reply::default() };
        for (at, block) in blocks.iter().enumerate() {
            read_block(block, &format!("/content/{at}"), &mut reply, losses);
        }
        reply.usage = member(root, "usage").map(|usage| read_usage(usage, losses));
        let head = Head { id: text(root, "id").into(), model: text(root, "model").into(), created: 0 };
        let mut read = Read { reply, head, failure: None };
        if let Some(failure) = failure(root) {
            read.fail(failure);
        }
        Some(read)
    }

    fn turn(&self, whole: &Value) -> Vec<Value> {
        let content = whole.get("content").filter(|content| !is_nothing(content));
        content.map(|content| json!({ "role": "assistant", "content": content })).into_iter().collect()
    }

    fn write(&self, reply: &Reply, head: &Head, losses: &mut Losses) -> Value {
        let mut content = Vec::new();
        if !reply.reasoning.is_empty() {
            content
                .push(json!({ "type": "thinking", "thinking": reply.reasoning.expose(), "signature": "" }));
        }
        if !reply.content.is_empty() {
            content.push(json!({ "type": "text", "text": reply.content.expose() }));
        }
        for (at, call) in reply.calls.iter().enumerate() {
            let input = match call.kind {
                CallKind::Function => arguments(call.arguments.expose()),
                CallKind::Custom => None,
            };
            if input.is_none() {
                losses.add(Lost::Arguments, format!("/content/{}/input", content.len()));
            }
            content.push(json!({
                "type": "tool_use",
                "id": call_id(call.id.expose(), at),
                "name": call.name.expose(),
                "input": input.unwrap_or_else(|| json!({})),
            }));
        }
        json!({
            "id": head.id.expose(),
            "type": "message",
            "role": "assistant",
            "model": head.model.expose(),
            "content": content,
            "stop_reason": reply.finish.map(write_finish),
            "stop_sequence": null,
            "usage": write_usage(reply.usage.unwrap_or_default()),
        })
    }

    fn append(&self, whole: &mut Value, text: &str) -> Option<()> {
        let content = whole.get_mut("content")?.as_array_mut()?;
        if content.iter().any(|block| block["type"] == "tool_use") {
            return None;
        }
        content.push(serde_json::json!({ "type": "text", "text": text.trim_start() }));
        Some(())
    }

    fn events(&self, whole: &Object, _: bool) -> Option<Vec<Event>> {
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
        Some(events.iter().map(Event::typed).collect())
    }
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
            deltas.push(json!({ "type": TEXT.1, "text": empty(TEXT.0, "".into()) }));
        }
        "thinking" => {
            deltas.push(json!({ "type": THINKING.1, "thinking": empty(THINKING.0, "".into()) }));
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

fn read_block(block: &Value, at: &str, reply: &mut Reply, losses: &mut Losses) {
    let Some(block) = block.as_object() else { return losses.add(Lost::Part, at) };
    match text(block, "type") {
        "text" => {
            rest(losses, at, block, &["type", "text"], &[("citations", Lost::Citation)]);
            if !reply.content.is_empty() || !reply.calls.is_empty() {
                losses.add(Lost::Order, at);
            }
            reply.content.push(text(block, "text"));
        }
        "thinking" => {
            rest(losses, at, block, &["type", "thinking"], &[("signature", Lost::Sealed)]);
            if !reply.content.is_empty() || !reply.calls.is_empty() || !reply.reasoning.is_empty() {
                losses.add(Lost::Order, at);
            }
            push_reasoning(reply, text(block, "thinking"));
        }
        "tool_use" => {
            rest(losses, at, block, &["type", "id", "name", "input"], &[("caller", Lost::ServerTool)]);
            reply.calls.push(read_call(block));
        }
        "redacted_thinking" | "compaction" => losses.add(Lost::Sealed, at),
        "image" | "document" | "container_upload" => losses.add(Lost::Media, at),
        kind if kind.ends_with("_tool_use") || kind.ends_with("_tool_result") => {
            losses.add(Lost::ServerTool, at)
        }
        _ => losses.add(Lost::Part, at),
    }
}

fn push_reasoning(reply: &mut Reply, thinking: &str) {
    if !reply.reasoning.is_empty() && !thinking.is_empty() {
        reply.reasoning.push(super::BETWEEN_REASONING);
    }
    reply.reasoning.push(thinking);
}

fn read_call(block: &Object) -> Call {
    Call {
        id: text(block, "id").into(),
        name: text(block, "name").into(),
        arguments: arguments_text(block.get("input")).into(),
        kind: CallKind::Function,
    }
}

fn read_finish(root: &Object, losses: &mut Losses) -> Option<Finish> {
    let finish = root.get("stop_reason")?.as_str().map(finish_of)?;
    if finish == Finish::Other {
        losses.add(Lost::Finish, "/stop_reason");
    }
    Some(finish)
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "tool_use" => Finish::Calls,
        "pause_turn" => Finish::Paused,
        "refusal" => Finish::Refusal,
        _ => Finish::Other,
    }
}

fn write_finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::Cancelled | Finish::Failed | Finish::Other => "end_turn",
        Finish::Length => "max_tokens",
        Finish::Calls => "tool_use",
        Finish::Paused => "pause_turn",
        Finish::Filtered | Finish::Refusal => "refusal",
    }
}

/// Its `input_tokens` are those that no cache has a part in.
fn read_usage(usage: &Object, losses: &mut Losses) -> Usage {
    let read = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];
    let details = member(usage, "output_tokens_details");
    let reasoning = details.map(|details| number(details, "thinking_tokens")).unwrap_or_default();
    let more = |(key, value): (&String, &Value)| !read.contains(&key.as_str()) && !is_nothing(value);
    if usage.iter().any(more) {
        losses.add(Lost::Usage, "/usage");
    }
    let [fresh, cached, written, output] = read.map(|key| number(usage, key));
    let input = fresh.saturating_add(cached).saturating_add(written);
    Usage { input, cached, written, output, reasoning }
}

fn write_usage(usage: Usage) -> Value {
    let mut json = json!({
        "input_tokens": usage.input.saturating_sub(usage.cached).saturating_sub(usage.written),
        "cache_creation_input_tokens": usage.written,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    });
    if usage.reasoning > 0 {
        json["output_tokens_details"] = json!({ "thinking_tokens": usage.reasoning });
    }
    json
}

/// A stream of blocks.
#[derive(Clone, Default)]
struct Blocks {
    message: Option<Object>,
    blocks: Vec<Object>,
    /// What came of the arguments of each block, as text.
    inputs: Vec<String>,
    /// Which call of the reply a block is.
    calls: Vec<Option<usize>>,
    begun: usize,
    /// There is reasoning already, so that more of it begins a new paragraph.
    reasoned: bool,
}

impl Assembly for Blocks {
    fn take(&mut self, event: Value, losses: &mut Losses) -> Vec<Delta> {
        let Value::Object(mut event) = event else { return Vec::new() };
        let kind = text(&event, "type").to_owned();
        let mut deltas = Vec::new();
        match kind.as_str() {
            "message_start" => self.start(event.remove("message"), &mut deltas),
            "content_block_start" => self.begin(event, &mut deltas, losses),
            "content_block_delta" => self.more(event, &mut deltas, losses),
            "message_delta" => self.end(event, &mut deltas),
            "error" => {
                let message = self.message.get_or_insert_default();
                message.insert("error".to_owned(), event.remove("error").unwrap_or_default());
                deltas.push(Delta::Finish(Finish::Failed));
            }
            "content_block_stop" => self.stop(&event, &mut deltas),
            "message_stop" | "ping" => {}
            _ => losses.add(Lost::Event, ""),
        }
        deltas
    }

    fn so_far(&self) -> Option<Value> {
        Box::new(self.clone()).whole()
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        let mut message = self.message?;
        if self.blocks.is_empty() && message.contains_key("error") && !message.contains_key("id") {
            return Some(Value::Object(message));
        }
        let mut blocks = self.blocks;
        for (block, input) in blocks.iter_mut().zip(self.inputs).filter(|(_, input)| !input.is_empty()) {
            // What was cut off stays text, so that nobody takes it for arguments.
            block.insert("input".to_owned(), arguments(&input).unwrap_or(Value::String(input)));
        }
        message.insert("content".to_owned(), blocks.into_iter().map(Value::Object).collect());
        Some(Value::Object(message))
    }
}

impl Blocks {
    fn start(&mut self, message: Option<Value>, deltas: &mut Vec<Delta>) {
        let Some(Value::Object(mut message)) = message else { return };
        for block in elements(&message, "content").to_vec() {
            self.place(block, deltas);
        }
        message.remove("content");
        if let Some(usage) = member(&message, "usage") {
            deltas.push(Delta::Usage(read_usage(usage, &mut Losses::default())));
        }
        self.message = Some(message);
    }

    fn begin(&mut self, mut event: Object, deltas: &mut Vec<Delta>, losses: &mut Losses) {
        let at = index(&event, "index").unwrap_or(self.blocks.len());
        // Blocks come in order; a gap or a second beginning has no place in a message.
        if at != self.blocks.len() || at >= MAX_BLOCKS {
            return losses.add(Lost::Unread, "/content");
        }
        self.place(event.remove("content_block").unwrap_or_default(), deltas);
    }

    fn place(&mut self, block: Value, deltas: &mut Vec<Delta>) {
        let block = block.as_object().cloned().unwrap_or_default();
        self.message.get_or_insert_default();
        self.inputs.push(String::new());
        let is_call = text(&block, "type") == "tool_use";
        self.calls.push(is_call.then_some(self.begun));
        match text(&block, "type") {
            "text" => tell(Delta::Content, text(&block, "text"), deltas),
            "thinking" => self.reason(true, text(&block, "thinking"), deltas),
            "tool_use" => {
                self.begun += 1;
                // A stream begins with an empty object, which the pieces of the arguments replace.
                let mut call = read_call(&block);
                if block.get("input").is_none_or(is_nothing) {
                    call.arguments = "".into();
                }
                deltas.push(Delta::Call(call));
            }
            _ => {}
        }
        self.blocks.push(block);
    }

    fn more(&mut self, mut event: Object, deltas: &mut Vec<Delta>, losses: &mut Losses) {
        let Some(Value::Object(mut delta)) = event.remove("delta") else { return };
        let at = index(&event, "index").unwrap_or(usize::MAX);
        let Some(block) = self.blocks.get_mut(at) else { return losses.add(Lost::Unread, "/content") };
        let kind = text(&delta, "type").to_owned();
        let owner =
            [TEXT.0, THINKING.0].into_iter().find(|kind| *kind == text(block, "type")).unwrap_or_default();
        let mut join = |key: &str, piece: &str| {
            merge(block.entry(key).or_insert(Value::Null), piece.into(), Again::Join);
        };
        match (kind.as_str(), owner) {
            ("text_delta", "text") => {
                join(TEXT.0, text(&delta, "text"));
                tell(Delta::Content, text(&delta, "text"), deltas);
            }
            ("thinking_delta", "thinking") => {
                let first = text(block, THINKING.0).is_empty();
                let piece = text(&delta, "thinking").to_owned();
                merge(block.entry(THINKING.0).or_insert(Value::Null), piece.as_str().into(), Again::Join);
                self.reason(first, &piece, deltas);
            }
            ("signature_delta", _) => join("signature", text(&delta, "signature")),
            ("input_json_delta", _) => {
                let piece = text(&delta, "partial_json");
                self.inputs[at].push_str(piece);
                if let Some(call) = self.calls[at].filter(|_| !piece.is_empty()) {
                    deltas.push(Delta::Arguments { call, text: piece.into() });
                }
            }
            ("citations_delta", _) => {
                let citation = delta.remove("citation").unwrap_or_default();
                merge(block.entry("citations").or_insert(Value::Null), json!([citation]), Again::Join);
            }
            _ => losses.add(Lost::Event, format!("/content/{at}")),
        }
    }

    /// A call without arguments has an empty object.
    fn stop(&mut self, event: &Object, deltas: &mut Vec<Delta>) {
        let Some(at) = index(event, "index").filter(|at| *at < self.blocks.len()) else { return };
        let empty = self.inputs[at].is_empty() && self.blocks[at].get("input").is_none_or(is_nothing);
        if let Some(call) = self.calls[at].filter(|_| empty) {
            self.inputs[at].push_str("{}");
            deltas.push(Delta::Arguments { call, text: "{}".into() });
        }
    }

    fn reason(&mut self, first: bool, piece: &str, deltas: &mut Vec<Delta>) {
        if piece.is_empty() {
            return;
        }
        if first && std::mem::replace(&mut self.reasoned, true) {
            deltas.push(Delta::Reasoning(super::BETWEEN_REASONING.into()));
        }
        tell(Delta::Reasoning, piece, deltas);
    }

    fn end(&mut self, mut event: Object, deltas: &mut Vec<Delta>) {
        let message = self.message.get_or_insert_default();
        if let Some(Value::Object(delta)) = event.remove("delta") {
            for (key, value) in delta {
                merge(message.entry(key).or_insert(Value::Null), value, Again::Replace);
            }
        }
        for key in ["usage", "context_management"] {
            if let Some(value) = event.remove(key) {
                merge(message.entry(key).or_insert(Value::Null), value, Again::Replace);
            }
        }
        let finish = message.get("stop_reason").and_then(Value::as_str).map(finish_of);
        deltas.extend(finish.map(Delta::Finish));
        let usage = member(message, "usage").map(|usage| read_usage(usage, &mut Losses::default()));
        deltas.extend(usage.map(Delta::Usage));
    }
}

fn tell(delta: fn(crate::AnswerText) -> Delta, text: &str, deltas: &mut Vec<Delta>) {
    if !text.is_empty() {
        deltas.push(delta(text.into()));
    }
}

//! OpenAI Responses.
//!
//! A stream says each text in deltas, and then repeats it whole up to three more times: as text, item
//! and response. The last word counts; what differs from the deltas is noted.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Assembly, BETWEEN_REASONING, Event, Read, Wire, call_id, failure, is_error};
use crate::json::{Object, elements, index, is_nothing, member, number, rest, text};
use crate::loss::{Losses, Lost};
use crate::reply::{Call, CallKind, Delta, Failure, Finish, Head, Reply, Usage};

/// Items of one response that are kept.
const MAX_ITEMS: usize = 2048;

/// Parts of one item that are kept.
const MAX_PARTS: usize = 2048;

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
    fn assembly(&self) -> Box<dyn Assembly> {
        Box::new(Items::default())
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

/// A list of texts in an item: where its parts are, and how their events are called.
struct List {
    /// The member of the item.
    member: &'static str,
    /// What counts its parts in events.
    index: &'static str,
    /// What events about a part begin with.
    part: &'static str,
}

const SUMMARY: List =
    List { member: "summary", index: "summary_index", part: "response.reasoning_summary_part" };
const CONTENT: List = List { member: "content", index: "content_index", part: "response.content_part" };

/// A kind of text: how its parts are called, where the words stand in them, and what its events begin
/// with.
struct Spoken {
    part: &'static str,
    key: &'static str,
    event: &'static str,
    list: &'static List,
    is_reasoning: bool,
}

const SPOKEN: [Spoken; 4] = [
    Spoken {
        part: "output_text",
        key: "text",
        event: "response.output_text",
        list: &CONTENT,
        is_reasoning: false,
    },
    Spoken {
        part: "refusal",
        key: "refusal",
        event: "response.refusal",
        list: &CONTENT,
        is_reasoning: false,
    },
    Spoken {
        part: "reasoning_text",
        key: "text",
        event: "response.reasoning_text",
        list: &CONTENT,
        is_reasoning: true,
    },
    Spoken {
        part: "summary_text",
        key: "text",
        event: "response.reasoning_summary_text",
        list: &SUMMARY,
        is_reasoning: true,
    },
];

/// A kind of call: the member with its arguments, and what their events begin with.
struct Asked {
    item: &'static str,
    key: &'static str,
    event: &'static str,
    kind: CallKind,
}

const ASKED: [Asked; 2] = [
    Asked {
        item: "function_call",
        key: "arguments",
        event: "response.function_call_arguments",
        kind: CallKind::Function,
    },
    Asked {
        item: "custom_tool_call",
        key: "input",
        event: "response.custom_tool_call_input",
        kind: CallKind::Custom,
    },
];

fn spoken(part: &Object) -> Option<&'static Spoken> {
    SPOKEN.iter().find(|spoken| spoken.part == text(part, "type"))
}

fn asked(item: &Object) -> Option<&'static Asked> {
    ASKED.iter().find(|asked| asked.item == text(item, "type"))
}

/// The lists of an item that hold texts, in the order in which they are shown.
fn lists(item: &Object) -> &'static [&'static List] {
    match text(item, "type") {
        "message" => &[&CONTENT],
        "reasoning" => &[&SUMMARY, &CONTENT],
        _ => &[],
    }
}

fn item_events(at: usize, item: &Object, events: &mut Vec<Value>) {
    let mut begun = item.clone();
    for list in lists(item) {
        begun.insert(list.member.to_owned(), json!([]));
    }
    if let Some(asked) = asked(item) {
        begun.insert(asked.key.to_owned(), "".into());
    }
    if begun.contains_key("status") {
        begun.insert("status".to_owned(), "in_progress".into());
    }
    events.push(json!({ "type": "response.output_item.added", "output_index": at, "item": begun }));
    let id = text(item, "id");
    for list in lists(item) {
        for (index, part) in elements(item, list.member).iter().enumerate() {
            let event = |kind: String, mut event: Value| {
                event["type"] = kind.into();
                event["item_id"] = id.into();
                event["output_index"] = at.into();
                event[list.index] = index.into();
                event
            };
            part_events(list, part, event, events);
        }
    }
    if let Some(asked) = asked(item) {
        let words = text(item, asked.key);
        let common = |kind: &str, key: &str| json!({ "type": format!("{}.{kind}", asked.event), "item_id": id, "output_index": at, key: words });
        events.push(common("delta", "delta"));
        let mut done = common("done", asked.key);
        done["name"] = text(item, "name").into();
        events.push(done);
    }
    events.push(json!({ "type": "response.output_item.done", "output_index": at, "item": item }));
}

fn part_events(list: &List, part: &Value, event: impl Fn(String, Value) -> Value, events: &mut Vec<Value>) {
    let mut begun = part.clone();
    let texts = part.as_object().and_then(|part| Some((spoken(part)?, part)));
    if let Some((spoken, _)) = texts {
        begun[spoken.key] = "".into();
        if begun.get("annotations").is_some() {
            begun["annotations"] = json!([]);
        }
    }
    events.push(event(format!("{}.added", list.part), json!({ "part": begun })));
    if let Some((spoken, part)) = texts {
        let words = text(part, spoken.key);
        let mut delta = json!({ "delta": words });
        let mut done = json!({ spoken.key: words });
        if spoken.part == "output_text" {
            delta["logprobs"] = json!([]);
            done["logprobs"] = part.get("logprobs").cloned().unwrap_or_else(|| json!([]));
        }
        events.push(event(format!("{}.delta", spoken.event), delta));
        for (at, annotation) in elements(part, "annotations").iter().enumerate() {
            let kind = "response.output_text.annotation.added".to_owned();
            events.push(event(kind, json!({ "annotation_index": at, "annotation": annotation })));
        }
        events.push(event(format!("{}.done", spoken.event), done));
    }
    events.push(event(format!("{}.done", list.part), json!({ "part": part })));
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
        let into = if spoken.is_reasoning { &mut reply.reasoning } else { &mut reply.content };
        if follows || !into.is_empty() {
            losses.add(Lost::Order, at);
        }
        let words = text(part, spoken.key);
        if spoken.is_reasoning && !into.is_empty() && !words.is_empty() {
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

/// A text or the arguments of a call, by item, list and part.
type Place = (usize, &'static str, usize);

/// A stream of items.
#[derive(Default)]
struct Items {
    response: Option<Object>,
    /// The items as they were last seen, by index.
    items: BTreeMap<usize, Object>,
    /// What the deltas said of each text.
    said: BTreeMap<Place, String>,
    /// Which call of the reply an item is.
    calls: BTreeMap<usize, usize>,
    /// There is reasoning already, so that more of it begins a new paragraph.
    reasoned: bool,
    refused: bool,
    failure: Option<Failure>,
}

impl Assembly for Items {
    fn take(&mut self, event: Value, losses: &mut Losses) -> Vec<Delta> {
        let Value::Object(mut event) = event else { return Vec::new() };
        let kind = text(&event, "type").to_owned();
        let at = index(&event, "output_index").unwrap_or(0);
        let mut deltas = Vec::new();
        if at >= MAX_ITEMS {
            losses.add(Lost::Unread, "/output");
            return deltas;
        }
        match kind.as_str() {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.response(event.remove("response"), &mut deltas, losses);
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.response(event.remove("response"), &mut deltas, losses);
                self.end(&mut deltas);
            }
            "response.output_item.added" | "response.output_item.done" => {
                if let Some(Value::Object(item)) = event.remove("item") {
                    self.item(at, item, &mut deltas, losses);
                }
            }
            "error" => self.fail(&event, &mut deltas),
            "" if event.contains_key("error") => self.fail(&event, &mut deltas),
            _ => self.piece(at, &kind, event, &mut deltas, losses),
        }
        deltas
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        let Items { response, mut items, said, failure, .. } = *self;
        let mut response = match (response, &failure) {
            (None, Some(failure)) if items.is_empty() => {
                let error = json!({ "type": failure.kind.expose(), "message": failure.message.expose() });
                return Some(json!({ "error": error }));
            }
            (None, _) if items.is_empty() => return None,
            (response, _) => response.unwrap_or_default(),
        };
        for ((at, list, part), words) in said {
            if let Some(item) = items.get_mut(&at) {
                fill(item, list, part, words);
            }
        }
        if let Some(failure) = failure {
            response.insert("status".to_owned(), "failed".into());
            let error = json!({ "code": failure.kind.expose(), "message": failure.message.expose() });
            response.insert("error".to_owned(), error);
        }
        response.insert("output".to_owned(), items.into_values().map(Value::Object).collect());
        Some(Value::Object(response))
    }
}

/// Puts what the deltas said into an item that was never repeated whole.
fn fill(item: &mut Object, list: &'static str, part: usize, words: String) {
    if let Some(asked) = asked(item) {
        if text(item, asked.key).is_empty() {
            item.insert(asked.key.to_owned(), words.into());
        }
        return;
    }
    let default = match (text(item, "type"), list) {
        ("reasoning", "summary") => "summary_text",
        ("reasoning", _) => "reasoning_text",
        _ => "output_text",
    };
    let Value::Array(parts) = item.entry(list).or_insert_with(|| json!([])) else { return };
    // A part in the air would be a way to make many of few bytes.
    if part == parts.len() {
        parts.push(json!({ "type": default, "text": "" }));
    }
    if let Some(Value::Object(part)) = parts.get_mut(part) {
        let key = spoken(part).map_or("text", |spoken| spoken.key);
        if text(part, key).is_empty() {
            part.insert(key.to_owned(), words.into());
        }
    }
}

impl Items {
    fn response(&mut self, response: Option<Value>, deltas: &mut Vec<Delta>, losses: &mut Losses) {
        let Some(Value::Object(mut response)) = response else { return };
        // Some servers leave the items out of the last event: those that came count.
        if let Some(Value::Array(output)) = response.remove("output")
            && !output.is_empty()
        {
            self.items.retain(|at, _| *at < output.len());
            for (at, item) in output.into_iter().take(MAX_ITEMS).enumerate() {
                if let Value::Object(item) = item {
                    self.item(at, item, deltas, losses);
                }
            }
        }
        if let Some(usage) = member(&response, "usage") {
            deltas.push(Delta::Usage(read_usage(usage, &mut Losses::default())));
        }
        self.response = Some(response);
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        let Some(response) = &self.response else { return };
        let calls = vec![Call::default(); self.calls.len()];
        let finish = self.refused.then_some(Finish::Refusal);
        let reply = Reply { calls, finish, ..Reply::default() };
        deltas.extend(read_finish(response, &reply, &mut Losses::default()).map(Delta::Finish));
    }

    fn fail(&mut self, event: &Object, deltas: &mut Vec<Delta>) {
        // The documented event has its members at the top, the live one an error.
        let at_top = || Failure { kind: text(event, "code").into(), message: text(event, "message").into() };
        self.failure = Some(failure(event).unwrap_or_else(at_top));
        deltas.push(Delta::Finish(Finish::Failed));
    }

    /// An item, begun or whole.
    fn item(&mut self, at: usize, item: Object, deltas: &mut Vec<Delta>, losses: &mut Losses) {
        if let Some(asked) = asked(&item) {
            let words = text(&item, asked.key).to_owned();
            if !self.calls.contains_key(&at) {
                self.calls.insert(at, self.calls.len());
                deltas.push(Delta::Call(Call { arguments: "".into(), ..read_call(&item, asked) }));
            }
            self.settle((at, asked.key, 0), None, &words, deltas, losses);
        }
        let speaks = text(&item, "type") == "reasoning" || text(&item, "role") == "assistant";
        for list in lists(&item).iter().filter(|_| speaks) {
            for (index, part) in elements(&item, list.member).iter().take(MAX_PARTS).enumerate() {
                if let Some(part) = part.as_object() {
                    self.part((at, list.member, index), part, deltas, losses);
                }
            }
        }
        self.items.insert(at, item);
    }

    fn part(&mut self, place: Place, part: &Object, deltas: &mut Vec<Delta>, losses: &mut Losses) {
        if let Some(spoken) = spoken(part) {
            self.settle(place, Some(spoken), text(part, spoken.key), deltas, losses);
        }
    }

    /// A piece of an item: a part or a delta.
    fn piece(
        &mut self,
        at: usize,
        kind: &str,
        mut event: Object,
        deltas: &mut Vec<Delta>,
        losses: &mut Losses,
    ) {
        let Some((begins, what)) = kind.rsplit_once('.') else { return losses.add(Lost::Event, "") };
        let part = |list: &List| index(&event, list.index).unwrap_or(0).min(MAX_PARTS);
        if let Some(list) = [&SUMMARY, &CONTENT].into_iter().find(|list| list.part == begins) {
            let place = (at, list.member, part(list));
            if let Some(Value::Object(part)) = event.remove("part") {
                self.part(place, &part, deltas, losses);
                if let Some(item) = self.items.get_mut(&at) {
                    put_part(item, place, part);
                }
            }
        } else if let Some(spoken) = SPOKEN.iter().find(|spoken| spoken.event == begins) {
            let place = (at, spoken.list.member, part(spoken.list));
            match what {
                "delta" => self.say(place, Some(spoken), text(&event, "delta"), deltas),
                _ => self.settle(place, Some(spoken), text(&event, spoken.key), deltas, losses),
            }
        } else if let Some(asked) = ASKED.iter().find(|asked| asked.event == begins) {
            let place = (at, asked.key, 0);
            match what {
                "delta" => self.say(place, None, text(&event, "delta"), deltas),
                _ => self.settle(place, None, text(&event, asked.key), deltas, losses),
            }
        } else if begins != "response.output_text.annotation" && !begins.ends_with("_call") {
            // Annotations and the progress of a provider's own tools stand in their items again.
            losses.add(Lost::Event, "");
        }
    }

    /// Says more of a text.
    fn say(&mut self, place: Place, spoken: Option<&Spoken>, words: &str, deltas: &mut Vec<Delta>) {
        if words.is_empty() {
            return;
        }
        let first = !self.said.contains_key(&place);
        self.said.entry(place).or_default().push_str(words);
        let Some(spoken) = spoken else {
            let call = self.calls.get(&place.0).copied();
            deltas.extend(call.map(|call| Delta::Arguments { call, text: words.into() }));
            return;
        };
        self.refused |= spoken.key == "refusal";
        if !spoken.is_reasoning {
            return deltas.push(Delta::Content(words.into()));
        }
        if first && std::mem::replace(&mut self.reasoned, true) {
            deltas.push(Delta::Reasoning(BETWEEN_REASONING.into()));
        }
        deltas.push(Delta::Reasoning(words.into()));
    }

    /// Hears a text whole: what of it was not said yet is said now.
    fn settle(
        &mut self,
        place: Place,
        spoken: Option<&Spoken>,
        words: &str,
        deltas: &mut Vec<Delta>,
        losses: &mut Losses,
    ) {
        let said = self.said.get(&place).map(String::as_str).unwrap_or_default();
        match words.strip_prefix(said) {
            Some(more) => {
                let more = more.to_owned();
                self.say(place, spoken, &more, deltas);
            }
            // A part begins empty, and an item that is begun repeats nothing.
            None if words.is_empty() => {}
            None => losses.add(Lost::Contradiction, format!("/output/{}/{}/{}", place.0, place.1, place.2)),
        }
    }
}

/// Puts a part into an item that was begun.
fn put_part(item: &mut Object, (_, list, at): Place, part: Object) {
    let Value::Array(parts) = item.entry(list).or_insert_with(|| json!([])) else { return };
    if at == parts.len() {
        parts.push(Value::Object(part));
    } else if let Some(place) = parts.get_mut(at) {
        *place = Value::Object(part);
    }
}

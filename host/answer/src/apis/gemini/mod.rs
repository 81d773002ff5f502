//! Gemini: `generateContent` and `streamGenerateContent`. Each event of a stream is an answer.
//!
//! Code Assist has such an answer as the member `response`, and beside it what the service says of itself.

mod said;

use serde_json::{Value, json};

use super::{AnswerAssembly, AnswerWire, Count};
use crate::event::StreamEvent;
use crate::json::{Again, Object, elements, index, member, merge, text};
use crate::reply::{Finish, Head, Reply};
use said::ContentReader;

/// One of them is in every event.
const READ: [&str; 6] =
    ["candidates", "usageMetadata", "modelVersion", "responseId", "error", "promptFeedback"];

/// The member in which Code Assist has an answer.
const RESPONSE: &str = "response";

pub(super) const CODE_ASSIST: AnswerWire = AnswerWire {
    wrapped_in: Some(RESPONSE),
    says: |_| Box::new(ContentReader::new(true)),
    answer: &[RESPONSE, "error"],
    beside: &["/response/candidates"],
    ..WIRE
};

pub(super) const WIRE: AnswerWire = AnswerWire {
    put,
    settle: |_| {},
    finish,
    turn,
    write,
    append,
    events,
    wrapped_in: None,
    says: |_| Box::new(ContentReader::new(false)),
    // A prompt that was refused has no candidates, and says why.
    answer: &["candidates", "promptFeedback", "error"],
    lists: true,
    names_events: false,
    repeats: false,
    names_answers: false,
    beside: &["/candidates"],
    list: "candidates",
    probabilities: Some("logprobsResult"),
    live: None,
    head: ["responseId", "modelVersion", ""],
    reasons: &[
        ("STOP", Finish::Stop),
        ("MAX_TOKENS", Finish::Length),
        ("SAFETY", Finish::Filtered),
        ("SAFETY", Finish::Refusal),
        ("RECITATION", Finish::Filtered),
        ("LANGUAGE", Finish::Filtered),
        ("BLOCKLIST", Finish::Filtered),
        ("PROHIBITED_CONTENT", Finish::Filtered),
        ("SPII", Finish::Filtered),
        ("IMAGE_SAFETY", Finish::Filtered),
        ("OTHER", Finish::Other),
        ("OTHER", Finish::Cancelled),
        ("OTHER", Finish::Failed),
    ],
    usage: "usageMetadata",
    // What was thought is counted beside what was said, and a total may be all there is.
    counts: &[
        ("/promptTokenCount", Count::Input, |usage| Some(usage.input)),
        ("/toolUsePromptTokenCount", Count::Input, |_| None),
        ("/cachedContentTokenCount", Count::Cached, |usage| Some(usage.cached)),
        ("/candidatesTokenCount", Count::Output, |usage| Some(usage.output.saturating_sub(usage.reasoning))),
        ("/thoughtsTokenCount", Count::Output, |_| None),
        ("/thoughtsTokenCount", Count::Reasoning, |usage| Some(usage.reasoning)),
        ("/totalTokenCount", Count::Total, |usage| Some(usage.input.saturating_add(usage.output))),
    ],
};

fn put(into: &mut AnswerAssembly, mut piece: Object) -> bool {
    if READ.iter().all(|key| piece.get(*key).is_none_or(Value::is_null)) {
        return true;
    }
    into.came = true;
    let candidates = piece.remove("candidates");
    merge(&mut into.root, piece, Again::Replace);
    let candidates = candidates.iter().filter_map(Value::as_array).flatten().enumerate();
    let candidates = candidates.filter_map(|(at, candidate)| Some((at, candidate.as_object()?)));
    let put = |(at, candidate)| put_candidate(into, at, candidate).is_some();
    candidates.map(put).fold(true, |all, one| all & one)
}

/// A prompt that was refused has no candidates.
fn finish(root: &Object) -> Option<Finish> {
    match elements(root, "candidates").first() {
        Some(candidate) => WIRE.reason(candidate.get("finishReason")),
        None => is_blocked(root).then_some(Finish::Filtered),
    }
}

fn turn(whole: &Value) -> Vec<Value> {
    let content = whole.pointer("/candidates/0/content").and_then(Value::as_object);
    let mut content = content.filter(|content| !elements(content, "parts").is_empty()).cloned();
    if let Some(content) = &mut content {
        content.insert("role".to_owned(), "model".into());
    }
    content.map(Value::Object).into_iter().collect()
}

fn write(reply: &Reply, head: &Head) -> Value {
    let mut parts = Vec::new();
    if !reply.reasoning.is_empty() {
        parts.push(json!({ "text": reply.reasoning.expose(), "thought": true }));
    }
    if !reply.content.is_empty() {
        parts.push(json!({ "text": reply.content.expose() }));
    }
    for call in &reply.calls {
        let mut function = json!({ "name": call.name.expose(), "args": call.input() });
        if !call.id.is_empty() {
            function["id"] = call.id.expose().into();
        }
        parts.push(json!({ "functionCall": function }));
    }
    let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
    if let Some(finish) = reply.finish {
        candidate["finishReason"] = WIRE.word(finish).into();
    }
    let mut whole = json!({
        "candidates": [candidate],
        "modelVersion": head.model.expose(),
        "responseId": head.id.expose(),
    });
    if let Some(usage) = reply.usage {
        whole["usageMetadata"] = WIRE.write_usage(usage);
    }
    whole
}

fn append(whole: &mut Value, text: &str) -> Option<()> {
    let parts = whole.pointer_mut("/candidates/0/content/parts")?.as_array_mut()?;
    parts.push(serde_json::json!({ "text": text }));
    Some(())
}

fn events(whole: &Object, _: bool) -> Option<Vec<StreamEvent>> {
    if !whole.contains_key("candidates") && !is_blocked(whole) {
        return None;
    }
    // An answer is a stream of one event. Its parts come one by one, so that a client shows the
    // first before it has the last; the last event has all the rest.
    let mut events = Vec::new();
    let mut last = whole.clone();
    if let Some(Value::Array(parts)) =
        last.get_mut("candidates").and_then(|candidates| candidates.pointer_mut("/0/content/parts"))
    {
        let kept = parts.split_off(parts.len().saturating_sub(1));
        let early = std::mem::replace(parts, kept);
        let index = whole["candidates"][0].get("index").cloned().unwrap_or_else(|| 0.into());
        for part in early {
            let content = json!({ "parts": [part], "role": "model" });
            let mut piece = json!({ "candidates": [{ "content": content, "index": index }] });
            for key in ["modelVersion", "responseId"] {
                piece[key] = whole.get(key).cloned().unwrap_or_default();
            }
            events.push(StreamEvent::plain(piece));
        }
    }
    events.push(StreamEvent::plain(Value::Object(last)));
    Some(events)
}

/// Whether the prompt was refused.
fn is_blocked(answer: &Object) -> bool {
    member(answer, "promptFeedback").is_some_and(|feedback| feedback.contains_key("blockReason"))
}

/// Adds the next parts of a candidate; `None` for what has no place.
fn put_candidate(into: &mut AnswerAssembly, at: usize, piece: &Object) -> Option<()> {
    let at = index(piece, "index").unwrap_or(at);
    let candidate = into.item(at)?;
    let content = candidate.entry("content").or_insert_with(|| json!({ "parts": [], "role": "model" }));
    if let Some(Value::Array(held)) = content.get_mut("parts") {
        let parts = member(piece, "content").map(|content| elements(content, "parts")).unwrap_or_default();
        parts.iter().for_each(|part| push_part(held, part));
    }
    let others = piece.iter().filter(|(key, _)| *key != "content");
    candidate.extend(others.map(|(key, value)| (key.clone(), value.clone())));
    candidate.insert("index".to_owned(), at.into());
    Some(())
}

/// Adds a part. Unsigned text goes on in the part before it, if that is text of the same kind.
fn push_part(parts: &mut Vec<Value>, part: &Value) {
    let is_plain = |part: &Object| part.keys().all(|key| key == "text" || key == "thought");
    let thinks = |part: &Object| part.get("thought") == Some(&Value::Bool(true));
    if let (Some(Value::Object(last)), Some(new)) = (parts.last_mut(), part.as_object())
        && is_plain(last)
        && is_plain(new)
        && thinks(last) == thinks(new)
        && let Some(Value::String(words)) = last.get_mut("text")
    {
        return words.push_str(text(new, "text"));
    }
    parts.push(part.clone());
}

//! OpenAI chat completions.

use std::collections::BTreeSet;

use leafgate_api::PICKED;
use serde_json::json;

use super::{RequestWire, arguments, list, stored, words};
use crate::error::AssembleError;
use crate::history::{HistoryCall, HistoryTurn};
use crate::json::{Object, is_nothing, raw};

pub(super) struct ChatRequests;

impl RequestWire for ChatRequests {
    fn single(&self) -> &'static [&'static str] {
        &["messages", "tools", "model", PICKED]
    }

    fn take(&self, body: &mut Object) -> Result<Vec<HistoryTurn>, AssembleError> {
        Ok(list(body, "messages")?.into_iter().map(turn).collect())
    }

    fn put(&self, body: &mut Object, system: Option<&str>, items: Vec<Object>) {
        let first = system.map(|system| own_system(body, system).unwrap_or_else(|| made_system(system)));
        let messages: Vec<Object> = first.into_iter().chain(items).collect();
        body.set("messages", raw(&messages));
    }

    fn with_calls(&self, items: Vec<Object>, wanted: &BTreeSet<String>) -> Vec<Object> {
        let keep = |mut message: Object| {
            let calls = message.objects("tool_calls").unwrap_or_default();
            let calls: Vec<Object> = calls
                .into_iter()
                .filter(|call| call.text("id").is_some_and(|id| wanted.contains(&id)))
                .map(known_members)
                .collect();
            if !calls.is_empty() {
                message.set("tool_calls", raw(&calls));
                return Some(message);
            }
            message.remove("tool_calls");
            says_something(&message).then_some(message)
        };
        items.into_iter().filter_map(keep).collect()
    }

    fn words_only(&self, mut items: Vec<Object>) -> Vec<Object> {
        items.iter_mut().for_each(|message| message.keep(&["role", "content", "refusal", "name"]));
        items.retain(says_something);
        items
    }

    fn result(&self, call: &HistoryCall, text: &str) -> Object {
        Object::with(vec![("role", raw(&"tool")), ("tool_call_id", raw(&call.id)), ("content", raw(&text))])
    }

    fn picture(&self, label: &str, media: &str, base64: &str) -> Object {
        let content = json!([
            { "type": "text", "text": label },
            { "type": "image_url", "image_url": { "url": format!("data:{media};base64,{base64}") } },
        ]);
        Object::with(vec![("role", raw(&"user")), ("content", raw(&content))])
    }

    fn without_image(&self, part: &Object, words: &str) -> Option<Object> {
        super::typed(part, "image_url")
            .then(|| Object::with(vec![("type", raw(&"text")), ("text", raw(&words))]))
    }

    fn tool_names(&self, tool: &Object) -> Vec<String> {
        let within = ["function", "custom"].into_iter().find(|key| tool.get(key).is_some());
        let name = within
            .and_then(|key| tool.object(key))
            .and_then(|function| function.text("name"))
            .or_else(|| tool.text("type"));
        vec![name.unwrap_or_default()]
    }
}

/// The system message of a body, where it says this and is the only one: its parts may be marked
/// for a provider's cache.
fn own_system(body: &Object, system: &str) -> Option<Object> {
    let mut own = body.objects("messages")?.into_iter().filter(is_system);
    let (mut message, None) = (own.next()?, own.next()) else { return None };
    message.keep(&["role", "content", "name"]);
    (words(message.get("content")) == system).then_some(message)
}

fn made_system(system: &str) -> Object {
    Object::with(vec![("role", raw(&"system")), ("content", raw(&system))])
}

fn is_system(message: &Object) -> bool {
    matches!(message.text("role").as_deref(), Some("system" | "developer"))
}

fn turn(message: Object) -> HistoryTurn {
    match message.text("role").as_deref() {
        Some("system" | "developer") => HistoryTurn::System(words(message.get("content"))),
        Some("user") => HistoryTurn::User(message),
        Some("assistant") => {
            let calls = message.objects("tool_calls").unwrap_or_default().iter().map(call).collect();
            HistoryTurn::Model { items: vec![message], calls }
        }
        Some("tool") => {
            let id = message.text("tool_call_id").unwrap_or_default();
            HistoryTurn::Results { results: vec![(id, message)], beside: None }
        }
        _ => HistoryTurn::Other(message),
    }
}

fn call(call: &Object) -> HistoryCall {
    HistoryCall {
        id: call.text("id").unwrap_or_default(),
        stored: stored(call),
        custom: call.get("custom").is_some(),
    }
}

/// A call as the API wants it. Signatures that providers put beside it stay.
fn known_members(mut call: Object) -> Object {
    // A stored call may have what was asked as a whole: `{ id, request: { function }, state, result }`.
    let asked = call.object("request");
    if let (None, Some(function)) = (call.get("function"), asked.as_ref().and_then(|it| it.get("function"))) {
        let function = raw(&function);
        call.set("function", function);
    }
    call.keep(&["id", "type", "function", "custom", "extra_content"]);
    if call.get("type").is_none() {
        call.set("type", raw(&"function"));
    }
    if let Some(mut function) = call.object("function")
        && let Some(text) = arguments(function.get("arguments"))
    {
        function.set("arguments", raw(&text));
        call.set("function", raw(&function));
    }
    call
}

fn says_something(message: &Object) -> bool {
    ["content", "refusal", "function_call", "audio"]
        .iter()
        .any(|key| message.get(key).is_some_and(|value| !is_nothing(value)))
}

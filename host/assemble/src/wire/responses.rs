//! OpenAI Responses. What the model does is a row of items.

use std::collections::BTreeSet;

use leafgate_api::PICKED;
use leafgate_api::responses::{CUSTOM, CallItem, FUNCTION, is_call, is_result};
use serde_json::json;

use super::{RequestWire, arguments, list, stored, words};
use crate::error::AssembleError;
use crate::history::{HistoryCall, HistoryTurn};
use crate::json::{Object, is_nothing, raw, text};

pub(super) struct ResponsesRequests;

impl RequestWire for ResponsesRequests {
    fn single(&self) -> &'static [&'static str] {
        &["input", "instructions", "tools", "model", PICKED]
    }

    fn take(&self, body: &mut Object) -> Result<Vec<HistoryTurn>, AssembleError> {
        let system = body.text("instructions").filter(|text| !text.is_empty());
        let mut turns: Vec<HistoryTurn> = system.map(HistoryTurn::System).into_iter().collect();
        match body.get("input").and_then(text) {
            Some(words) => turns.push(HistoryTurn::User(self.said(&words))),
            None => list(body, "input")?.into_iter().for_each(|item| take(item, &mut turns)),
        }
        Ok(turns)
    }

    fn is_loose(&self, body: &Object) -> bool {
        ["previous_response_id", "conversation"]
            .iter()
            .any(|key| body.get(key).is_some_and(|id| !is_nothing(id)))
    }

    fn put(&self, body: &mut Object, system: Option<&str>, items: Vec<Object>) {
        if let Some(system) = system {
            body.set("instructions", raw(&system));
        }
        body.set("input", raw(&items));
    }

    fn with_calls(&self, items: Vec<Object>, wanted: &BTreeSet<String>) -> Vec<Object> {
        let mut kept = Vec::new();
        // Reasoning is refused without what followed from it.
        let mut reasoning = Vec::new();
        for item in items {
            match item.text("type").as_deref().and_then(CallItem::of_kind) {
                _ if item.text("type").as_deref() == Some("reasoning") => reasoning.push(item),
                Some(call) if item.text("call_id").is_some_and(|id| wanted.contains(&id)) => {
                    kept.append(&mut reasoning);
                    kept.push(known_members(item, call));
                }
                Some(_) => reasoning.clear(),
                None => {
                    kept.append(&mut reasoning);
                    kept.push(item);
                }
            }
        }
        kept
    }

    fn words_only(&self, mut items: Vec<Object>) -> Vec<Object> {
        items.retain(|item| item.text("role").is_some());
        items
    }

    fn result(&self, call: &HistoryCall, text: &str) -> Object {
        let kind = if call.custom { CUSTOM } else { FUNCTION }.result;
        Object::with(vec![("type", raw(&kind)), ("call_id", raw(&call.id)), ("output", raw(&text))])
    }

    fn said(&self, text: &str) -> Object {
        let content = json!([{ "type": "input_text", "text": text }]);
        Object::with(vec![("type", raw(&"message")), ("role", raw(&"user")), ("content", raw(&content))])
    }

    fn picture(&self, label: &str, media: &str, base64: &str) -> Object {
        let content = json!([
            { "type": "input_text", "text": label },
            { "type": "input_image", "image_url": format!("data:{media};base64,{base64}") },
        ]);
        Object::with(vec![("type", raw(&"message")), ("role", raw(&"user")), ("content", raw(&content))])
    }

    fn without_image(&self, part: &Object, words: &str) -> Option<Object> {
        super::typed(part, "input_image")
            .then(|| Object::with(vec![("type", raw(&"input_text")), ("text", raw(&words))]))
    }

    fn tool_names(&self, tool: &Object) -> Vec<String> {
        vec![tool.text("name").or_else(|| tool.text("type")).unwrap_or_default()]
    }

    /// <https://platform.openai.com/docs/api-reference/responses/input-tokens>.
    fn counted(&self) -> Option<&'static [&'static str]> {
        Some(&[
            "conversation",
            "parallel_tool_calls",
            "previous_response_id",
            "reasoning",
            "text",
            "truncation",
        ])
    }
}

/// Adds an item to the turn that it belongs to.
fn take(item: Object, turns: &mut Vec<HistoryTurn>) {
    let kind = item.text("type").unwrap_or_else(|| "message".to_owned());
    let role = item.text("role");
    match (kind.as_str(), role.as_deref()) {
        ("message", Some("system" | "developer")) => {
            turns.push(HistoryTurn::System(words(item.get("content"))))
        }
        ("message", Some("user")) => turns.push(HistoryTurn::User(item)),
        ("message", Some("assistant")) | ("reasoning", _) => model(item, None, turns),
        (kind, _) if is_result(kind) => {
            let result = (item.text("call_id").unwrap_or_default(), item);
            match turns.last_mut() {
                Some(HistoryTurn::Results { results, .. }) => results.push(result),
                _ => turns.push(HistoryTurn::Results { results: vec![result], beside: None }),
            }
        }
        (kind, _) if is_call(kind) => {
            let call = CallItem::of_kind(kind).map(|call| HistoryCall {
                id: item.text("call_id").unwrap_or_default(),
                stored: stored(&item),
                custom: call == CUSTOM,
            });
            model(item, call, turns);
        }
        _ => turns.push(HistoryTurn::Other(item)),
    }
}

fn model(item: Object, call: Option<HistoryCall>, turns: &mut Vec<HistoryTurn>) {
    if !matches!(turns.last(), Some(HistoryTurn::Model { .. })) {
        turns.push(HistoryTurn::Model { items: Vec::new(), calls: Vec::new() });
    }
    if let Some(HistoryTurn::Model { items, calls }) = turns.last_mut() {
        items.push(item);
        calls.extend(call);
    }
}

fn known_members(mut item: Object, call: CallItem) -> Object {
    let key = call.arguments;
    item.keep(&["type", "id", "status", "call_id", "name", "namespace", key]);
    if call == FUNCTION
        && let Some(text) = arguments(item.get(key))
    {
        item.set(key, raw(&text));
    }
    item
}

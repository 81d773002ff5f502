//! Anthropic Messages. Results of calls are blocks of a user's message.

use std::collections::BTreeSet;

use leafgate_api::PICKED;
use serde_json::json;

use super::{RequestWire, filtered, list, stored, typed, user, words};
use crate::error::AssembleError;
use crate::history::{HistoryCall, HistoryTurn};
use crate::json::{Object, is_nothing, raw};

pub(super) struct MessagesRequests;

impl RequestWire for MessagesRequests {
    fn single(&self) -> &'static [&'static str] {
        &["messages", "system", "tools", "model", PICKED]
    }

    fn take(&self, body: &mut Object) -> Result<Vec<HistoryTurn>, AssembleError> {
        let system = words(body.get("system"));
        let mut turns: Vec<HistoryTurn> =
            (!system.is_empty()).then_some(HistoryTurn::System(system)).into_iter().collect();
        turns.extend(list(body, "messages")?.into_iter().map(turn));
        Ok(turns)
    }

    fn put(&self, body: &mut Object, system: Option<&str>, items: Vec<Object>) {
        // Blocks of a prompt may be marked for the provider's cache.
        if let Some(system) = system.filter(|system| words(body.get("system")) != *system) {
            body.set("system", raw(&system));
        }
        body.set("messages", raw(&items));
    }

    fn with_calls(&self, items: Vec<Object>, wanted: &BTreeSet<String>) -> Vec<Object> {
        filtered(items, "content", is_call, |block| match is_call(&block) {
            true => {
                let stays = block.text("id").is_some_and(|id| wanted.contains(&id));
                stays.then(|| known_members(block))
            }
            false => Some(block),
        })
    }

    fn words_only(&self, items: Vec<Object>) -> Vec<Object> {
        filtered(items, "content", is_call, |block| typed(&block, "text").then_some(block))
    }

    fn result(&self, call: &HistoryCall, text: &str) -> Object {
        Object::with(vec![
            ("type", raw(&"tool_result")),
            ("tool_use_id", raw(&call.id)),
            ("content", raw(&text)),
        ])
    }

    fn results(&self, blocks: Vec<Object>) -> Vec<Object> {
        let message = Object::with(vec![("role", raw(&"user")), ("content", raw(&blocks))]);
        (!blocks.is_empty()).then_some(message).into_iter().collect()
    }

    fn picture(&self, label: &str, media: &str, base64: &str) -> Object {
        let content = json!([
            { "type": "text", "text": label },
            { "type": "image", "source": { "type": "base64", "media_type": media, "data": base64 } },
        ]);
        Object::with(vec![("role", raw(&"user")), ("content", raw(&content))])
    }

    fn without_image(&self, part: &Object, words: &str) -> Option<Object> {
        typed(part, "image").then(|| Object::with(vec![("type", raw(&"text")), ("text", raw(&words))]))
    }

    fn tool_names(&self, tool: &Object) -> Vec<String> {
        vec![tool.text("name").unwrap_or_default()]
    }

    /// <https://platform.claude.com/docs/en/api/messages-count-tokens>; any other is refused there.
    fn counted(&self) -> Option<&'static [&'static str]> {
        Some(&["cache_control", "context_management", "mcp_servers", "output_config", "speed", "thinking"])
    }
}

fn turn(message: Object) -> HistoryTurn {
    match message.text("role").as_deref() {
        Some("assistant") => {
            let blocks = message.objects("content").unwrap_or_default();
            let uses = blocks.iter().filter(|block| is_call(block));
            let call = |block: &Object| HistoryCall {
                id: block.text("id").unwrap_or_default(),
                stored: stored(block),
                custom: false,
            };
            HistoryTurn::Model { calls: uses.map(call).collect(), items: vec![message] }
        }
        Some("user") => {
            let id = |block: &Object| block.text("tool_use_id").unwrap_or_default();
            user(message, "content", |block| typed(block, "tool_result"), id)
        }
        Some("system") => HistoryTurn::System(words(message.get("content"))),
        _ => HistoryTurn::Other(message),
    }
}

fn is_call(block: &Object) -> bool {
    typed(block, "tool_use")
}

fn known_members(mut block: Object) -> Object {
    block.keep(&["type", "id", "name", "input", "cache_control", "caller"]);
    // The input is an object here; some clients keep it as text.
    let input = match block.text("input") {
        Some(text) => Some(serde_json::from_str::<Object>(&text).unwrap_or_default()),
        None => block.get("input").is_none_or(is_nothing).then(Object::default),
    };
    if let Some(input) = input {
        block.set("input", raw(&input));
    }
    block
}

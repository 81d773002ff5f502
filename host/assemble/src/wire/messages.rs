//! Anthropic Messages. Results of calls are blocks of a user's message.

use std::collections::BTreeSet;

use serde_json::json;

use super::{RequestWire, list, stored, words};
use crate::error::AssembleError;
use crate::history::{CallOutcome, HistoryCall, HistoryTurn};
use crate::json::{Object, is_nothing, raw};
use crate::tools;

pub(super) struct MessagesRequests;

impl RequestWire for MessagesRequests {
    fn single(&self) -> &'static [&'static str] {
        &["messages", "system", "tools", "model", "leafgate"]
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
        filtered(items, |block| match block.text("type").as_deref() {
            Some("tool_use") => {
                let stays = block.text("id").is_some_and(|id| wanted.contains(&id));
                stays.then(|| known_members(block))
            }
            _ => Some(block),
        })
    }

    fn words_only(&self, items: Vec<Object>) -> Vec<Object> {
        filtered(items, |block| (block.text("type").as_deref() == Some("text")).then_some(block))
    }

    fn results(&self, outcomes: Vec<(String, CallOutcome)>) -> Vec<Object> {
        let block = |(id, outcome): (String, CallOutcome)| match outcome {
            CallOutcome::Sent(block) => block,
            CallOutcome::Stored { text, .. } => Object::with(vec![
                ("type", raw(&"tool_result")),
                ("tool_use_id", raw(&id)),
                ("content", raw(&text)),
            ]),
        };
        let blocks: Vec<Object> = outcomes.into_iter().map(block).collect();
        let message = Object::with(vec![("role", raw(&"user")), ("content", raw(&blocks))]);
        (!blocks.is_empty()).then_some(message).into_iter().collect()
    }

    fn said(&self, text: &str) -> Object {
        Object::with(vec![("role", raw(&"user")), ("content", raw(&text))])
    }

    fn picture(&self, label: &str, media: &str, base64: &str) -> Object {
        let content = json!([
            { "type": "text", "text": label },
            { "type": "image", "source": { "type": "base64", "media_type": media, "data": base64 } },
        ]);
        Object::with(vec![("role", raw(&"user")), ("content", raw(&content))])
    }

    fn without_image(&self, part: &Object, words: &str) -> Option<Object> {
        super::typed(part, "image").then(|| Object::with(vec![("type", raw(&"text")), ("text", raw(&words))]))
    }

    fn tool_names(&self, tool: &Object) -> Vec<String> {
        vec![tool.text("name").unwrap_or_default()]
    }

    /// <https://platform.claude.com/docs/en/api/messages-count-tokens>; any other is refused there.
    fn counted(&self) -> Option<&'static [&'static str]> {
        Some(&["cache_control", "context_management", "mcp_servers", "output_config", "speed", "thinking"])
    }

    fn normalise(&self, tool: &mut Object) -> bool {
        tools::normalise(tool, "input_schema")
    }
}

fn turn(message: Object) -> HistoryTurn {
    match message.text("role").as_deref() {
        Some("assistant") => {
            let blocks = message.objects("content").unwrap_or_default();
            let uses = blocks.iter().filter(|block| block.text("type").as_deref() == Some("tool_use"));
            let call = |block: &Object| HistoryCall {
                id: block.text("id").unwrap_or_default(),
                stored: stored(block),
                custom: false,
            };
            HistoryTurn::Model { calls: uses.map(call).collect(), items: vec![message] }
        }
        Some("user") => user(message),
        Some("system") => HistoryTurn::System(words(message.get("content"))),
        _ => HistoryTurn::Other(message),
    }
}

fn user(mut message: Object) -> HistoryTurn {
    let blocks = message.objects("content").unwrap_or_default();
    let is_result = |block: &Object| block.text("type").as_deref() == Some("tool_result");
    let (results, beside): (Vec<Object>, Vec<Object>) = blocks.into_iter().partition(is_result);
    if results.is_empty() {
        return HistoryTurn::User(message);
    }
    let results = results.into_iter().map(|block| (block.text("tool_use_id").unwrap_or_default(), block));
    let results = results.collect();
    if beside.is_empty() {
        return HistoryTurn::Results { results, beside: None };
    }
    message.set("content", raw(&beside));
    HistoryTurn::Results { results, beside: Some(message) }
}

/// Messages with some of their blocks; those without any are left out.
fn filtered(items: Vec<Object>, keep: impl Fn(Object) -> Option<Object>) -> Vec<Object> {
    let filter = |mut message: Object| {
        if let Some(blocks) = message.objects("content") {
            let before = blocks.len();
            let blocks: Vec<Object> = blocks.into_iter().filter_map(&keep).collect();
            if blocks.is_empty() {
                return None;
            }
            // What did not change stays as it was spelled.
            if blocks.len() < before
                || blocks.iter().any(|block| block.text("type").as_deref() == Some("tool_use"))
            {
                message.set("content", raw(&blocks));
            }
        }
        message.get("content").is_some_and(|content| !is_nothing(content)).then_some(message)
    };
    items.into_iter().filter_map(filter).collect()
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

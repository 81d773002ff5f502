//! Files to test on: recordings where they are at hand, and values written down in a test.

use std::sync::Arc;

use leafgate_api::Api;
use leafgate_chat::{Losses, RawMessage, messages, raw_json, to_wire};
use leafgate_harness::recordings;
use leafgate_tree::{Document, Draft, Format, Limits};
use serde_json::Value;

pub(crate) fn parse(body: &str, format: Format) -> Document {
    Document::parse(body.to_owned().into(), format, &Limits::default()).unwrap()
}

pub(crate) fn export(value: &Value) -> Document {
    parse(&value.to_string(), Format::VscodeChat)
}

pub(crate) fn draft(value: &Value) -> Draft {
    Draft::new(Arc::new(export(value)))
}

/// The messages of a value, and what was lost in reading them.
pub(crate) fn read(value: &Value) -> (Vec<RawMessage>, Losses) {
    let read = messages(&parse(&value.to_string(), Format::Generic), None).unwrap();
    (read.messages, read.losses)
}

/// What an API would be sent for raw messages, and the pointers of what was lost on the way.
pub(crate) fn wire(messages: &Value, api: Api) -> (Value, Vec<String>) {
    let (messages, mut losses) = read(messages);
    let body = to_wire(&messages, api, &mut losses).unwrap();
    (serde_json::from_str(&body.pretty()).unwrap(), pointers(&losses))
}

pub(crate) fn raw(value: &Value) -> (Value, Vec<String>) {
    let (messages, losses) = read(value);
    (serde_json::from_str(&raw_json(&messages).pretty()).unwrap(), pointers(&losses))
}

fn pointers(losses: &Losses) -> Vec<String> {
    losses.all().iter().map(|loss| loss.pointer.clone()).collect()
}

/// The text of a recording outside the repository, of which these tests know what is in it; `None`
/// where it is not there.
pub(crate) fn recording(name: &str) -> Option<String> {
    recordings::outside(name)
}

/// The exports that every clone has, and those outside the repository.
pub(crate) fn exports() -> Vec<(String, String)> {
    let read = |file: recordings::File| (file.name, String::from_utf8(file.body).unwrap());
    recordings::read("vscode-chat-export", ".json").into_iter().map(read).collect()
}

pub(crate) const EXPORTS: [&str; 7] = [
    "dealenx-completed",
    "dealenx-first.2turns",
    "dealenx-in-progress",
    "dealenx-mcp-success",
    "dealenx-parse-export",
    "p47-services",
    "timcooking-demo",
];

pub(crate) fn recorded_export(name: &str) -> Option<String> {
    recording(&format!("vscode-chat-export/{name}.json"))
}

//! How each API speaks, written down a second time: events for tests, and what a client hears in a
//! stream.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// An event with more of the text of a choice, item or block.
pub(super) fn more(api: &str, place: usize, text: &str) -> String {
    match api {
        "responses" => event(
            "response.output_text.delta",
            json!({ "item_id": format!("i{place}"), "output_index": place, "content_index": 0, "delta": text, "sequence_number": 7 }),
        ),
        "messages" => event(
            "content_block_delta",
            json!({ "index": place, "delta": { "type": "text_delta", "text": text } }),
        ),
        "gemini-stream" => gemini(place, &json!({ "text": text })),
        _ => chat(place, "content", text),
    }
}

/// An answer of Gemini with one part of one candidate.
pub(super) fn gemini(index: usize, part: &Value) -> String {
    let candidate = json!({ "content": { "parts": [part], "role": "model" }, "index": index });
    format!("data: {}\n\n", json!({ "candidates": [candidate], "modelVersion": "m", "responseId": "r" }))
}

/// A chunk of a chat with one field of one choice.
pub(super) fn chat(index: usize, field: &str, text: &str) -> String {
    let chunk = json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m",
        "choices": [{ "index": index, "delta": { field: text }, "finish_reason": null }],
    });
    format!("data: {chunk}\n\n")
}

/// The events that end a text, which some APIs then repeat whole.
pub(super) fn end(api: &str, place: usize, whole: &str) -> String {
    let part = json!({ "type": "output_text", "text": whole });
    match api {
        "responses" => {
            event(
                "response.output_text.done",
                json!({ "item_id": format!("i{place}"), "output_index": place, "content_index": 0, "text": whole }),
            ) + &event(
                "response.content_part.done",
                json!({ "output_index": place, "content_index": 0, "part": part }),
            ) + &event(
                "response.output_item.done",
                json!({ "output_index": place, "item": { "type": "message", "content": [part] } }),
            )
        }
        "messages" => event("content_block_stop", json!({ "index": place })),
        "gemini-stream" => {
            format!("data: {}\n\n", json!({ "candidates": [{ "index": place, "finishReason": "STOP" }] }))
        }
        _ => format!(
            "data: {}\n\n",
            json!({ "id": "c1", "choices": [{ "index": place, "delta": {}, "finish_reason": "stop" }] })
        ),
    }
}

/// An event that bears its type twice.
pub(super) fn event(kind: &str, mut data: Value) -> String {
    data["type"] = kind.into();
    format!("event: {kind}\ndata: {data}\n\n")
}

/// What a client makes of a stream: the texts that it puts together from deltas, by place and kind;
/// and those that were repeated whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Heard {
    pub(super) spoken: BTreeMap<(u64, String), String>,
    pub(super) repeated: Vec<String>,
}

pub(super) fn heard(stream: &str) -> Heard {
    let mut heard = Heard::default();
    for line in stream.split(['\n', '\r']) {
        let Some(data) = line.strip_prefix("data:").map(str::trim) else { continue };
        let Ok(event) = serde_json::from_str::<Value>(data) else { continue };
        heard.event(&event);
    }
    heard.spoken.retain(|_, text| !text.is_empty());
    heard
}

impl Heard {
    fn event(&mut self, event: &Value) {
        for choice in event["choices"].as_array().into_iter().flatten() {
            for (field, text) in choice["delta"].as_object().into_iter().flatten() {
                self.hear(&choice["index"], field, text);
            }
        }
        for candidate in event["candidates"].as_array().into_iter().flatten() {
            for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
                self.hear(&candidate["index"], "text", &part["text"]);
            }
        }
        match event["type"].as_str().unwrap_or_default() {
            "content_block_delta" => self.hear(&event["index"], "text", &event["delta"]["text"]),
            kind if kind.ends_with("_text.delta") => {
                self.hear(&event["output_index"], "text", &event["delta"])
            }
            kind if kind.ends_with("_text.done") => {
                self.repeated.extend(event["text"].as_str().map(str::to_owned))
            }
            _ => self.parts(event),
        }
    }

    fn hear(&mut self, place: &Value, kind: &str, text: &Value) {
        let Some(text) = text.as_str() else { return };
        let key = (place.as_u64().unwrap_or(0), kind.to_owned());
        self.spoken.entry(key).or_default().push_str(text);
    }

    /// Parts with text, wherever they stand.
    fn parts(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                if value["type"] == "output_text" {
                    self.repeated
                        .extend(value["text"].as_str().filter(|text| !text.is_empty()).map(str::to_owned));
                }
                members.values().for_each(|member| self.parts(member));
            }
            Value::Array(elements) => elements.iter().for_each(|element| self.parts(element)),
            _ => {}
        }
    }
}

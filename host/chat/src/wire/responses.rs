//! The OpenAI Responses API, as Copilot's client builds its `input`.

use super::{BLANK, BREAKPOINT, DOCUMENT, NO_CALL_ID, NOT_USABLE, is_blank, note_envelope, note_joined};
use crate::json::Json;
use crate::loss::Losses;
use crate::raw::{Meaning, PartKind, RawMessage, RawPart, RawRole, Thinking, optional, texts};

/// The API wants an id on every message of the model and checks none; the client sends this one.
const MESSAGE_ID: &str = "msg_123";

/// What stands before images that a tool gave: a result is text alone, so they follow as a message
/// of the user.
const TOOL_IMAGES: &str = "Image associated with the above tool call:";

pub(super) fn body(messages: &[RawMessage], losses: &mut Losses) -> Json {
    let (messages, previous) = behind_marker(messages, losses);
    let mut input = Vec::new();
    for message in messages {
        note_envelope(message, losses);
        match message.role {
            RawRole::System => input.push(said("system", message, losses)),
            RawRole::User => input.push(said("user", message, losses)),
            RawRole::Assistant => assistant(message, &mut input, losses),
            RawRole::Tool => tool(message, &mut input, losses),
        }
    }
    let mut members = vec![("input", Json::Array(input))];
    optional(&mut members, "previous_response_id", previous.as_ref());
    Json::Object(members)
}

/// The messages behind the last marker of a response that the server stored, and that response's
/// id.
fn behind_marker<'m>(messages: &'m [RawMessage], losses: &mut Losses) -> (&'m [RawMessage], Option<String>) {
    let found = messages.iter().enumerate().rev().find_map(|(at, message)| {
        let marker = message.content.iter().rev().find_map(|part| match &part.kind {
            PartKind::Opaque { meaning: Meaning::StatefulMarker(marker), .. } => Some(marker),
            _ => None,
        })?;
        Some((at, marker.clone()))
    });
    let Some((at, marker)) = found else { return (messages, None) };
    for message in &messages[..=at] {
        losses.note(&message.at, "cut: the server remembers everything up to `previous_response_id`");
    }
    (&messages[at + 1..], Some(marker))
}

fn said(role: &'static str, message: &RawMessage, losses: &mut Losses) -> Json {
    let content = message.content.iter().filter_map(|part| self::part(part, losses)).collect();
    Json::Object(vec![("role", role.into()), ("content", Json::Array(content))])
}

fn part(part: &RawPart, losses: &mut Losses) -> Option<Json> {
    let dropped = match &part.kind {
        PartKind::Text(text) => {
            return Some(Json::of("input_text", vec![("text", Json::text(text))]));
        }
        PartKind::Image { url, detail, .. } => return Some(image(url, detail.as_deref())),
        PartKind::Opaque { value, meaning: Meaning::ResponsesInput, .. } => {
            return Some(Json::Verbatim(value.clone()));
        }
        PartKind::Opaque { .. } => NOT_USABLE,
        PartKind::CacheBreakpoint { .. } => BREAKPOINT,
        PartKind::Document { .. } => DOCUMENT,
    };
    losses.note(&part.at, dropped);
    None
}

fn image(url: &str, detail: Option<&str>) -> Json {
    Json::of("input_image", vec![("detail", detail.unwrap_or("auto").into()), ("image_url", url.into())])
}

/// Compacted context, reasoning, words, calls: each an item of its own, in this order.
fn assistant(message: &RawMessage, input: &mut Vec<Json>, losses: &mut Losses) {
    let (mut compacted, mut reasoned, mut words, mut phase) = (Vec::new(), Vec::new(), Vec::new(), None);
    for part in &message.content {
        match &part.kind {
            PartKind::Text(text) if is_blank(text) => losses.note(&part.at, BLANK),
            PartKind::Text(text) => {
                let none = Json::Array(Vec::new());
                words.push(Json::of("output_text", vec![("text", Json::text(text)), ("annotations", none)]));
            }
            PartKind::Opaque { meaning: Meaning::Compaction(item), .. } => {
                compacted.push(Json::Verbatim(item.clone()));
            }
            PartKind::Opaque { meaning: Meaning::Thinking(thinking), .. } => {
                reasoned.push(reasoning(part, thinking, losses));
            }
            PartKind::Opaque { meaning: Meaning::Phase(name), .. } => phase = Some(name),
            PartKind::CacheBreakpoint { .. } => losses.note(&part.at, BREAKPOINT),
            _ => losses.note(&part.at, NOT_USABLE),
        }
    }
    input.append(&mut compacted);
    input.append(&mut reasoned);
    if !words.is_empty() {
        let mut members = vec![
            ("role", "assistant".into()),
            ("id", MESSAGE_ID.into()),
            ("status", "completed".into()),
            ("content", Json::Array(words)),
        ];
        optional(&mut members, "phase", phase);
        input.push(Json::of("message", members));
    }
    input.extend(message.calls.iter().map(|call| {
        let [name, arguments, id] = [&call.name, &call.arguments, &call.id].map(Json::text);
        Json::of("function_call", vec![("name", name), ("arguments", arguments), ("call_id", id)])
    }));
}

fn reasoning(part: &RawPart, thinking: &Thinking, losses: &mut Losses) -> Json {
    if !thinking.text.is_empty() {
        losses.note(&part.at, "reasoning is sent encrypted, without its words");
    }
    let mut members = Vec::new();
    optional(&mut members, "id", thinking.id.as_ref());
    members.push(("summary", Json::Array(Vec::new())));
    optional(&mut members, "encrypted_content", thinking.encrypted.as_ref());
    Json::of("reasoning", members)
}

fn tool(message: &RawMessage, input: &mut Vec<Json>, losses: &mut Losses) {
    let Some(call_id) = &message.call_id else { return losses.note(&message.at, NO_CALL_ID) };
    note_joined(message, losses);
    let mut images = Vec::new();
    for part in &message.content {
        match &part.kind {
            PartKind::Text(_) => {}
            PartKind::Image { url, detail, .. } => {
                losses.note(&part.at, "an image in a result becomes a message of the user behind it");
                images.push(image(url, detail.as_deref()));
            }
            PartKind::CacheBreakpoint { .. } => losses.note(&part.at, BREAKPOINT),
            PartKind::Document { .. } => losses.note(&part.at, DOCUMENT),
            PartKind::Opaque { .. } => losses.note(&part.at, NOT_USABLE),
        }
    }
    let output: String = texts(&message.content).collect();
    let result = vec![("call_id", Json::text(call_id)), ("output", Json::text(output))];
    input.push(Json::of("function_call_output", result));
    if !images.is_empty() {
        images.insert(0, Json::of("input_text", vec![("text", TOOL_IMAGES.into())]));
        input.push(Json::Object(vec![("role", "user".into()), ("content", Json::Array(images))]));
    }
}

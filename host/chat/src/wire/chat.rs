//! OpenAI chat completions, as prompt-tsx converts raw messages and Copilot's client then changes
//! them: texts lose the white space at their ends, and a cache breakpoint becomes a mark of the
//! whole message.

use super::{DOCUMENT, NAME, NOT_USABLE, is_js_space, note_joined};
use crate::json::Json;
use crate::loss::Losses;
use crate::openai::OPENAI_SCOPE;
use crate::raw::{Meaning, PartKind, RawMessage, RawPart, RawRole, call_json, optional, texts};

pub(super) fn body(messages: &[RawMessage], losses: &mut Losses) -> Json {
    let messages = messages.iter().map(|message| self::message(message, losses)).collect();
    Json::Object(vec![("messages", Json::Array(messages))])
}

fn message(message: &RawMessage, losses: &mut Losses) -> Json {
    let (role, content) = match message.role {
        RawRole::System => ("system", joined(message, losses)),
        RawRole::Assistant => ("assistant", joined(message, losses)),
        RawRole::User => ("user", mixed(message, losses)),
        RawRole::Tool => ("tool", mixed(message, losses)),
    };
    let mut members = vec![("role", Json::from(role)), ("content", content)];
    if message.role == RawRole::Tool {
        if message.name.is_some() {
            losses.note(format!("{}/name", message.at), NAME);
        }
        match &message.call_id {
            Some(id) => members.push(("tool_call_id", Json::text(id))),
            None => losses.note(&message.at, "a result that names no call is sent without `tool_call_id`"),
        }
    } else {
        optional(&mut members, "name", message.name.as_ref());
    }
    calls(message, &mut members, losses);
    for (key, value) in &message.carried {
        members.push((key, Json::Verbatim(value.clone())));
    }
    if has_breakpoint(message, losses) {
        members.push(("copilot_cache_control", Json::of("ephemeral", Vec::new())));
    }
    Json::Object(members)
}

fn calls(message: &RawMessage, members: &mut Vec<(&'static str, Json)>, losses: &mut Losses) {
    if message.role == RawRole::Assistant && !message.calls.is_empty() {
        members.push(("tool_calls", Json::Array(message.calls.iter().map(call_json).collect())));
    } else {
        for call in &message.calls {
            losses.note(&call.at, "only the model makes calls");
        }
    }
}

/// The content of a system or assistant message: its texts as one string, and nothing else.
fn joined(message: &RawMessage, losses: &mut Losses) -> Json {
    note_joined(message, losses);
    for part in &message.content {
        match &part.kind {
            PartKind::Text(_) | PartKind::CacheBreakpoint { .. } => {}
            PartKind::Opaque { meaning: Meaning::Thinking(_), .. } => {
                losses.note(&part.at, "reasoning is sent by endpoints that ask for it, and by no others");
            }
            _ => losses.note(&part.at, "a system or assistant message is sent as text alone"),
        }
    }
    let text: String = texts(&message.content).collect();
    let last = message.content.iter().rfind(|part| matches!(part.kind, PartKind::Text(_)));
    trimmed(last.map_or(&message.at, |part| &part.at), &text, losses)
}

/// The content of a user or tool message: a string where it is text alone, else its parts.
fn mixed(message: &RawMessage, losses: &mut Losses) -> Json {
    if message.content.iter().all(|part| matches!(part.kind, PartKind::Text(_))) {
        return joined(message, losses);
    }
    Json::Array(message.content.iter().filter_map(|part| self::part(part, losses)).collect())
}

fn part(part: &RawPart, losses: &mut Losses) -> Option<Json> {
    let dropped = match &part.kind {
        PartKind::Text(text) => {
            return Some(Json::of("text", vec![("text", trimmed(&part.at, text, losses))]));
        }
        PartKind::Image { url, detail, media_type } => {
            let mut image = vec![("url", Json::text(url))];
            optional(&mut image, "detail", detail.as_ref());
            optional(&mut image, "media_type", media_type.as_ref());
            return Some(Json::of("image_url", vec![("image_url", Json::Object(image))]));
        }
        PartKind::Opaque { value, scope, .. } if usable(*scope) => {
            return Some(Json::Verbatim(value.clone()));
        }
        PartKind::Opaque { .. } => NOT_USABLE,
        PartKind::Document { .. } => DOCUMENT,
        // Noted with the message.
        PartKind::CacheBreakpoint { .. } => return None,
    };
    losses.note(&part.at, dropped);
    None
}

/// The bits say where a value may be used; none at all is everywhere.
fn usable(scope: Option<i64>) -> bool {
    scope.is_none_or(|scope| scope == 0 || scope & OPENAI_SCOPE != 0)
}

fn trimmed(at: &str, text: &str, losses: &mut Losses) -> Json {
    let trimmed = text.trim_end_matches(is_js_space);
    if trimmed.len() < text.len() {
        losses.note(at, "white space at the end of a text is cut");
    }
    Json::text(trimmed)
}

/// Whether the message has a cache breakpoint. Its place inside the content, and a second one, are
/// lost.
fn has_breakpoint(message: &RawMessage, losses: &mut Losses) -> bool {
    let places = message.content.iter().enumerate();
    let breakpoints: Vec<_> =
        places.filter(|(_, part)| matches!(part.kind, PartKind::CacheBreakpoint { .. })).collect();
    for (place, part) in &breakpoints {
        if place + 1 < message.content.len() {
            losses.note(&part.at, "a cache breakpoint becomes one of the whole message: its place is lost");
        }
        note_cache_type(part, losses);
    }
    !breakpoints.is_empty()
}

pub(super) fn note_cache_type(part: &RawPart, losses: &mut Losses) {
    if let PartKind::CacheBreakpoint { cache_type: Some(kind) } = &part.kind
        && kind != "ephemeral"
    {
        losses.note(&part.at, "a cache breakpoint of any type is sent as `ephemeral`");
    }
}

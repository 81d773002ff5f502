//! Writes raw messages as `Raw.ChatMessage[]`, members in the order of its type definitions.

use super::{PartKind, RawMessage, RawPart, ToolCall};
use crate::json::Json;

/// Returns the messages as `Raw.ChatMessage[]`.
pub fn to_json(messages: &[RawMessage]) -> Json {
    Json::Array(messages.iter().map(message).collect())
}

fn message(message: &RawMessage) -> Json {
    let mut members = vec![
        ("role", Json::Number(message.role.number())),
        ("content", Json::Array(message.content.iter().map(part).collect())),
    ];
    optional(&mut members, "name", message.name.as_ref());
    if !message.calls.is_empty() {
        members.push(("toolCalls", Json::Array(message.calls.iter().map(call).collect())));
    }
    optional(&mut members, "toolCallId", message.call_id.as_ref());
    for (key, value) in &message.carried {
        members.push((key, Json::Verbatim(value.clone())));
    }
    Json::Object(members)
}

fn part(part: &RawPart) -> Json {
    Json::Object(match &part.kind {
        PartKind::Text(text) => vec![("type", Json::Number(1)), ("text", Json::text(text))],
        PartKind::Image { url, detail, media_type } => {
            let mut image = vec![("url", Json::text(url))];
            optional(&mut image, "detail", detail.as_ref());
            optional(&mut image, "mediaType", media_type.as_ref());
            vec![("type", Json::Number(0)), ("imageUrl", Json::Object(image))]
        }
        PartKind::Opaque { value, scope, token_usage, .. } => {
            let mut members = vec![("type", Json::Number(2)), ("value", Json::Verbatim(value.clone()))];
            if let Some(scope) = scope {
                members.push(("scope", Json::Number(*scope)));
            }
            if let Some(usage) = token_usage {
                members.push(("tokenUsage", Json::Verbatim(usage.clone())));
            }
            members
        }
        PartKind::CacheBreakpoint { cache_type } => {
            let mut members = vec![("type", Json::Number(3))];
            optional(&mut members, "cacheType", cache_type.as_ref());
            members
        }
        PartKind::Document { data, media_type } => {
            let document = vec![("data", Json::text(data)), ("mediaType", Json::text(media_type))];
            vec![("type", Json::Number(4)), ("documentData", Json::Object(document))]
        }
    })
}

/// Returns a call, in the shape that raw messages and the OpenAI API share.
pub(crate) fn call(call: &ToolCall) -> Json {
    let function = vec![("name", Json::text(&call.name)), ("arguments", Json::text(&call.arguments))];
    let id = ("id", Json::text(&call.id));
    Json::Object(vec![id, ("type", "function".into()), ("function", Json::Object(function))])
}

pub(crate) fn optional(members: &mut Vec<(&'static str, Json)>, key: &'static str, text: Option<&String>) {
    if let Some(text) = text {
        members.push((key, Json::text(text)));
    }
}

//! OpenAI chat messages as raw messages.
//!
//! Mapped: the roles `system`, `developer`, `user`, `assistant` and `tool`; content as a string or
//! as parts; `name`, `tool_calls`, `tool_call_id`; `image_url` as an image, other parts as opaque
//! parts that only OpenAI outputs may have; `copilot_cache_control` as a cache breakpoint at the
//! end. Everything else is noted.

use crate::loss::{InputError, Losses};
use crate::node::JsonView;
use crate::raw::{self, CARRIED, Meaning, PartKind, RawMessage, RawPart, RawRole, ToolCall};

type Read<T> = Result<T, InputError>;

/// The bit of [`PartKind::Opaque`]'s scope that stands for OpenAI's outputs.
pub(crate) const OPENAI_SCOPE: i64 = 2;

/// Reads one message. `None`: raw messages have no such role.
pub(crate) fn message(node: JsonView<'_>, losses: &mut Losses) -> Read<Option<RawMessage>> {
    if !node.is_object() {
        return Err(InputError::at(node, "a message must be an object"));
    }
    let Some(role) = role(node, losses)? else { return Ok(None) };
    let mut message = RawMessage::new(node.pointer(), role, content(node, losses)?);
    for (key, member) in node.members() {
        match &*key {
            "role" | "content" => {}
            "name" => message.name = losses.text(Some(member)),
            "tool_call_id" => message.call_id = losses.text(Some(member)),
            "tool_calls" => message.calls = calls(member, losses)?,
            "copilot_cache_control" => message.content.push(breakpoint(member)),
            key => match CARRIED.iter().find(|carried| **carried == key) {
                Some(carried) => message.carried.push((carried, member.verbatim().to_owned())),
                None if member.is_null() => {}
                None => losses.note(member.pointer(), "a raw message has no place for this member"),
            },
        }
    }
    Ok(Some(message))
}

fn role(node: JsonView<'_>, losses: &mut Losses) -> Read<Option<RawRole>> {
    let role = node.get("role").ok_or_else(|| InputError::at(node, "a message must have a `role`"))?;
    let word = role.text().ok_or_else(|| {
        InputError::at(role, "the role is a string in OpenAI chat messages, and these began as such")
    })?;
    Ok(match &*word {
        "system" => Some(RawRole::System),
        "user" => Some(RawRole::User),
        "assistant" => Some(RawRole::Assistant),
        "tool" => Some(RawRole::Tool),
        "developer" => {
            losses.note(role.pointer(), "`developer` becomes the system role: raw messages have no other");
            Some(RawRole::System)
        }
        _ => {
            losses.note(node.pointer(), "raw messages have no such role, so the message is left out");
            None
        }
    })
}

fn content(node: JsonView<'_>, losses: &mut Losses) -> Read<Vec<RawPart>> {
    let Some(content) = node.get_some("content") else { return Ok(Vec::new()) };
    if let Some(text) = losses.text(Some(content)) {
        return Ok(vec![RawPart::text(content.pointer(), text)]);
    }
    if !content.is_array() {
        return Err(InputError::at(content, "the content of a message is a string or an array of parts"));
    }
    content.items().map(|part| self::part(part, losses)).collect()
}

fn part(node: JsonView<'_>, losses: &mut Losses) -> Read<RawPart> {
    if !node.is_object() {
        return Err(InputError::at(node, "a part of a message's content must be an object"));
    }
    let kind = match node.get_text("type").as_deref() {
        Some("text") => losses.text(node.get("text")).map(PartKind::Text),
        Some("image_url") => node.get("image_url").and_then(|image| self::image(image, losses)),
        _ => None,
    };
    let kind = kind.unwrap_or_else(|| PartKind::Opaque {
        value: node.verbatim().to_owned(),
        scope: Some(OPENAI_SCOPE),
        token_usage: None,
        meaning: Meaning::Other,
    });
    if matches!(kind, PartKind::Text(_) | PartKind::Image { .. }) {
        let known = ["type", "text", "image_url"];
        losses.note_others(node, &known, "a raw part of this kind has no place for this member");
    }
    Ok(RawPart { at: node.pointer(), kind })
}

fn image(node: JsonView<'_>, losses: &mut Losses) -> Option<PartKind> {
    let url = losses.text(node.get("url"))?;
    losses.note_others(node, &["url", "detail", "media_type"], "a raw image has no place for this member");
    Some(PartKind::Image { url, detail: node.get_text("detail"), media_type: node.get_text("media_type") })
}

fn breakpoint(node: JsonView<'_>) -> RawPart {
    RawPart { at: node.pointer(), kind: PartKind::CacheBreakpoint { cache_type: node.get_text("type") } }
}

fn calls(node: JsonView<'_>, losses: &mut Losses) -> Read<Vec<ToolCall>> {
    if node.is_null() {
        return Ok(Vec::new());
    }
    if !node.is_array() {
        return Err(InputError::at(node, "`tool_calls` is an array of calls"));
    }
    let mut calls = Vec::new();
    for call in node.items() {
        if call.get("function").is_none() && call.get("custom").is_some() {
            losses.note(call.pointer(), "raw messages know calls of functions only, so the call is left out");
        } else {
            calls.push(raw::call(call, losses)?);
        }
    }
    Ok(calls)
}

//! Reads raw messages and parts from a file. A breach of the schema is an error with its place.
//! What the schema leaves open is noted.

use super::{CARRIED, Meaning, PartKind, RawMessage, RawPart, RawRole, Thinking, ToolCall};
use crate::loss::{InputError, Losses};
use crate::node::JsonView;

type Read<T> = Result<T, InputError>;

const NO_TEXT: &str = "a string is missing here";

/// Reads one message. `None`: the role is unknown.
pub(crate) fn message(node: JsonView<'_>, losses: &mut Losses) -> Read<Option<RawMessage>> {
    if !node.is_object() {
        return Err(InputError::at(node, "a message must be an object"));
    }
    let Some(role) = role(node)? else {
        losses.note(node.pointer(), "the role's number is unknown to every target");
        return Ok(None);
    };
    let content = node
        .get("content")
        .ok_or_else(|| InputError::at(node, "a raw message must have `content`, an array of parts"))?;
    let mut message = RawMessage::new(node.pointer(), role, parts(content, losses)?);
    message.name = optional_text(node, "name", losses)?;
    message.call_id = optional_text(node, "toolCallId", losses)?;
    message.calls = calls(node, losses)?;
    for (key, member) in node.members() {
        match CARRIED.iter().find(|carried| **carried == key) {
            Some(carried) => message.carried.push((carried, member.verbatim().to_owned())),
            None if matches!(&*key, "role" | "content" | "name" | "toolCallId" | "toolCalls") => {}
            None => losses.note(member.pointer(), "no member of a raw message has this name"),
        }
    }
    Ok(Some(message))
}

fn role(node: JsonView<'_>) -> Read<Option<RawRole>> {
    let role = node.get("role").ok_or_else(|| InputError::at(node, "a raw message must have a `role`"))?;
    if !role.is_number() {
        return Err(InputError::at(role, "the role of a raw message is a number from 0 to 3"));
    }
    Ok(role.one_of(&RawRole::ALL))
}

/// Reads the parts of a content.
pub(crate) fn parts(content: JsonView<'_>, losses: &mut Losses) -> Read<Vec<RawPart>> {
    if !content.is_array() {
        return Err(InputError::at(content, "the content of a raw message is an array of parts"));
    }
    let mut parts = Vec::new();
    for node in content.items() {
        match kind(node, losses)? {
            Some(kind) => parts.push(RawPart { at: node.pointer(), kind }),
            None => losses.note(node.pointer(), "the number of this kind of part is unknown to every target"),
        }
    }
    Ok(parts)
}

fn kind(node: JsonView<'_>, losses: &mut Losses) -> Read<Option<PartKind>> {
    let kind = node.get("type").filter(|kind| kind.is_number());
    let kind = kind.ok_or_else(|| {
        InputError::at(node, "a part of a raw message must be an object whose `type` is a number")
    })?;
    let known: (&[&str], PartKind) = match kind.integer() {
        Some(0) => (&["type", "imageUrl"], image(node, losses)?),
        Some(1) => (&["type", "text"], PartKind::Text(text(node, "text", losses)?)),
        Some(2) => (&["type", "value", "scope", "tokenUsage"], opaque(node, losses)?),
        Some(3) => (
            &["type", "cacheType"],
            PartKind::CacheBreakpoint { cache_type: optional_text(node, "cacheType", losses)? },
        ),
        Some(4) => (&["type", "documentData"], document(node, losses)?),
        _ => return Ok(None),
    };
    note_unknown(node, known.0, losses);
    Ok(Some(known.1))
}

fn note_unknown(node: JsonView<'_>, known: &[&str], losses: &mut Losses) {
    losses.note_others(node, known, "no part of this kind has a member with this name");
}

fn image(node: JsonView<'_>, losses: &mut Losses) -> Read<PartKind> {
    let image = member(node, "imageUrl")?;
    note_unknown(image, &["type", "url", "detail", "mediaType"], losses);
    Ok(PartKind::Image {
        url: text(image, "url", losses)?,
        detail: optional_text(image, "detail", losses)?,
        media_type: optional_text(image, "mediaType", losses)?,
    })
}

fn document(node: JsonView<'_>, losses: &mut Losses) -> Read<PartKind> {
    let document = member(node, "documentData")?;
    note_unknown(document, &["type", "data", "mediaType"], losses);
    Ok(PartKind::Document {
        data: text(document, "data", losses)?,
        media_type: text(document, "mediaType", losses)?,
    })
}

fn opaque(node: JsonView<'_>, losses: &mut Losses) -> Read<PartKind> {
    let value = member(node, "value")?;
    let scope = node.get_some("scope");
    if let Some(odd) = scope.filter(|scope| scope.integer().is_none()) {
        losses.note(odd.pointer(), "the scope of an opaque part is a number; this one is left out");
    }
    Ok(PartKind::Opaque {
        value: value.verbatim().to_owned(),
        scope: scope.and_then(JsonView::integer),
        token_usage: node.get_some("tokenUsage").map(|usage| usage.verbatim().to_owned()),
        meaning: meaning(value),
    })
}

/// Returns the meaning of an opaque value. A value that does not fit its type has no known meaning.
fn meaning(value: JsonView<'_>) -> Meaning {
    let known = || match &*value.get("type")?.text()? {
        "thinking" => Some(Meaning::Thinking(thinking(value.get_some("thinking")?))),
        "stateful_marker" => Some(Meaning::StatefulMarker(value.get("value")?.get_text("marker")?)),
        "context_management" => {
            let item = value.get("context_management").filter(|item| item.is_object())?;
            Some(Meaning::Compaction(item.verbatim().to_owned()))
        }
        "phase_data" => Some(Meaning::Phase(value.get_text("phase")?)),
        "input_text" | "input_image" | "input_file" => Some(Meaning::ResponsesInput),
        _ => None,
    };
    known().unwrap_or(Meaning::Other)
}

/// Reads a `thinking` object. Its text may be cut into an array.
pub(crate) fn thinking(node: JsonView<'_>) -> Thinking {
    let text = node.get("text");
    let pieces = text.into_iter().flat_map(JsonView::items).filter_map(JsonView::text).collect::<String>();
    Thinking {
        id: node.get_text("id"),
        text: text.and_then(JsonView::text).map_or(pieces, std::borrow::Cow::into_owned),
        encrypted: node.get_text("encrypted").filter(|encrypted| !encrypted.is_empty()),
    }
}

fn calls(node: JsonView<'_>, losses: &mut Losses) -> Read<Vec<ToolCall>> {
    let Some(calls) = node.get_some("toolCalls") else { return Ok(Vec::new()) };
    if !calls.is_array() {
        return Err(InputError::at(calls, "`toolCalls` is an array of calls"));
    }
    calls.items().map(|node| call(node, losses)).collect()
}

/// Reads one call, in the shape that raw messages and the OpenAI API share.
pub(crate) fn call(node: JsonView<'_>, losses: &mut Losses) -> Read<ToolCall> {
    let function = member(node, "function")?;
    if node.get("type").is_some_and(|kind| kind.text().as_deref() != Some("function")) {
        losses.note(node.pointer(), "a call of another type is written as a call of a function");
    }
    note_unknown(node, &["type", "id", "function"], losses);
    note_unknown(function, &["type", "name", "arguments"], losses);
    Ok(ToolCall {
        at: node.pointer(),
        id: text(node, "id", losses)?,
        name: text(function, "name", losses)?,
        arguments: text(function, "arguments", losses)?,
    })
}

fn member<'d>(node: JsonView<'d>, key: &'static str) -> Read<JsonView<'d>> {
    let problem = match key {
        "function" => "a call must have `function`, an object with `name` and `arguments`",
        "imageUrl" => "an image must have `imageUrl`, an object with `url`",
        "documentData" => "a document must have `documentData`, an object with `data` and `mediaType`",
        _ => "an opaque part must have a `value`",
    };
    node.get(key).ok_or_else(|| InputError::at(node, problem))
}

fn text(node: JsonView<'_>, key: &'static str, losses: &mut Losses) -> Read<String> {
    let problem = match key {
        "text" => "a text part must have `text`, a string",
        "url" => "an image must have `url`, a string",
        "id" => "a call must have `id`, a string",
        "name" => "a called function must have `name`, a string",
        "arguments" => "a called function must have `arguments`, a string",
        "data" => "a document must have `data`, a string of base64",
        "mediaType" => "a document must have `mediaType`, a string",
        _ => NO_TEXT,
    };
    losses.text(node.get(key)).ok_or_else(|| InputError::at(node, problem))
}

fn optional_text(node: JsonView<'_>, key: &str, losses: &mut Losses) -> Read<Option<String>> {
    match node.get_some(key) {
        None => Ok(None),
        Some(member) => match losses.text(Some(member)) {
            Some(text) => Ok(Some(text)),
            None => Err(InputError::at(member, "this member is a string where it stands at all")),
        },
    }
}

//! The Anthropic Messages API, as Copilot's client builds `system` and `messages`.

use super::chat::note_cache_type;
use super::{BLANK, NO_CALL_ID, NOT_USABLE, is_blank, note_envelope};
use crate::json::Json;
use crate::loss::Losses;
use crate::raw::{Meaning, PartKind, RawMessage, RawPart, RawRole, Thinking, ToolCall};

/// Most cache breakpoints that the API takes in one request.
const MOST_BREAKPOINTS: usize = 4;

/// The API reads a trailing message of the model as the beginning of its answer. The client asks
/// for more instead.
const CONTINUE: &str = "Please continue.";

/// A content block under construction.
struct ContentBlock {
    /// Its `type`.
    word: &'static str,
    members: Vec<(&'static str, Json)>,
    kind: BlockKind,
    /// The place of the breakpoint of this block.
    cached: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    /// A text that exists for its breakpoint alone.
    Filler,
    Media,
    Thinking,
    ToolUse,
    ToolResult,
}

impl ContentBlock {
    fn new(kind: BlockKind, word: &'static str, members: Vec<(&'static str, Json)>) -> Self {
        ContentBlock { word, members, kind, cached: None }
    }

    fn text(kind: BlockKind, text: &str) -> Self {
        ContentBlock::new(kind, "text", vec![("text", text.into())])
    }

    fn json(mut self) -> Json {
        if self.cached.is_some() {
            self.members.push(("cache_control", Json::of("ephemeral", Vec::new())));
        }
        Json::of(self.word, self.members)
    }
}

/// A message under construction.
struct WireMessage {
    role: &'static str,
    blocks: Vec<ContentBlock>,
}

pub(super) fn body(messages: &[RawMessage], losses: &mut Losses) -> Json {
    let mut system = Vec::new();
    let mut turns: Vec<WireMessage> = Vec::new();
    for message in messages {
        note_envelope(message, losses);
        let (role, blocks) = match message.role {
            RawRole::System => {
                system.append(&mut self::system(message, turns.is_empty(), losses));
                continue;
            }
            RawRole::User => ("user", blocks(message, losses)),
            RawRole::Assistant => ("assistant", spoken(message, losses)),
            RawRole::Tool => ("user", result(message, losses).into_iter().collect()),
        };
        add(&mut turns, role, blocks, message, losses);
    }
    note_surplus(&system, &turns, losses);
    mark_system(&mut system, &turns);
    ask_for_more(&mut turns, messages, losses);
    finish(system, turns)
}

fn finish(system: Vec<ContentBlock>, turns: Vec<WireMessage>) -> Json {
    let list = |blocks: Vec<ContentBlock>| Json::Array(blocks.into_iter().map(ContentBlock::json).collect());
    let turn =
        |turn: WireMessage| Json::Object(vec![("role", turn.role.into()), ("content", list(turn.blocks))]);
    let mut members = Vec::new();
    if !system.is_empty() {
        members.push(("system", list(system)));
    }
    members.push(("messages", Json::Array(turns.into_iter().map(turn).collect())));
    Json::Object(members)
}

/// Returns the text blocks of a system message. The API has them apart from the messages.
fn system(message: &RawMessage, is_first: bool, losses: &mut Losses) -> Vec<ContentBlock> {
    if !is_first {
        losses.note(&message.at, "a system message moves to the top: its place among the messages is lost");
    }
    let mut kept = blocks(message, losses);
    if kept.iter().any(|block| !matches!(block.kind, BlockKind::Text | BlockKind::Filler)) {
        losses.note(&message.at, "a system message is sent as text alone");
        kept.retain(|block| matches!(block.kind, BlockKind::Text | BlockKind::Filler));
    }
    kept
}

/// Adds a message, or adds its blocks to a preceding message of the same role.
fn add(
    turns: &mut Vec<WireMessage>,
    role: &'static str,
    mut blocks: Vec<ContentBlock>,
    message: &RawMessage,
    losses: &mut Losses,
) {
    if blocks.is_empty() {
        if !(message.role == RawRole::Tool && message.call_id.is_none()) {
            losses.note(&message.at, "nothing of the message is left to be sent");
        }
        return;
    }
    match turns.last_mut() {
        Some(last) if last.role == role => {
            // Results of parallel calls must be in one message.
            if message.role != RawRole::Tool {
                losses.note(&message.at, "merged into the message before it, which has the same role");
            }
            last.blocks.append(&mut blocks);
        }
        _ => turns.push(WireMessage { role, blocks }),
    }
}

fn blocks(message: &RawMessage, losses: &mut Losses) -> Vec<ContentBlock> {
    let mut blocks = Vec::new();
    for part in &message.content {
        let block = match &part.kind {
            PartKind::Text(text) if is_blank(text) => Err(BLANK),
            PartKind::Text(text) => Ok(ContentBlock::text(BlockKind::Text, text)),
            PartKind::Image { url, .. } => image(url)
                .map(|source| media("image", source))
                .ok_or("the API takes images as base64 of JPEG, PNG, GIF or WebP, or by https"),
            PartKind::Document { data, media_type } if media_type == "application/pdf" => {
                Ok(media("document", base64(media_type, data)))
            }
            PartKind::Document { .. } => Err("the API takes documents as PDF only"),
            PartKind::CacheBreakpoint { .. } => {
                breakpoint(part, &mut blocks, losses);
                continue;
            }
            PartKind::Opaque { meaning: Meaning::Thinking(thinking), .. } => thought(thinking),
            PartKind::Opaque { .. } => Err(NOT_USABLE),
        };
        match block {
            Ok(block) => blocks.push(block),
            Err(reason) => losses.note(&part.at, reason),
        }
    }
    blocks
}

fn media(word: &'static str, source: Json) -> ContentBlock {
    ContentBlock::new(BlockKind::Media, word, vec![("source", source)])
}

fn image(url: &str) -> Option<Json> {
    if url.starts_with("https://") {
        return Some(Json::of("url", vec![("url", url.into())]));
    }
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    let known = matches!(media_type, "image/jpeg" | "image/png" | "image/gif" | "image/webp");
    (known && !data.is_empty()).then(|| base64(media_type, data))
}

fn base64(media_type: &str, data: &str) -> Json {
    Json::of("base64", vec![("media_type", media_type.into()), ("data", data.into())])
}

fn thought(thinking: &Thinking) -> Result<ContentBlock, &'static str> {
    let encrypted = thinking.encrypted.as_ref();
    let encrypted =
        Json::text(encrypted.ok_or("the API takes reasoning only with the signature that it gave")?);
    let (word, members) = if thinking.text.is_empty() {
        ("redacted_thinking", vec![("data", encrypted)])
    } else {
        ("thinking", vec![("thinking", Json::text(&thinking.text)), ("signature", encrypted)])
    };
    Ok(ContentBlock::new(BlockKind::Thinking, word, members))
}

/// Puts a breakpoint on the block before it, or on a text of one space if no block can have it: an
/// empty text is invalid.
fn breakpoint(part: &RawPart, blocks: &mut Vec<ContentBlock>, losses: &mut Losses) {
    note_cache_type(part, losses);
    if blocks.last().is_none_or(|block| block.kind == BlockKind::Thinking) {
        blocks.push(ContentBlock::text(BlockKind::Filler, " "));
    }
    if let Some(block) = blocks.last_mut() {
        block.cached = Some(part.at.clone());
    }
}

/// Returns the blocks of an assistant message, its calls behind them.
fn spoken(message: &RawMessage, losses: &mut Losses) -> Vec<ContentBlock> {
    let mut blocks = blocks(message, losses);
    blocks.extend(message.calls.iter().map(|call| tool_use(call, losses)));
    blocks
}

fn tool_use(call: &ToolCall, losses: &mut Losses) -> ContentBlock {
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok();
    if !is_json {
        losses.note(&call.at, "arguments that are no JSON are sent as `{}`");
    } else if !call.arguments.trim_start().starts_with('{') {
        losses.note(&call.at, "the API takes an object as arguments, and will refuse these");
    }
    let input = if is_json { Json::Verbatim(call.arguments.clone()) } else { Json::Object(Vec::new()) };
    let members = vec![("id", Json::text(&call.id)), ("name", Json::text(&call.name)), ("input", input)];
    ContentBlock::new(BlockKind::ToolUse, "tool_use", members)
}

/// Returns a tool message as a block of a user message. A breakpoint inside it moves to the result
/// as a whole.
fn result(message: &RawMessage, losses: &mut Losses) -> Option<ContentBlock> {
    let Some(call_id) = &message.call_id else {
        losses.note(&message.at, NO_CALL_ID);
        return None;
    };
    let mut content = blocks(message, losses);
    let cached = content.iter_mut().rev().fold(None, |found, block| found.or(block.cached.take()));
    if content.iter().any(|block| block.kind == BlockKind::Thinking) {
        losses.note(&message.at, "a result holds no reasoning");
    }
    content.retain(|block| matches!(block.kind, BlockKind::Text | BlockKind::Media));
    let mut members = vec![("tool_use_id", Json::text(call_id))];
    if !content.is_empty() {
        members.push(("content", Json::Array(content.into_iter().map(ContentBlock::json).collect())));
    }
    Some(ContentBlock { cached, ..ContentBlock::new(BlockKind::ToolResult, "tool_result", members) })
}

fn breakpoints<'t>(system: &'t [ContentBlock], turns: &'t [WireMessage]) -> impl Iterator<Item = &'t str> {
    let blocks = system.iter().chain(turns.iter().flat_map(|turn| &turn.blocks));
    blocks.filter_map(|block| block.cached.as_deref())
}

fn note_surplus(system: &[ContentBlock], turns: &[WireMessage], losses: &mut Losses) {
    for at in breakpoints(system, turns).skip(MOST_BREAKPOINTS) {
        losses.note(at, "the API takes four cache breakpoints, and will refuse this one");
    }
}

/// The client spends a remaining breakpoint on the end of the system prompt, which changes least.
fn mark_system(system: &mut [ContentBlock], turns: &[WireMessage]) {
    if breakpoints(system, turns).count() < MOST_BREAKPOINTS
        && let Some(last) = system.last_mut()
        && last.cached.is_none()
    {
        last.cached = Some(String::new());
    }
}

fn ask_for_more(turns: &mut Vec<WireMessage>, messages: &[RawMessage], losses: &mut Losses) {
    if turns.last().is_none_or(|turn| turn.role == "user") {
        return;
    }
    if let Some(last) = messages.iter().rfind(|message| message.role == RawRole::Assistant) {
        losses.note(&last.at, "a message of the user is added behind it: the API takes no trailing answer");
    }
    turns.push(WireMessage { role: "user", blocks: vec![ContentBlock::text(BlockKind::Text, CONTINUE)] });
}

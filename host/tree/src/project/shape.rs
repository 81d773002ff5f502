//! Telling formats apart by shape, where no route says which one a body is in.
//!
//! Each format is known by what its API demands or alone offers; a body that fits none is generic. A chat of plain texts is valid in
//! two APIs, which then read every leaf alike: there the model's name decides.

use crate::document::Document;
use crate::kinds::{Format, ValueType};
use crate::node::{Kind, NodeId};

/// Members that the Messages API has and chat completions do not.
const ANTHROPIC: &[&str] =
    &["anthropic_version", "stop_sequences", "thinking", "mcp_servers", "context_management", "container"];

/// Members that chat completions have and the Messages API does not.
const CHAT: &[&str] = &[
    "stream_options",
    "max_completion_tokens",
    "response_format",
    "frequency_penalty",
    "presence_penalty",
    "reasoning_effort",
    "parallel_tool_calls",
    "functions",
    "stop",
    "n",
    "seed",
];

/// Types of blocks that only the Messages API has.
const BLOCKS: &[&str] = &["tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"];

/// Members beside a textual `input` that make it a Responses request. An embeddings request has none of them.
const RESPONSES: &[&str] = &[
    "instructions",
    "max_output_tokens",
    "previous_response_id",
    "conversation",
    "prompt",
    "store",
    "stream",
    "tools",
    "text",
    "reasoning",
    "include",
    "temperature",
];

/// The format whose shape a body has.
pub(super) fn format(document: &Document) -> Format {
    let root = document.root();
    match document.node(root).kind {
        Kind::Array if is_raw(document, root) => Format::Raw,
        Kind::Object => of_object(document, root),
        _ => Format::Generic,
    }
}

fn of_object(document: &Document, root: NodeId) -> Format {
    let array = |key| document.member(root, key).filter(|&node| document.node(node).kind == Kind::Array);
    if let Some(messages) = array("messages") {
        return if is_raw(document, messages) {
            Format::Raw
        } else if is_anthropic(document, root, messages) {
            Format::AnthropicMessages
        } else {
            Format::OpenaiChat
        };
    }
    if array("requests").is_some() {
        return Format::VscodeChat;
    }
    let Some(input) = document.member(root, "input") else { return Format::Generic };
    let has_items = document.children(input).any(|item| document.node(item).kind == Kind::Object);
    let is_text = document.leaf(input).is_some_and(|leaf| leaf.value_type() == ValueType::Text);
    if has_items || is_text && has_any(document, root, RESPONSES) {
        return Format::OpenaiResponses;
    }
    Format::Generic
}

/// Roles, or for content alone types, are numbers.
fn is_raw(document: &Document, messages: NodeId) -> bool {
    let number = |node| document.leaf(node).is_some_and(|leaf| leaf.value_type() == ValueType::Number);
    let mut elements = document.children(messages);
    elements.next().is_some_and(|element| {
        document.member(element, "role").or_else(|| document.member(element, "type")).is_some_and(number)
    })
}

fn is_anthropic(document: &Document, root: NodeId, messages: NodeId) -> bool {
    let tools = document.member(root, "tools");
    let own_tools = tools.is_some_and(|tools| {
        document.children(tools).any(|tool| document.member(tool, "input_schema").is_some())
    });
    // A system prompt beside the messages decides it: inside them it may stand in both.
    if own_tools || document.member(root, "system").is_some() {
        return true;
    }
    let is_chat = |message| {
        let role = document.member(message, "role").map(|role| document.content_text(role));
        matches!(role.as_deref(), Some("system" | "developer" | "tool" | "function"))
            || document.member(message, "tool_calls").is_some()
    };
    if has_any(document, root, CHAT) || document.children(messages).any(is_chat) {
        return false;
    }
    let is_claude = || document.model().is_some_and(|model| model.starts_with("claude"));
    has_any(document, root, ANTHROPIC)
        || document.children(messages).any(|message| has_block(document, message))
        || is_claude()
}

fn has_block(document: &Document, message: NodeId) -> bool {
    let Some(content) = document.member(message, "content") else { return false };
    document.children(content).any(|part| {
        let own = |kind: NodeId| BLOCKS.contains(&&*document.content_text(kind));
        document.member(part, "type").is_some_and(own)
    })
}

fn has_any(document: &Document, object: NodeId, keys: &[&str]) -> bool {
    document.children(object).any(|member| keys.iter().any(|key| document.has_key(member, key)))
}

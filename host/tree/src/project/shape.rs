//! Telling formats apart by shape, where no route says which one a body is in.
//!
//! Each format is known by what its API demands or alone offers; a body that fits none is generic. A chat of plain texts is valid in
//! two APIs, which then read every leaf alike: there the model's name decides.

use crate::index::Index;
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
pub(super) fn format(body: &Index) -> Format {
    let root = body.root();
    match body.node(root).kind {
        Kind::Array if is_raw(body, root) => Format::Raw,
        Kind::Object => of_object(body, root),
        _ => Format::Generic,
    }
}

fn of_object(body: &Index, root: NodeId) -> Format {
    let array = |key| body.member(root, key).filter(|&node| body.node(node).kind == Kind::Array);
    if let Some(messages) = array("messages") {
        return if is_raw(body, messages) {
            Format::Raw
        } else if is_anthropic(body, root, messages) {
            Format::AnthropicMessages
        } else {
            Format::OpenaiChat
        };
    }
    if array("requests").is_some() {
        return Format::VscodeChat;
    }
    let Some(input) = body.member(root, "input") else { return Format::Generic };
    let has_items = body.children(input).any(|item| body.node(item).kind == Kind::Object);
    let is_text = body.scalar(input) == Some(ValueType::Text);
    if has_items || is_text && has_any(body, root, RESPONSES) {
        return Format::OpenaiResponses;
    }
    Format::Generic
}

/// Roles, or for content alone types, are numbers.
fn is_raw(body: &Index, messages: NodeId) -> bool {
    let number = |node| body.scalar(node) == Some(ValueType::Number);
    let mut elements = body.children(messages);
    elements.next().is_some_and(|element| {
        body.member(element, "role").or_else(|| body.member(element, "type")).is_some_and(number)
    })
}

fn is_anthropic(body: &Index, root: NodeId, messages: NodeId) -> bool {
    let tools = body.member(root, "tools");
    let own_tools = tools.is_some_and(|tools| {
        body.children(tools).any(|tool| body.member(tool, "input_schema").is_some())
    });
    // A system prompt beside the messages decides it: inside them it may stand in both.
    if own_tools || body.member(root, "system").is_some() {
        return true;
    }
    let is_chat = |message| {
        let role = body.member(message, "role").map(|role| body.content_text(role));
        matches!(role.as_deref(), Some("system" | "developer" | "tool" | "function"))
            || body.member(message, "tool_calls").is_some()
    };
    if has_any(body, root, CHAT) || body.children(messages).any(is_chat) {
        return false;
    }
    let model = body.member(root, "model").map(|model| body.content_text(model));
    let is_claude = || model.is_some_and(|model| model.starts_with("claude"));
    has_any(body, root, ANTHROPIC)
        || body.children(messages).any(|message| has_block(body, message))
        || is_claude()
}

fn has_block(body: &Index, message: NodeId) -> bool {
    let Some(content) = body.member(message, "content") else { return false };
    body.children(content).any(|part| {
        let own = |kind: NodeId| BLOCKS.contains(&&*body.content_text(kind));
        body.member(part, "type").is_some_and(own)
    })
}

fn has_any(body: &Index, object: NodeId, keys: &[&str]) -> bool {
    body.children(object).any(|member| keys.iter().any(|key| body.has_key(member, key)))
}

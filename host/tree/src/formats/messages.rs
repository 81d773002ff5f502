//! `POST /v1/messages` and `/v1/messages/count_tokens`
//! ([API reference](https://docs.anthropic.com/en/api/messages)), the beta blocks included.
//!
//! Content blocks nest: a tool result holds blocks of its own. Results of one turn all stand in the next user message, so that message
//! and the one with the calls are one exchange. Thinking blocks are signed as a whole, and frozen.

use leafgate_api::Api;

use super::{Likeness, Rules, Spec, USUAL, at_pointers, id_member, shape};
use crate::index::Index;
use crate::kinds::{ContentKind, LeafKind, Role, SectionKind, ValueType};
use crate::node::{JsonKind, NodeId};
use crate::project::{Access, BODY, MESSAGE, MemberTable, Projector, content_kind, table};
use crate::section::SectionId;

/// Members that the Messages API has and chat completions do not.
const OWN: &[&str] =
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

/// The format that this file describes.
pub(super) static FORMAT: Spec = Spec {
    api: Some(Api::Messages),
    aliases: &["messages"],
    likeness: |body| match shape::array(body, body.root(), "messages")? {
        messages if shape::speaks_in_numbers(body, messages) => None,
        messages if is_certain(body, body.root(), messages) => Some(Likeness::Certain),
        _ => Some(Likeness::Plausible),
    },
    project,
    rules: Rules {
        roles: ROLES,
        part_kind: Some(content_kind),
        empty_text: false,
        user_first: true,
        calls_need_tools: true,
        assistant_last: "the last message must not have the role `assistant`",
    },
    pairing: |body, section| id_member(body, section, &["tool_use_id", "id"]),
    chosen_tools: |body| at_pointers(body, &["/tool_choice/name"]),
    // A server of tools offers them by itself.
    tool_options: &["tools", "tool_choice", "mcp_servers"],
    system_beside: true,
    ..USUAL
};

fn is_certain(body: &Index, root: NodeId, messages: NodeId) -> bool {
    let tools = body.member(root, "tools");
    let own_tools = tools
        .is_some_and(|tools| body.children(tools).any(|tool| body.member(tool, "input_schema").is_some()));
    // A system prompt beside the messages decides it: inside them it may stand in both.
    if own_tools || body.member(root, "system").is_some() {
        return true;
    }
    let is_chat = |message| {
        let role = body.member(message, "role").map(|role| body.content_text(role));
        matches!(role.as_deref(), Some("system" | "developer" | "tool" | "function"))
            || body.member(message, "tool_calls").is_some()
    };
    if shape::has_any(body, root, CHAT) || body.children(messages).any(is_chat) {
        return false;
    }
    let model = body.member(root, "model").map(|model| body.content_text(model));
    let is_claude = || model.is_some_and(|model| model.starts_with("claude"));
    shape::has_any(body, root, OWN)
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

/// Some models take instructions between messages.
const ROLES: &[(&str, Role)] =
    &[("user", Role::User), ("assistant", Role::Assistant), ("system", Role::System)];

/// An element of an Anthropic message's content, and what a server tool's result holds.
static BLOCK: MemberTable = table! {
    "type" Metadata Protected "discriminator";
    "id" Metadata Protected "pairs a call with its result";
    "tool_use_id" Metadata Protected "pairs a result with its call";
    "name" Metadata Protected "names a tool";
    "tool_name" Metadata Protected "names a tool";
    "server_name" Metadata Protected "names a server";
    "file_id" Metadata Protected "id";
    "text" Text Open "the words themselves";
    "input" ToolArguments Open "what the tool is called with";
    "cache_control" Metadata Protected "a cache breakpoint";
    "encrypted_content" | "encrypted_index" | "encrypted_stdout" Other Frozen "encrypted by the provider";
};

/// `source` of an image or a document block.
static SOURCE: MemberTable = table! {
    "type" Metadata Protected "discriminator";
    "media_type" Metadata Protected "says how to decode the data";
    "file_id" Metadata Protected "id";
    "data" Text Opaque "an image or a file, where it is a binary one; plain text is scanned";
};

/// A thinking block: the API checks it as a whole.
static THINKING: MemberTable = table! {
    "type" Reasoning Frozen "part of a signed block";
    "thinking" Reasoning Frozen "covered by the signature";
    "signature" Reasoning Frozen "signature";
    "data" Reasoning Frozen "encrypted by the provider";
};

fn project(projector: &mut Projector<'_>) {
    projector.mark(projector.body.root(), LeafKind::RequestOption, Access::Open);
    projector.members(projector.body.root(), &BODY, |this, member, key, _| match key {
        "system" => {
            let id = this.message(member, SectionKind::System, Role::System, None);
            content(this, member, id, LeafKind::Text);
        }
        "messages" if this.body.kind(member) == JsonKind::Array => this.exchanges(member, message),
        "thinking" | "cache_control" => {
            this.option(member, key);
            this.object(member, &BLOCK);
        }
        _ => this.option(member, key),
    });
    projector.classify_maps();
}

fn message(projector: &mut Projector<'_>, node: NodeId, index: usize) -> SectionId {
    let role = projector.role(node, ROLES);
    let id = projector.message(node, SectionKind::of_message(role), role, Some(index));
    projector.mark(node, LeafKind::Other, Access::Open);
    projector.members(node, &MESSAGE, |this, member, key, _| {
        if key == "content" {
            content(this, member, id, LeafKind::Text);
        }
    });
    projector.classify_user(id, None);
    id
}

/// Content of a message or of a tool result: a string, or an array of blocks.
fn content(projector: &mut Projector<'_>, node: NodeId, around: SectionId, text: LeafKind) {
    projector.mark(node, text, Access::Open);
    for (index, part) in projector.body.elements(node).enumerate() {
        block(projector, part, around, index, text);
    }
    // Server tools answer with an object, or an array of them.
    if projector.body.kind(node) == JsonKind::Object {
        projector.object(node, &BLOCK);
    }
}

fn block(projector: &mut Projector<'_>, node: NodeId, around: SectionId, index: usize, text: LeafKind) {
    let kind = projector.text_member(node, "type");
    let kind = kind.as_deref().unwrap_or_default();
    if matches!(kind, "thinking" | "redacted_thinking") {
        projector.part(node, around, index, ContentKind::Thinking, false);
        projector.mark(node, LeafKind::Reasoning, Access::Frozen);
        return projector.object(node, &THINKING);
    }
    let text = if kind.ends_with("tool_result") { LeafKind::ToolResult } else { text };
    let id = match kind {
        _ if kind.ends_with("tool_use") => {
            let named = (projector.string_member(node, "name"), projector.string_member(node, "id"));
            projector.call(node, around, index, named)
        }
        _ if kind.ends_with("tool_result") => result(projector, node, around, index),
        _ => projector.part(node, around, index, content_kind(Some(kind)), kind == "text"),
    };
    projector.mark(node, text, Access::Open);
    projector.members(node, &BLOCK, |this, member, key, _| match key {
        "text" => this.mark(member, text, Access::Open),
        "content" => content(this, member, id, text),
        "source" => source(this, member, id, text),
        "citations" => this.body.elements(member).for_each(|citation| this.object(citation, &BLOCK)),
        _ => {}
    });
}

/// Where an image or a document comes from; a document may hold blocks of its own.
fn source(projector: &mut Projector<'_>, node: NodeId, around: SectionId, text: LeafKind) {
    projector.members(node, &SOURCE, |this, member, key, _| {
        if key == "content" {
            content(this, member, around, text);
        }
    });
}

fn result(projector: &mut Projector<'_>, node: NodeId, around: SectionId, index: usize) -> SectionId {
    let id = projector.string_member(node, "tool_use_id");
    let name = id.as_ref().and_then(|id| projector.calls.result_of(&**id));
    let content = projector.body.member(node, "content");
    let editable = content.is_some_and(|content| projector.body.scalar(content) == Some(ValueType::Text));
    projector.sub_section(node, around, |section| {
        section.set_part(SectionKind::ToolResult, index, ContentKind::ToolResult, editable);
        (section.tool, section.call_id) = (name, id);
    })
}

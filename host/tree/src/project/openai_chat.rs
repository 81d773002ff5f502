//! `POST /v1/chat/completions` ([API reference](https://platform.openai.com/docs/api-reference/chat/create)), with the extra fields
//! that OpenRouter, DeepSeek and Copilot clients send.

use super::{Access, Projector, Structure};
use crate::kinds::{LeafKind, Role, SectionKind, ValueType};
use crate::node::{Kind, NodeId};
use crate::section::{NodeType, Section, SectionId};

pub(super) fn project(projector: &mut Projector<'_>) {
    projector.mark(projector.body.root(), LeafKind::RequestOption, Access::Open);
    projector.members(projector.body.root(), Structure::Body, |this, member, key, _| match key {
        "messages" => messages(this, member),
        _ => this.option(member, key),
    });
}

fn messages(projector: &mut Projector<'_>, messages: NodeId) {
    if projector.body.node(messages).kind != Kind::Array {
        return projector.option(messages, "messages");
    }
    projector.exchanges(messages, message);
}

fn message(projector: &mut Projector<'_>, node: NodeId, index: usize) -> SectionId {
    let role = match projector.string_member(node, "role").as_deref() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        _ => Role::Other,
    };
    let call_id = projector.string_member(node, "tool_call_id").filter(|_| role == Role::Tool);
    // A legacy function result names its function; a tool result names its call.
    let tool = call_id.as_ref().and_then(|id| projector.calls.get(id).cloned());
    let tool = tool.or_else(|| projector.string_member(node, "name").filter(|_| role == Role::Tool));
    let id = projector.section(Section {
        kind: message_kind(role),
        node_type: NodeType::Message,
        role,
        message: Some(index),
        tool,
        call_id,
        deletable: role != Role::System,
        ..super::option_section(node, None)
    });
    let text = if role == Role::Tool { LeafKind::ToolResult } else { LeafKind::Text };
    projector.mark(node, LeafKind::Other, Access::Open);
    projector.members(node, Structure::Message, |this, member, key, _| match key {
        "content" => content(this, member, id, text),
        "tool_calls" => tool_calls(this, member, id),
        "function_call" => this.tool_call(member, id, 0),
        "audio" => this.members(member, Structure::ToolCall, |_, _, _, _| {}),
        "reasoning_details" => reasoning_details(this, member),
        _ => {}
    });
    let name = projector.string_member(node, "name");
    projector.classify_user(id, name.as_deref());
    id
}

fn message_kind(role: Role) -> SectionKind {
    match role {
        Role::System => SectionKind::System,
        Role::User => SectionKind::User,
        Role::Assistant => SectionKind::Assistant,
        Role::Tool => SectionKind::ToolResult,
        Role::Other => SectionKind::Other,
    }
}

/// A message's content: a string, or an array of parts.
fn content(projector: &mut Projector<'_>, node: NodeId, message: SectionId, text: LeafKind) {
    projector.mark(node, text, Access::Open);
    if projector.body.node(node).kind != Kind::Array {
        return;
    }
    for (index, part) in projector.body.children(node).enumerate() {
        let kind = projector.string_member(part, "type");
        let editable = matches!(kind.as_deref(), Some("text" | "refusal"));
        projector.sub_section(part, message, |section| {
            section.kind = SectionKind::ContentPart;
            section.node_type = NodeType::ContentPart;
            section.content_index = Some(index);
            section.content_kind = Some(super::content_kind(kind.as_deref()));
            section.editable = editable;
        });
        projector.mark(part, text, Access::Open);
        projector.members(part, Structure::Part, |this, member, key, field| match key {
            "text" => this.mark(member, text, Access::Open),
            "image_url" | "input_audio" | "file" => this.members(member, Structure::Media, |_, _, _, _| {}),
            "cache_control" => this.mark(member, LeafKind::Metadata, Access::Protected),
            _ if field.is_none() => this.mark(member, LeafKind::Other, Access::Open),
            _ => {}
        });
    }
}

fn tool_calls(projector: &mut Projector<'_>, node: NodeId, message: SectionId) {
    for (index, call) in projector.body.children(node).enumerate() {
        projector.tool_call(call, message, index);
    }
}

/// OpenRouter's record of what the model thought: text that a signature covers is frozen with it.
fn reasoning_details(projector: &mut Projector<'_>, node: NodeId) {
    let body = projector.body;
    projector.mark(node, LeafKind::Reasoning, Access::Open);
    for detail in body.children(node) {
        let signature = body.member(detail, "signature").and_then(|member| body.scalar(member));
        let signed = signature == Some(ValueType::Text);
        projector.mark(detail, LeafKind::Reasoning, if signed { Access::Frozen } else { Access::Open });
        projector.members(detail, Structure::ReasoningDetail, |_, _, _, _| {});
    }
}

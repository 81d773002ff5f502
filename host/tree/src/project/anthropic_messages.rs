//! `POST /v1/messages` and `/v1/messages/count_tokens`
//! ([API reference](https://docs.anthropic.com/en/api/messages)), the beta blocks included.
//!
//! Content blocks nest: a tool result holds blocks of its own. Results of one turn all stand in the next user message, so that message
//! and the one with the calls are one exchange. Thinking blocks are signed as a whole, and frozen.

use super::{Access, Projector, Structure};
use crate::kinds::{LeafKind, Role, SectionKind, ValueType};
use crate::node::{Kind, NodeId};
use crate::section::{NodeType, Section, SectionId};

pub(super) fn project(projector: &mut Projector<'_>) {
    projector.mark(projector.body.root(), LeafKind::RequestOption, Access::Open);
    projector.members(projector.body.root(), Structure::Body, |this, member, key, _| match key {
        "system" => {
            let id = message_section(this, member, Role::System, None);
            content(this, member, id, LeafKind::Text);
        }
        "messages" if this.body.node(member).kind == Kind::Array => messages(this, member),
        "thinking" | "cache_control" => {
            this.option(member, key);
            this.members(member, Structure::Block, |_, _, _, _| {});
        }
        _ => this.option(member, key),
    });
}

fn messages(projector: &mut Projector<'_>, messages: NodeId) {
    let (mut exchange, mut makes_calls) = (0, false);
    for (index, node) in projector.body.children(messages).enumerate() {
        let role = match projector.string_member(node, "role").as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            // Some models take instructions between messages.
            Some("system") => Role::System,
            _ => Role::Other,
        };
        let id = message_section(projector, node, role, Some(index));
        projector.mark(node, LeafKind::Other, Access::Open);
        projector.members(node, Structure::Message, |this, member, key, _| {
            if key == "content" {
                content(this, member, id, LeafKind::Text);
            }
        });
        let below = &projector.projection.sections[id.index()..];
        let answers =
            below.iter().any(|section| section.kind == SectionKind::ToolResult && section.role == Role::User);
        if !(answers && makes_calls) {
            exchange += 1;
        }
        makes_calls = below.iter().any(|section| section.kind == SectionKind::ToolCall);
        projector.projection.sections[id.index()].exchange = Some(exchange);
        projector.classify_user(id, None);
    }
}

/// A message, or the top-level system prompt, which has no place among them.
fn message_section(
    projector: &mut Projector<'_>,
    node: NodeId,
    role: Role,
    message: Option<usize>,
) -> SectionId {
    projector.section(Section {
        kind: match role {
            Role::System => SectionKind::System,
            Role::User => SectionKind::User,
            Role::Assistant => SectionKind::Assistant,
            Role::Tool | Role::Other => SectionKind::Other,
        },
        node_type: NodeType::Message,
        role,
        message,
        deletable: role != Role::System && message.is_some(),
        ..super::option_section(node, None)
    })
}

/// Content of a message or of a tool result: a string, or an array of blocks.
fn content(projector: &mut Projector<'_>, node: NodeId, around: SectionId, text: LeafKind) {
    projector.mark(node, text, Access::Open);
    if projector.body.node(node).kind == Kind::Array {
        for (index, part) in projector.body.children(node).enumerate() {
            block(projector, part, around, index, text);
        }
    } else if projector.body.node(node).kind == Kind::Object {
        // Server tools answer with an object, or an array of them.
        projector.members(node, Structure::Block, |_, _, _, _| {});
    }
}

fn block(projector: &mut Projector<'_>, node: NodeId, around: SectionId, index: usize, text: LeafKind) {
    let kind = projector.string_member(node, "type");
    let kind = kind.as_deref().unwrap_or_default();
    if matches!(kind, "thinking" | "redacted_thinking") {
        part(projector, node, around, index, SectionKind::ContentPart, false);
        projector.mark(node, LeafKind::Reasoning, Access::Frozen);
        return projector.members(node, Structure::Thinking, |_, _, _, _| {});
    }
    let text = if kind.ends_with("tool_result") { LeafKind::ToolResult } else { text };
    let id = match kind {
        _ if kind.ends_with("tool_use") => call(projector, node, around, index),
        _ if kind.ends_with("tool_result") => result(projector, node, around, index),
        _ => part(projector, node, around, index, SectionKind::ContentPart, kind == "text"),
    };
    projector.mark(node, text, Access::Open);
    projector.members(node, Structure::Block, |this, member, key, _| match key {
        "text" => this.mark(member, text, Access::Open),
        "content" => content(this, member, id, text),
        "source" => source(this, member, id, text),
        "citations" => {
            each(this, member, |this, citation| this.members(citation, Structure::Block, |_, _, _, _| {}))
        }
        _ => {}
    });
}

/// Where an image or a document comes from; a document may hold blocks of its own.
fn source(projector: &mut Projector<'_>, node: NodeId, around: SectionId, text: LeafKind) {
    projector.members(node, Structure::Source, |this, member, key, _| {
        if key == "content" {
            content(this, member, around, text);
        }
    });
}

fn part(
    projector: &mut Projector<'_>,
    node: NodeId,
    around: SectionId,
    index: usize,
    kind: SectionKind,
    editable: bool,
) -> SectionId {
    let contains = super::content_kind(projector.string_member(node, "type").as_deref());
    projector.sub_section(node, around, |section| {
        section.kind = kind;
        section.node_type = NodeType::ContentPart;
        section.content_index = Some(index);
        section.content_kind = Some(contains);
        section.editable = editable;
    })
}

fn call(projector: &mut Projector<'_>, node: NodeId, around: SectionId, index: usize) -> SectionId {
    let (id, name) = (projector.string_member(node, "id"), projector.string_member(node, "name"));
    if let (Some(id), Some(name)) = (&id, &name) {
        projector.calls.insert(id.clone(), name.clone());
    }
    projector.sub_section(node, around, |section| {
        section.kind = SectionKind::ToolCall;
        section.node_type = NodeType::ToolCall;
        section.tool_call_index = Some(index);
        (section.tool, section.call_id) = (name, id);
        section.editable = false;
    })
}

fn result(projector: &mut Projector<'_>, node: NodeId, around: SectionId, index: usize) -> SectionId {
    let id = projector.string_member(node, "tool_use_id");
    let name = id.as_ref().and_then(|id| projector.calls.get(id).cloned());
    let content = projector.body.member(node, "content");
    let editable =
        content.is_some_and(|content| projector.body.scalar(content) == Some(ValueType::Text));
    let section = part(projector, node, around, index, SectionKind::ToolResult, editable);
    let record = &mut projector.projection.sections[section.index()];
    (record.tool, record.call_id) = (name, id);
    section
}

fn each(projector: &mut Projector<'_>, array: NodeId, mut visit: impl FnMut(&mut Projector<'_>, NodeId)) {
    let body = projector.body;
    if body.node(array).kind == Kind::Array {
        body.children(array).for_each(|element| visit(projector, element));
    }
}

//! `POST /v1/responses` ([API reference](https://platform.openai.com/docs/api-reference/responses/create)).
//!
//! `input` is a string or a list of items: messages (with or without a `type`), calls, outputs, reasoning. What the model put out in
//! one go stands together: reasoning is refused without the item that followed it, a call without its reasoning, an output without
//! its call. Such a run, with the outputs of its calls, is one exchange.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Access, Projector, Structure};
use crate::kinds::{LeafKind, Role, SectionKind, ValueType};
use crate::node::{Kind, NodeId};
use crate::section::{NodeType, Section, SectionId};

pub(super) fn project(projector: &mut Projector<'_>) {
    projector.mark(projector.body.root(), LeafKind::RequestOption, Access::Open);
    projector.members(projector.body.root(), Structure::Body, |this, member, key, _| match key {
        "instructions" => {
            item_section(this, member, SectionKind::System, Role::System, None);
            this.mark(member, LeafKind::Text, Access::Open);
        }
        "input" if this.body.node(member).kind == Kind::Array => items(this, member),
        "input" => {
            item_section(this, member, SectionKind::User, Role::User, Some(0));
            this.mark(member, LeafKind::Text, Access::Open);
        }
        _ => this.option(member, key),
    });
}

/// Which exchange the items read so far belong to.
#[derive(Default)]
struct Exchanges {
    last: u32,
    /// Whether the last item was put out by the model, so that the next one may belong to it.
    open: bool,
    /// The exchange of each call, for its output.
    calls: HashMap<Arc<str>, u32>,
}

impl Exchanges {
    fn of(&mut self, kind: SectionKind, role: Role, call_id: Option<&Arc<str>>) -> u32 {
        let called = call_id.and_then(|id| self.calls.get(id).copied());
        if let (SectionKind::ToolResult, Some(exchange)) = (kind, called) {
            self.open = false;
            return exchange;
        }
        let from_model = role == Role::Assistant;
        if !(from_model && self.open) {
            self.last += 1;
        }
        self.open = from_model;
        if let (SectionKind::ToolCall, Some(id)) = (kind, call_id) {
            self.calls.insert(id.clone(), self.last);
        }
        self.last
    }
}

fn items(projector: &mut Projector<'_>, input: NodeId) {
    let mut exchanges = Exchanges::default();
    for (index, node) in projector.body.children(input).enumerate() {
        let kind = projector.string_member(node, "type");
        let role = projector.string_member(node, "role");
        let (kind, role) = classify(kind.as_deref(), role.as_deref());
        let id = item_section(projector, node, kind, role, Some(index));
        let call_id = projector.string_member(node, "call_id");
        let name = projector.string_member(node, "name");
        if let (Some(call), Some(name)) = (&call_id, &name) {
            projector.calls.insert(call.clone(), name.clone());
        }
        let tool = name.or_else(|| call_id.as_ref().and_then(|id| projector.calls.get(id).cloned()));
        let section = &mut projector.projection.sections[id.index()];
        section.exchange = Some(exchanges.of(kind, role, call_id.as_ref()));
        (section.tool, section.call_id) = (tool, call_id);
        item(projector, node, id, kind);
        projector.classify_user(id, None);
    }
}

/// What an item is, and who speaks in it.
fn classify(kind: Option<&str>, role: Option<&str>) -> (SectionKind, Role) {
    match (kind, role) {
        (None | Some("message"), Some("system" | "developer")) => (SectionKind::System, Role::System),
        (None | Some("message"), Some("user")) => (SectionKind::User, Role::User),
        (None | Some("message"), Some("assistant")) => (SectionKind::Assistant, Role::Assistant),
        (Some("reasoning"), _) => (SectionKind::Assistant, Role::Assistant),
        (Some("compaction"), _) => (SectionKind::History, Role::Assistant),
        (Some(kind), _) if kind.ends_with("_call_output") => (SectionKind::ToolResult, Role::Tool),
        (Some("mcp_approval_response" | "tool_search_output"), _) => (SectionKind::ToolResult, Role::Tool),
        // Calls of tools that the server runs hold their own result.
        (Some(kind), _) if kind.ends_with("_call") => (SectionKind::ToolCall, Role::Assistant),
        (Some("mcp_list_tools" | "mcp_approval_request"), _) => (SectionKind::ToolCall, Role::Assistant),
        _ => (SectionKind::Other, Role::Other),
    }
}

fn item_section(
    projector: &mut Projector<'_>,
    node: NodeId,
    kind: SectionKind,
    role: Role,
    message: Option<usize>,
) -> SectionId {
    let in_list = projector.body.node(node).key == (0, 0);
    projector.section(Section {
        kind,
        node_type: NodeType::Message,
        role,
        message,
        editable: kind != SectionKind::ToolCall,
        deletable: in_list && role != Role::System,
        ..super::option_section(node, None)
    })
}

fn item(projector: &mut Projector<'_>, node: NodeId, id: SectionId, kind: SectionKind) {
    let body = projector.body;
    let text = if kind == SectionKind::ToolResult { LeafKind::ToolResult } else { LeafKind::Text };
    projector.mark(node, LeafKind::Other, Access::Open);
    projector.members(node, Structure::Item, |this, member, key, _| match key {
        "content" | "output" | "outputs" | "summary" => {
            let text = if key == "summary" { LeafKind::Reasoning } else { text };
            parts(this, member, id, text);
        }
        // What an MCP server offers: names and schemas.
        "tools" => {
            this.mark(member, LeafKind::ToolSchema, Access::Open);
            for tool in body.children(member) {
                this.members(tool, Structure::ToolDefinition, |this, member, key, _| {
                    if key == "input_schema" {
                        this.schema(member);
                    }
                });
            }
        }
        _ => {}
    });
    // Reasoning with an encrypted copy is checked against it.
    let sealed = body.member(node, "encrypted_content").and_then(|member| body.scalar(member));
    if sealed == Some(ValueType::Text) {
        projector.mark(node, LeafKind::Reasoning, Access::Frozen);
    }
}

/// Content of an item: a string, or an array of parts.
fn parts(projector: &mut Projector<'_>, node: NodeId, around: SectionId, text: LeafKind) {
    let body = projector.body;
    projector.mark(node, text, Access::Open);
    if body.node(node).kind != Kind::Array {
        return;
    }
    // An item may have several lists of parts: reasoning has a summary and content. They are numbered as one, in body order.
    let first = projector.projection.sections.len() - around.index() - 1;
    for (index, part) in (first..).zip(body.children(node)) {
        let kind = projector.string_member(part, "type");
        let editable = kind.as_deref().is_some_and(|kind| kind.ends_with("text") || kind == "refusal");
        projector.sub_section(part, around, |section| {
            section.kind = SectionKind::ContentPart;
            section.node_type = NodeType::ContentPart;
            section.content_index = Some(index);
            section.content_kind = Some(super::content_kind(kind.as_deref()));
            section.editable = editable;
        });
        projector.mark(part, text, Access::Open);
        projector.members(part, Structure::Item, |this, member, key, _| match key {
            "text" | "refusal" => this.mark(member, text, Access::Open),
            "input_audio" => this.members(member, Structure::Item, |_, _, _, _| {}),
            _ => {}
        });
    }
}

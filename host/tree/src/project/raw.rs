//! prompt-tsx `Raw.ChatMessage[]` (`rawTypes.ts` of `@vscode/prompt-tsx`): roles and kinds of parts are numbers.
//!
//! The body is the array itself, or an object with `messages`. Content alone (an array of parts) is read as one message would be.

use super::{Access, Projector, Structure};
use crate::kinds::{ContentKind, LeafKind, Role, SectionKind};
use crate::node::{Kind, NodeId};
use crate::section::{NodeType, Section, SectionId};

/// `ChatCompletionContentPartKind.Text`.
const TEXT: &str = "1";

pub(super) fn project(projector: &mut Projector<'_>) {
    let body = projector.body;
    let root = body.root();
    projector.mark(root, LeafKind::RequestOption, Access::Open);
    match body.node(root).kind {
        Kind::Array => projector.exchanges(root, message),
        Kind::Object => body.children(root).for_each(|member| option(projector, member)),
        _ => super::generic::project(projector),
    }
}

fn option(projector: &mut Projector<'_>, member: NodeId) {
    let body = projector.body;
    if body.has_key(member, "messages") && body.node(member).kind == Kind::Array {
        return projector.exchanges(member, message);
    }
    projector.option(member, &body.key_text(body.node(member)));
}

fn message(projector: &mut Projector<'_>, node: NodeId, index: usize) -> SectionId {
    let body = projector.body;
    let role = body.member(node, "role").map(|role| body.content_text(role));
    let role = match role.as_deref() {
        Some("0") => Role::System,
        Some("1") => Role::User,
        Some("2") => Role::Assistant,
        Some("3") => Role::Tool,
        _ => Role::Other,
    };
    let name = projector.string_member(node, "name");
    let call_id = projector.string_member(node, "toolCallId");
    let tool = call_id.as_ref().and_then(|id| projector.calls.get(id).cloned());
    let id = projector.section(Section {
        kind: kind(role),
        node_type: NodeType::Message,
        role,
        message: Some(index),
        tool,
        call_id,
        deletable: role != Role::System,
        ..super::option_section(node, None)
    });
    projector.mark(node, LeafKind::Other, Access::Open);
    let text = if role == Role::Tool { LeafKind::ToolResult } else { LeafKind::Text };
    if body.member(node, "type").is_some() && body.member(node, "role").is_none() {
        // Content without its message.
        part(projector, node, text);
        return id;
    }
    projector.classify_user(id, name.as_deref());
    projector.members(node, Structure::RawMessage, |this, member, key, _| match key {
        "content" => content(this, member, id, text),
        "toolCalls" => {
            for (index, call) in body.children(member).enumerate() {
                this.tool_call(call, id, index);
            }
        }
        _ => {}
    });
    id
}

fn kind(role: Role) -> SectionKind {
    match role {
        Role::System => SectionKind::System,
        Role::User => SectionKind::User,
        Role::Assistant => SectionKind::Assistant,
        Role::Tool => SectionKind::ToolResult,
        Role::Other => SectionKind::Other,
    }
}

fn content(projector: &mut Projector<'_>, node: NodeId, message: SectionId, text: LeafKind) {
    let body = projector.body;
    projector.mark(node, text, Access::Open);
    if body.node(node).kind != Kind::Array {
        return;
    }
    for (index, node) in body.children(node).enumerate() {
        let kind = body.member(node, "type").map(|kind| body.content_text(kind));
        projector.sub_section(node, message, |section| {
            section.kind = SectionKind::ContentPart;
            section.node_type = NodeType::ContentPart;
            section.content_index = Some(index);
            section.content_kind = Some(content_kind(kind.as_deref()));
            section.editable = kind.as_deref() == Some(TEXT);
        });
        part(projector, node, text);
    }
}

/// `ChatCompletionContentPartKind`. The enum is open: later versions add to it.
pub(super) fn content_kind(kind: Option<&str>) -> ContentKind {
    match kind {
        Some("0") => ContentKind::Image,
        Some(TEXT) => ContentKind::Text,
        Some("2") => ContentKind::Opaque,
        Some("3") => ContentKind::CacheBreakpoint,
        Some("4") => ContentKind::Document,
        _ => ContentKind::Other,
    }
}

fn part(projector: &mut Projector<'_>, node: NodeId, text: LeafKind) {
    projector.mark(node, text, Access::Open);
    projector.members(node, Structure::RawPart, |this, member, key, _| match key {
        "text" => this.mark(member, text, Access::Open),
        "imageUrl" | "documentData" => this.members(member, Structure::RawPart, |_, _, _, _| {}),
        "value" => opaque_value(this, member),
        _ => {}
    });
}

/// What the endpoint put there for itself. Thinking that it signed or encrypted is checked as a whole.
fn opaque_value(projector: &mut Projector<'_>, node: NodeId) {
    let body = projector.body;
    if body.node(node).kind != Kind::Object {
        return;
    }
    projector.members(node, Structure::RawPart, |this, member, key, _| {
        let sealed = ["encrypted", "signature"].iter().any(|key| body.member(member, key).is_some());
        if key == "thinking" && sealed {
            this.mark(member, LeafKind::Reasoning, Access::Frozen);
        }
    });
}

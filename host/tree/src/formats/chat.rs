//! `POST /v1/chat/completions` ([API reference](https://platform.openai.com/docs/api-reference/chat/create)), with the extra fields
//! that OpenRouter, DeepSeek and Copilot clients send.

use leafgate_api::Api;

use super::{Likeness, Rules, Spec, USUAL, at_pointers, id_member, shape};
use crate::kinds::{LeafKind, Role, SectionKind, ValueType};
use crate::node::{JsonKind, NodeId};
use crate::project::{Access, BODY, MESSAGE, MemberTable, Projector, TOOL_CALL, content_kind, table};
use crate::section::SectionId;

/// The format that this file describes.
pub(super) static FORMAT: Spec = Spec {
    api: Some(Api::Chat),
    aliases: &["chat-completions"],
    // A list of messages. What other APIs with such a list alone offer makes a body certainly theirs.
    likeness: |body| shape::array(body, body.root(), "messages").map(|_| Likeness::Plausible),
    project,
    rules: Rules { roles: ROLES, part_kind: Some(content_kind), ..USUAL.rules },
    pairing: |body, section| id_member(body, section, &["tool_call_id", "id"]),
    chosen_tools: |body| at_pointers(body, &["/tool_choice/function/name", "/tool_choice/custom/name"]),
    // The two last ones are what tools were called before.
    tool_options: &["tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"],
    ..USUAL
};

const ROLES: &[(&str, Role)] = &[
    ("system", Role::System),
    ("developer", Role::System),
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("tool", Role::Tool),
    ("function", Role::Tool),
];

/// An element of a message's content.
static CONTENT: MemberTable = table! {
    "type" Metadata Protected "discriminator";
    "text" | "refusal" Text Open "the words themselves";
    "cache_control" Metadata Protected "a cache breakpoint";
    "image_url" | "input_audio" | "file" in MEDIA;
};

/// `image_url`, `input_audio`, `file` of a content part.
static MEDIA: MemberTable = table! {
    "url" Other Opaque "an image, where it is one; an address is scanned";
    "data" Other Opaque "sound, where it is some";
    "file_data" Other Opaque "a file, where it is a binary one";
    "format" Metadata Protected "says how to decode the data";
    "detail" Metadata Protected "discriminator";
    "file_id" Metadata Protected "id";
};

/// An element of `reasoning_details`.
static REASONING_DETAIL: MemberTable = table! {
    "type" Metadata Protected "discriminator";
    "id" Metadata Protected "id";
    "format" Metadata Protected "discriminator";
    "signature" Reasoning Frozen "signature";
    "data" Reasoning Frozen "encrypted by the provider";
};

fn project(projector: &mut Projector<'_>) {
    projector.mark(projector.body.root(), LeafKind::RequestOption, Access::Open);
    projector.members(projector.body.root(), &BODY, |this, member, key, _| match key {
        "messages" => messages(this, member),
        _ => this.option(member, key),
    });
    projector.classify_maps();
}

fn messages(projector: &mut Projector<'_>, messages: NodeId) {
    if projector.body.kind(messages) != JsonKind::Array {
        return projector.option(messages, "messages");
    }
    projector.exchanges(messages, message);
}

fn message(projector: &mut Projector<'_>, node: NodeId, index: usize) -> SectionId {
    let role = projector.role(node, ROLES);
    let call_id = projector.string_member(node, "tool_call_id").filter(|_| role == Role::Tool);
    // A legacy function result names its function; a tool result names its call.
    let tool = call_id.as_ref().and_then(|id| projector.calls.result_of(&**id));
    let tool = tool.or_else(|| projector.string_member(node, "name").filter(|_| role == Role::Tool));
    let id = projector.message(node, SectionKind::of_message(role), role, Some(index));
    let section = &mut projector.projection.sections[id.index()];
    (section.tool, section.call_id) = (tool, call_id);
    let text = if role == Role::Tool { LeafKind::ToolResult } else { LeafKind::Text };
    projector.mark(node, LeafKind::Other, Access::Open);
    projector.members(node, &MESSAGE, |this, member, key, _| match key {
        "content" => content(this, member, id, text),
        "tool_calls" => this.tool_calls(member, id),
        "function_call" => this.tool_call(member, id, 0),
        "audio" => this.object(member, &TOOL_CALL),
        "reasoning_details" => reasoning_details(this, member),
        _ => {}
    });
    let name = projector.text_member(node, "name");
    projector.classify_user(id, name.as_deref());
    id
}

/// A message's content: a string, or an array of parts.
fn content(projector: &mut Projector<'_>, node: NodeId, message: SectionId, text: LeafKind) {
    projector.mark(node, text, Access::Open);
    for (index, part) in projector.body.elements(node).enumerate() {
        let kind = projector.text_member(part, "type");
        let editable = matches!(kind.as_deref(), Some("text" | "refusal"));
        projector.part(part, message, index, content_kind(kind.as_deref()), editable);
        projector.mark(part, text, Access::Open);
        projector.members(part, &CONTENT, |this, member, key, row| match key {
            "text" => this.mark(member, text, Access::Open),
            _ if row.is_none() => this.mark(member, LeafKind::Other, Access::Open),
            _ => {}
        });
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
        projector.object(detail, &REASONING_DETAIL);
    }
}

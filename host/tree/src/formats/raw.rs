//! prompt-tsx `Raw.ChatMessage[]` (`rawTypes.ts` of `@vscode/prompt-tsx`): roles and kinds of parts are numbers.
//!
//! The body is the array itself, or an object with `messages`. Content alone (an array of parts) is read as one message would be.

use super::{Likeness, Rules, Spec, USUAL, id_member, shape};
use crate::kinds::{ContentKind, LeafKind, Role, SectionKind};
use crate::node::{JsonKind, NodeId};
use crate::project::{Access, MemberTable, Projector, table};
use crate::section::SectionId;

/// The format that this file describes.
pub(super) static FORMAT: Spec = Spec {
    aliases: &["prompt-tsx"],
    // Roles, or for content alone types, are numbers.
    likeness: |body| {
        let root = body.root();
        let messages = match body.kind(root) {
            JsonKind::Array => Some(root),
            _ => shape::array(body, root, "messages"),
        };
        messages.filter(|&messages| shape::speaks_in_numbers(body, messages)).map(|_| Likeness::Certain)
    },
    reads: |root| matches!(root, JsonKind::Object | JsonKind::Array),
    project,
    rules: Rules { roles: ROLES, part_kind: Some(content_kind), ..USUAL.rules },
    pairing: |body, section| id_member(body, section, &["toolCallId", "id"]),
    message: [r#"{"role":"#, r#","content":[{"type":1,"text":""#, r#""}]}"#],
    ..USUAL
};

const ROLES: &[(&str, Role)] =
    &[("0", Role::System), ("1", Role::User), ("2", Role::Assistant), ("3", Role::Tool)];

/// An element of `Raw.ChatMessage[]`.
static MESSAGE: MemberTable = table! {
    "role" Metadata Protected "discriminator: another number is another speaker";
    "name" Metadata Protected "identifies a speaker, or says what the message is";
    "toolCallId" Metadata Protected "pairs a result with its call";
};

/// An element of a raw message's content.
static PART: MemberTable = table! {
    "type" Metadata Protected "discriminator: another number is another kind of part";
    "text" Text Open "the words themselves";
    "value" Other Open "whatever the endpoint understands; signed thinking is frozen by its own type";
    "cacheType" Metadata Protected "a cache breakpoint";
    "scope" Metadata Protected "says where the value is usable";
    "mediaType" Metadata Protected "says how to decode the data";
    "detail" Metadata Protected "discriminator";
    "url" Other Opaque "an image, where it is one; an address is scanned";
    "data" Other Opaque "a document, where it is a binary one";
    "encrypted" Reasoning Frozen "encrypted by the provider";
    "signature" Reasoning Frozen "signature";
    "imageUrl" | "documentData" in PART;
};

/// `ChatCompletionContentPartKind.Text`.
const TEXT: &str = "1";

fn project(projector: &mut Projector<'_>) {
    let body = projector.body;
    let root = body.root();
    projector.mark(root, LeafKind::RequestOption, Access::Open);
    match body.kind(root) {
        JsonKind::Array => projector.exchanges(root, message),
        JsonKind::Object => body.children(root).for_each(|member| option(projector, member)),
        _ => {}
    }
    projector.classify_maps();
}

fn option(projector: &mut Projector<'_>, member: NodeId) {
    let body = projector.body;
    if body.has_key(member, "messages") && body.kind(member) == JsonKind::Array {
        return projector.exchanges(member, message);
    }
    projector.option(member, &body.key_of(member));
}

fn message(projector: &mut Projector<'_>, node: NodeId, index: usize) -> SectionId {
    let body = projector.body;
    let role = projector.role(node, ROLES);
    let name = projector.string_member(node, "name");
    let call_id = projector.string_member(node, "toolCallId");
    let tool = call_id.as_ref().and_then(|id| projector.calls.result_of(&**id));
    let id = projector.message(node, SectionKind::of_message(role), role, Some(index));
    let section = &mut projector.projection.sections[id.index()];
    (section.tool, section.call_id) = (tool, call_id);
    projector.mark(node, LeafKind::Other, Access::Open);
    let text = if role == Role::Tool { LeafKind::ToolResult } else { LeafKind::Text };
    if body.member(node, "type").is_some() && body.member(node, "role").is_none() {
        // Content without its message.
        part(projector, node, text);
        return id;
    }
    projector.classify_user(id, name.as_deref());
    projector.members(node, &MESSAGE, |this, member, key, _| match key {
        "content" => content(this, member, id, text),
        "toolCalls" => this.tool_calls(member, id),
        _ => {}
    });
    id
}

fn content(projector: &mut Projector<'_>, node: NodeId, message: SectionId, text: LeafKind) {
    let body = projector.body;
    projector.mark(node, text, Access::Open);
    for (index, node) in body.elements(node).enumerate() {
        let kind = body.member(node, "type").map(|kind| body.content_text(kind));
        let holds = content_kind(kind.as_deref());
        projector.part(node, message, index, holds, holds == ContentKind::Text);
        part(projector, node, text);
    }
}

/// `ChatCompletionContentPartKind`. The enum is open: later versions add to it.
fn content_kind(kind: Option<&str>) -> ContentKind {
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
    projector.members(node, &PART, |this, member, key, _| match key {
        "text" => this.mark(member, text, Access::Open),
        "value" => opaque_value(this, member),
        _ => {}
    });
}

/// What the endpoint put there for itself. Thinking that it signed or encrypted is checked as a whole.
fn opaque_value(projector: &mut Projector<'_>, node: NodeId) {
    let body = projector.body;
    if body.kind(node) != JsonKind::Object {
        return;
    }
    projector.members(node, &PART, |this, member, key, _| {
        let sealed = ["encrypted", "signature"].iter().any(|key| body.member(member, key).is_some());
        if key == "thinking" && sealed {
            this.mark(member, LeafKind::Reasoning, Access::Frozen);
        }
    });
}

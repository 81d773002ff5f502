//! JSON that no other projection maps: every member of the body is a section, every scalar a leaf.
//!
//! Request bodies of other model APIs pass here too, so what all of them call an id, a role, a type or a signature keeps its
//! protection. What a tool was called with, and documents inside strings, are data: there no key means anything.

use super::{Likeness, Spec, USUAL};
use crate::kinds::{LeafKind, SectionKind};
use crate::node::{JsonKind, NodeId};
use crate::project::{Access, MemberTable, Projector, option_section, table};

/// The format that this file describes.
pub(super) static FORMAT: Spec = Spec {
    aliases: &["json"],
    likeness: |_| Some(Likeness::Fallback),
    reads: |_| true,
    project,
    prompt_keys: &["prompt", "suffix", "input", "inputs", "query"],
    tool_options: &["tools", "tool_choice"],
    ..USUAL
};

/// Any object of a body that no other projection maps.
static OBJECT: MemberTable = table! {
    "type" Metadata Protected "discriminator";
    "role" Metadata Protected "discriminator";
    "model" Metadata Protected "selects the model";
    "id" Metadata Protected "id";
    "call_id" Metadata Protected "pairs a call with its result";
    "tool_call_id" Metadata Protected "pairs a call with its result";
    "tool_use_id" Metadata Protected "pairs a call with its result";
    "previous_response_id" Metadata Protected "names what the server stored";
    "signature" Reasoning Frozen "signature";
    "encrypted_content" Reasoning Frozen "encrypted by the provider";
    "encrypted_index" Reasoning Frozen "encrypted by the provider";
};

fn project(projector: &mut Projector<'_>) {
    let body = projector.body;
    let root = body.root();
    if body.kind(root) == JsonKind::Object {
        for member in body.children(root) {
            projector.section(option_section(member, None));
        }
        object(projector, root);
    } else {
        let mut section = option_section(root, None);
        section.kind = SectionKind::Other;
        projector.section(section);
        below(projector, root);
    }
}

fn below(projector: &mut Projector<'_>, node: NodeId) {
    let body = projector.body;
    match body.kind(node) {
        JsonKind::Object => object(projector, node),
        JsonKind::Array => body.children(node).for_each(|child| below(projector, child)),
        // A document in a string is data.
        _ => {}
    }
}

fn object(projector: &mut Projector<'_>, node: NodeId) {
    let body = projector.body;
    let kind = projector.text_member(node, "type");
    let signed = matches!(kind.as_deref(), Some("thinking" | "redacted_thinking" | "reasoning.encrypted"));
    if signed {
        projector.mark(node, LeafKind::Reasoning, Access::Frozen);
    }
    let named = ["type", "parameters", "input_schema", "arguments", "input"];
    let names = named.iter().any(|key| body.member(node, key).is_some());
    projector.members(node, &OBJECT, |this, member, key, field| match key {
        _ if field.is_some() || signed => {}
        "name" if names => this.mark(member, LeafKind::Metadata, Access::Protected),
        "input" | "arguments" if body.member(node, "name").is_some() => {
            this.mark(member, LeafKind::ToolArguments, Access::Open);
        }
        "parameters" | "input_schema" => this.schema(member),
        "text" | "content" | "instructions" | "prompt" | "system" => {
            this.mark(member, LeafKind::Text, Access::Open);
            below(this, member);
        }
        _ => below(this, member),
    });
}

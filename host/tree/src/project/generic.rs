//! JSON that no other projection maps: every member of the body is a section, every scalar a leaf.
//!
//! Request bodies of other model APIs pass here too, so what all of them call an id, a role, a type or a signature keeps its
//! protection. What a tool was called with, and documents inside strings, are data: there no key means anything.

use super::{Access, Projector, Structure, option_section};
use crate::kinds::{LeafKind, SectionKind};
use crate::node::{Flags, Kind, NodeId};

pub(super) fn project(projector: &mut Projector<'_>) {
    let body = projector.body;
    let root = body.root();
    if body.node(root).kind == Kind::Object {
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
    match body.node(node).kind {
        Kind::Object => object(projector, node),
        Kind::Array => body.children(node).for_each(|child| below(projector, child)),
        // A document in a string is data.
        Kind::String if body.node(node).flags.has(Flags::EMBEDS) => {}
        _ => {}
    }
}

fn object(projector: &mut Projector<'_>, node: NodeId) {
    let body = projector.body;
    let kind = projector.string_member(node, "type");
    let signed = matches!(kind.as_deref(), Some("thinking" | "redacted_thinking" | "reasoning.encrypted"));
    if signed {
        projector.mark(node, LeafKind::Reasoning, Access::Frozen);
    }
    let named = ["type", "parameters", "input_schema", "arguments", "input"];
    let names = named.iter().any(|key| body.member(node, key).is_some());
    projector.members(node, Structure::Unknown, |this, member, key, field| match key {
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

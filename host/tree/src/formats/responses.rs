//! `POST /v1/responses` ([API reference](https://platform.openai.com/docs/api-reference/responses/create)).
//!
//! `input` is a string or a list of items: messages (with or without a `type`), calls, outputs, reasoning. What the model put out in
//! one go stands together: reasoning is refused without the item that followed it, a call without its reasoning, an output without
//! its call. Such a run, with the outputs of its calls, is one exchange.

use std::collections::HashMap;
use std::sync::Arc;

use leafgate_api::{Api, responses};

use super::{Likeness, Rules, Spec, USUAL, at_pointers, id_member, model_member, shape};
use crate::index::Index;
use crate::kinds::{LeafKind, Role, SectionKind, ValueType};
use crate::node::{JsonKind, NodeId};
use crate::project::{Access, BODY, MemberTable, Projector, content_kind, table};
use crate::section::SectionId;

/// Members beside a textual `input` that make it a Responses request, whatever the model is called.
const OWN: &[&str] = &[
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

/// Bytes of the name of a model that are looked at.
const MODEL_BYTES: usize = 200;

/// Whether a body asks for embeddings: the same `model` and `input`, and the name of such a model or an option of that API.
fn is_of_embeddings(body: &Index) -> bool {
    let model = model_member(body).map(|model| body.text_start(model, MODEL_BYTES).to_ascii_lowercase());
    shape::has_any(body, body.root(), &["encoding_format", "dimensions"])
        || model.is_some_and(|model| ["embed", "moderation"].iter().any(|word| model.contains(word)))
}

/// The format that this file describes.
pub(super) static FORMAT: Spec = Spec {
    api: Some(Api::Responses),
    aliases: &["responses"],
    likeness: |body| {
        let root = body.root();
        let input = body.member(root, "input").filter(|_| body.kind(root) == JsonKind::Object)?;
        let has_items = body.children(input).any(|item| body.kind(item) == JsonKind::Object);
        let is_text = body.scalar(input) == Some(ValueType::Text);
        let names_model = model_member(body).is_some() && !is_of_embeddings(body);
        let is_one = has_items || is_text && (names_model || shape::has_any(body, root, OWN));
        is_one.then_some(Likeness::Plausible)
    },
    project,
    rules: Rules { roles: ROLES, part_kind: Some(content_kind), ..USUAL.rules },
    pairing: |body, section| id_member(body, section, &["call_id", "id"]),
    continues_stored: |body| body.member(body.root(), "previous_response_id").is_some(),
    chosen_tools: |body| at_pointers(body, &["/tool_choice/name"]),
    tool_options: &["tools", "tool_choice", "parallel_tool_calls", "max_tool_calls"],
    ..USUAL
};

const ROLES: &[(&str, Role)] = &[
    ("system", Role::System),
    ("developer", Role::System),
    ("user", Role::User),
    ("assistant", Role::Assistant),
];

/// What an MCP server offers.
static OFFERED: MemberTable = table! {
    "type" ToolSchema Protected "discriminator";
    "name" ToolSchema Protected "names a function";
    "input_schema" schema;
};

/// An element of the Responses API's `input`.
static ITEM: MemberTable = table! {
    "type" Metadata Protected "discriminator";
    "role" Metadata Protected "discriminator";
    "id" Metadata Protected "id";
    "call_id" Metadata Protected "pairs a call with its result";
    "status" Metadata Protected "state that the API keeps";
    "phase" Metadata Protected "state that the API keeps";
    "execution" Metadata Protected "discriminator";
    "name" Metadata Protected "names a tool";
    "namespace" Metadata Protected "names a group of tools";
    "server_label" Metadata Protected "names a server";
    "container_id" Metadata Protected "id";
    "approval_request_id" Metadata Protected "pairs an approval with its request";
    "encrypted_content" Reasoning Frozen "encrypted by the provider";
    "arguments" ToolArguments Open "what the tool is called with";
    "input" ToolArguments Open "what a custom tool is called with";
    "code" ToolArguments Open "what the interpreter is called with";
    "action" ToolArguments Open "what a computer or shell tool is called with";
    "output" ToolResult Open "what the tool gave back";
    "outputs" ToolResult Open "what the interpreter gave back";
    "result" ToolResult Opaque "a generated image, where it is one";
    "text" Text Open "the words themselves";
    "refusal" Text Open "the model's words";
    "image_url" Other Opaque "an image, where it is one; an address is scanned";
    "file_data" Other Opaque "a file, where it is a binary one";
    "data" Other Opaque "sound, where it is some";
    "format" Metadata Protected "says how to decode the data";
    "detail" Metadata Protected "discriminator";
    "file_id" Metadata Protected "id";
};

fn project(projector: &mut Projector<'_>) {
    projector.mark(projector.body.root(), LeafKind::RequestOption, Access::Open);
    projector.members(projector.body.root(), &BODY, |this, member, key, _| match key {
        "instructions" => {
            this.message(member, SectionKind::System, Role::System, None);
            this.mark(member, LeafKind::Text, Access::Open);
        }
        "input" if this.body.kind(member) == JsonKind::Array => items(this, member),
        "input" => {
            this.message(member, SectionKind::User, Role::User, Some(0));
            this.mark(member, LeafKind::Text, Access::Open);
        }
        _ => this.option(member, key),
    });
    projector.classify_maps();
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
        let item_type = projector.string_member(node, "type");
        let (kind, role) = classify(item_type.as_deref(), projector.role(node, ROLES));
        let id = projector.message(node, kind, role, Some(index));
        let call_id = projector.string_member(node, "call_id");
        let name = || projector.string_member(node, "name");
        let tool = match kind {
            SectionKind::ToolResult => {
                let called = call_id.as_ref().and_then(|id| projector.calls.result_of(&**id));
                called.or_else(|| projector.string_member(node, "name"))
            }
            SectionKind::ToolCall if is_nameless(item_type.as_deref()) => item_type,
            SectionKind::ToolCall => name().or(item_type),
            _ => name(),
        };
        if let (SectionKind::ToolCall, Some(call), Some(tool)) = (kind, &call_id, &tool) {
            projector.calls.call(call.clone(), tool.clone());
        }
        let section = &mut projector.projection.sections[id.index()];
        section.exchange = Some(exchanges.of(kind, role, call_id.as_ref()));
        (section.tool, section.call_id) = (tool, call_id);
        section.editable = kind != SectionKind::ToolCall;
        item(projector, node, id, kind);
        projector.classify_user(id, None);
    }
}

/// Whether a call has no name, but for its type: a member `name` beside it names nothing.
fn is_nameless(kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| responses::NAMELESS.iter().any(|(own, _)| *own == kind))
}

/// What an item is, and who speaks in it.
fn classify(kind: Option<&str>, role: Role) -> (SectionKind, Role) {
    match kind.unwrap_or("message") {
        "message" => (SectionKind::of_message(role), role),
        "reasoning" => (SectionKind::Assistant, Role::Assistant),
        "compaction" => (SectionKind::History, Role::Assistant),
        "mcp_approval_response" | "tool_search_output" => (SectionKind::ToolResult, Role::Tool),
        kind if kind.ends_with("_call_output") => (SectionKind::ToolResult, Role::Tool),
        "mcp_list_tools" | "mcp_approval_request" => (SectionKind::ToolCall, Role::Assistant),
        // Calls of tools that the server runs hold their own result.
        kind if responses::is_call(kind) => (SectionKind::ToolCall, Role::Assistant),
        _ => (SectionKind::Other, Role::Other),
    }
}

fn item(projector: &mut Projector<'_>, node: NodeId, id: SectionId, kind: SectionKind) {
    let body = projector.body;
    let text = if kind == SectionKind::ToolResult { LeafKind::ToolResult } else { LeafKind::Text };
    projector.mark(node, LeafKind::Other, Access::Open);
    projector.members(node, &ITEM, |this, member, key, _| match key {
        "content" | "output" | "outputs" | "summary" => {
            let text = if key == "summary" { LeafKind::Reasoning } else { text };
            parts(this, member, id, text);
        }
        "tools" => {
            this.mark(member, LeafKind::ToolSchema, Access::Open);
            body.children(member).for_each(|tool| this.object(tool, &OFFERED));
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
    // An item may have several lists of parts: reasoning has a summary and content. They are numbered as one, in body order.
    let first = projector.projection.sections.len() - around.index() - 1;
    for (index, part) in (first..).zip(body.elements(node)) {
        let kind = projector.text_member(part, "type");
        let editable = kind.as_deref().is_some_and(|kind| kind.ends_with("text") || kind == "refusal");
        projector.part(part, around, index, content_kind(kind.as_deref()), editable);
        projector.mark(part, text, Access::Open);
        projector.members(part, &ITEM, |this, member, key, _| match key {
            "text" | "refusal" => this.mark(member, text, Access::Open),
            "input_audio" => this.object(member, &ITEM),
            _ => {}
        });
    }
}

//! Formats as projections: which parts of the tree are sections, what each leaf is, and who may change it.
//!
//! A projection names places and never copies text. Whatever it does not know stays an ordinary, open leaf: an unknown block is
//! walked and scanned like any other.

mod access;
mod anthropic_messages;
pub(crate) mod classify;
mod generic;
mod openai_chat;
mod openai_responses;
mod raw;
mod shape;
mod vscode_chat;

pub use access::{Access, MEDIA_MAGIC};

use std::collections::HashMap;
use std::sync::Arc;

use crate::index::Index;
use crate::kinds::{ContentKind, Format, LeafKind, Role, SectionKind, ValueType};
use crate::node::{Kind, NodeId};
use crate::section::{NodeType, Section, SectionId};
use access::{Field, Structure};

/// What the format says about every node.
pub(crate) struct Projection {
    pub(crate) sections: Vec<Section>,
    marks: Vec<Mark>,
}

/// What the format says about one node; the default is an open leaf of no section.
#[derive(Clone, Copy)]
struct Mark {
    section: u32,
    kind: LeafKind,
    access: Access,
}

const NO_SECTION: u32 = u32::MAX;

impl Projection {
    pub(crate) fn section_of(&self, node: NodeId) -> Option<SectionId> {
        let section = self.marks[node.index()].section;
        (section != NO_SECTION).then_some(SectionId(section))
    }

    pub(crate) fn kind(&self, node: NodeId) -> LeafKind {
        self.marks[node.index()].kind
    }

    pub(crate) fn access(&self, node: NodeId) -> Access {
        self.marks[node.index()].access
    }
}

/// The format whose shape a body has.
pub(crate) fn format_of_shape(body: &Index) -> Format {
    shape::format(body)
}

/// Projects a body by a format.
pub(crate) fn project(body: &Index, format: Format) -> Projection {
    let mark = Mark { section: NO_SECTION, kind: LeafKind::Other, access: Access::Open };
    let marks = vec![mark; body.node_count()];
    let mut projector =
        Projector { body, projection: Projection { sections: Vec::new(), marks }, calls: Calls::new() };
    let is_object = body.node(body.root()).kind == Kind::Object;
    match format {
        Format::OpenaiChat if is_object => openai_chat::project(&mut projector),
        Format::OpenaiResponses if is_object => openai_responses::project(&mut projector),
        Format::AnthropicMessages if is_object => anthropic_messages::project(&mut projector),
        Format::Raw => raw::project(&mut projector),
        Format::VscodeChat if is_object => vscode_chat::project(&mut projector),
        _ => generic::project(&mut projector),
    }
    if format != Format::VscodeChat {
        projector.classify_maps();
    }
    projector.projection
}

/// Names of the tools called so far, by call id.
type Calls = HashMap<Arc<str>, Arc<str>>;

/// Marks subtrees from the outside in: what comes later overrides.
struct Projector<'d> {
    body: &'d Index,
    projection: Projection,
    calls: Calls,
}

impl Projector<'_> {
    /// Adds a section and claims its whole subtree for it.
    fn section(&mut self, section: Section) -> SectionId {
        let id = SectionId(self.projection.sections.len() as u32);
        for mark in &mut self.projection.marks[self.body.subtree(section.node)] {
            mark.section = id.0;
        }
        self.projection.sections.push(section);
        id
    }

    /// Says what a whole subtree is.
    fn mark(&mut self, node: NodeId, kind: LeafKind, access: Access) {
        for mark in &mut self.projection.marks[self.body.subtree(node)] {
            (mark.kind, mark.access) = (kind, access);
        }
    }

    /// Marks the members of an object by the table of its structure; members that the table does not know stay as they are.
    /// Calls `visit` for each member, with what the table says of it.
    fn members(
        &mut self,
        object: NodeId,
        structure: Structure,
        mut visit: impl FnMut(&mut Self, NodeId, &str, Option<&Field>),
    ) {
        let body = self.body;
        for member in body.children(object) {
            let key = body.key_text(body.node(member));
            let field = access::field(structure, &key);
            if let Some(field) = field {
                let access = match field.access {
                    Access::Opaque if !self.is_media(member) => Access::Open,
                    access => access,
                };
                self.mark(member, field.kind, access);
            }
            visit(self, member, &key, field);
        }
    }

    /// Whether a leaf at a place for media really holds media. A place alone hides nothing: its text is scanned like any other.
    fn is_media(&self, node: NodeId) -> bool {
        self.body.scalar(node) == Some(ValueType::Text) && access::is_media(&self.body.content_text(node))
    }

    /// Marks a JSON Schema: what the schema language itself names is protected, descriptions and examples are open.
    fn schema(&mut self, schema: NodeId) {
        self.mark(schema, LeafKind::ToolSchema, Access::Open);
        self.schema_keywords(schema);
    }

    fn schema_keywords(&mut self, schema: NodeId) {
        let body = self.body;
        if body.node(schema).kind != Kind::Object {
            return;
        }
        self.members(schema, Structure::Schema, |this, member, key, field| {
            if field.is_some() {
                return;
            }
            match access::schema_applicator(key) {
                Some(access::Applicator::Schema) if body.node(member).kind == Kind::Array => {
                    body.children(member).for_each(|item| this.schema_keywords(item));
                }
                Some(access::Applicator::Schema) => this.schema_keywords(member),
                Some(access::Applicator::NamedSchemas) => {
                    body.children(member).for_each(|named| this.schema_keywords(named));
                }
                None => {}
            }
        });
    }

    /// Adds a section below a message or a part of one, with the message's role and place.
    fn sub_section(
        &mut self,
        node: NodeId,
        message: SectionId,
        fill: impl FnOnce(&mut Section),
    ) -> SectionId {
        let parent = &self.projection.sections[message.index()];
        let (role, place) = (parent.role, parent.message);
        // A result's parts belong to the same tool as the result.
        let (tool, call_id) = (parent.tool.clone(), parent.call_id.clone());
        let mut section =
            Section { role, message: place, tool, call_id, ..option_section(node, Some(message)) };
        fill(&mut section);
        self.section(section)
    }

    /// Projects the elements of a list of messages and numbers their exchanges, where a result is a message of its own: a message with
    /// calls and the results right behind it are one.
    fn exchanges(&mut self, messages: NodeId, message: fn(&mut Self, NodeId, usize) -> SectionId) {
        let (mut exchange, mut makes_calls) = (0, false);
        for (index, node) in self.body.children(messages).enumerate() {
            let id = message(self, node, index);
            let is_result = self.projection.sections[id.index()].role == Role::Tool;
            if !(is_result && makes_calls) {
                exchange += 1;
                let below = &self.projection.sections[id.index()..];
                makes_calls = below.iter().any(|section| section.kind == SectionKind::ToolCall);
            }
            self.projection.sections[id.index()].exchange = Some(exchange);
        }
    }

    /// An element of `tool_calls`, in the shape that OpenAI chat and raw messages share.
    fn tool_call(&mut self, node: NodeId, message: SectionId, index: usize) {
        let body = self.body;
        let id = self.string_member(node, "id");
        let function =
            body.member(node, "function").or_else(|| body.member(node, "custom")).unwrap_or(node);
        let name = self.string_member(function, "name");
        if let (Some(id), Some(name)) = (&id, &name) {
            self.calls.insert(id.clone(), name.clone());
        }
        self.sub_section(node, message, |section| {
            section.kind = SectionKind::ToolCall;
            section.node_type = NodeType::ToolCall;
            section.tool_call_index = Some(index);
            section.tool = name;
            section.call_id = id;
            // The call as a whole is no text; the leaves of its arguments are.
            section.editable = false;
        });
        self.members(node, Structure::ToolCall, |this, member, key, _| {
            if matches!(key, "function" | "custom") {
                this.members(member, Structure::CalledFunction, |_, _, _, _| {});
            }
        });
    }

    /// A member of the body beside the messages: a section of its own, and for tool definitions one each.
    fn option(&mut self, node: NodeId, key: &str) {
        let mut section = option_section(node, None);
        if key == "prediction" {
            section.kind = SectionKind::Prediction;
        }
        let id = self.section(section);
        match key {
            "tools" | "functions" => self.tool_definitions(node, id),
            "tool_choice" | "function_call" => self.mark(node, LeafKind::RequestOption, Access::Protected),
            "response_format" | "text" | "output_config" | "output_format" => self.output_format(node),
            "prediction" => {
                self.mark(node, LeafKind::Text, Access::Open);
                self.members(node, Structure::Part, |_, _, _, _| {});
            }
            _ => {}
        }
    }

    fn tool_definitions(&mut self, node: NodeId, parent: SectionId) {
        let body = self.body;
        self.mark(node, LeafKind::ToolSchema, Access::Open);
        // Definitions stand in an array; a member of an object would leave its key behind.
        let deletable = body.node(node).kind == Kind::Array;
        for definition in body.children(node) {
            let function =
                body.member(definition, "function").or_else(|| body.member(definition, "custom"));
            let tool = self.string_member(function.unwrap_or(definition), "name");
            self.section(Section { tool, deletable, ..option_section(definition, Some(parent)) });
            self.members(definition, Structure::ToolDefinition, |this, member, key, _| match key {
                "function" | "custom" => this.named_schema(member, "parameters"),
                "parameters" | "input_schema" => this.schema(member),
                _ => {}
            });
        }
    }

    /// The shape that an answer must have: a type, perhaps a name, and a schema somewhere below.
    fn output_format(&mut self, node: NodeId) {
        self.members(node, Structure::Part, |this, member, key, _| match key {
            "json_schema" => this.named_schema(member, "schema"),
            "format" => {
                this.members(member, Structure::ToolDefinition, |_, _, _, _| {});
                this.named_schema(member, "schema");
            }
            "schema" => this.schema(member),
            _ => {}
        });
    }

    fn named_schema(&mut self, node: NodeId, schema: &str) {
        self.members(node, Structure::NamedSchema, |this, member, key, _| {
            if key == schema {
                this.schema(member);
            }
        });
    }

    /// The text of a string member, for names and ids.
    fn string_member(&self, object: NodeId, key: &str) -> Option<Arc<str>> {
        let member = self.body.member(object, key)?;
        (self.body.scalar(member) == Some(ValueType::Text)).then(|| Arc::from(self.body.content_text(member)))
    }
}

/// What a part of content holds, by the name of its type. The three APIs share this vocabulary: no name means two things.
fn content_kind(part_type: Option<&str>) -> ContentKind {
    match part_type.unwrap_or_default() {
        "text" | "input_text" | "output_text" | "summary_text" | "refusal" => ContentKind::Text,
        "image" | "image_url" | "input_image" | "computer_screenshot" => ContentKind::Image,
        "audio" | "input_audio" | "output_audio" => ContentKind::Audio,
        "file" | "input_file" | "document" | "search_result" | "container_upload" => ContentKind::Document,
        "thinking" | "redacted_thinking" | "reasoning_text" => ContentKind::Thinking,
        "compaction" | "compaction_summary" => ContentKind::Opaque,
        result if result.ends_with("tool_result") => ContentKind::ToolResult,
        _ => ContentKind::Other,
    }
}

/// What a part of content of this type holds in a format.
pub(crate) fn part_kind(format: Format, part_type: &str) -> Option<ContentKind> {
    match format {
        Format::Raw => Some(raw::content_kind(Some(part_type))),
        Format::VscodeChat | Format::Generic => None,
        _ => Some(content_kind(Some(part_type))),
    }
}

/// A section of the request's options, with nothing filled in that options do not have.
fn option_section(node: NodeId, parent: Option<SectionId>) -> Section {
    Section {
        kind: SectionKind::RequestOption,
        node_type: NodeType::RequestOption,
        role: Role::Other,
        node,
        parent,
        message: None,
        content_index: None,
        content_kind: None,
        tool_call_index: None,
        tool: None,
        call_id: None,
        exchange: None,
        editable: true,
        deletable: false,
    }
}

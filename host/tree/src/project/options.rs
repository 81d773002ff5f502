//! Members of the body beside the messages, in the names that several APIs share, and what parts of content hold by their types.

use super::{Access, MemberTable, Projector, option_section, table};
use crate::kinds::{ContentKind, LeafKind, SectionKind};
use crate::node::NodeId;

/// The request itself.
pub(crate) static BODY: MemberTable = table! {
    "model" RequestOption Protected "selects the model";
    "previous_response_id" RequestOption Protected "names what the server stored";
    "conversation" RequestOption Protected "names what the server stored";
};

/// An element of `messages`.
pub(crate) static MESSAGE: MemberTable = table! {
    "role" Metadata Protected "discriminator";
    "name" Metadata Protected "identifies a speaker or a legacy function";
    "tool_call_id" Metadata Protected "pairs a result with its call";
    "refusal" Text Open "the model's words";
    "reasoning" Reasoning Open "the model's words, unsigned";
    "reasoning_content" Reasoning Open "the model's words, unsigned";
};

/// An element of a message's content.
static PART: MemberTable = table! {
    "type" Metadata Protected "discriminator";
    "text" Text Open "the words themselves";
    "refusal" Text Open "the model's words";
};

/// The shape that an answer must have: a type, perhaps a name, and a schema somewhere below.
static OUTPUT_FORMAT: MemberTable = table! {
    "type" Metadata Protected "discriminator";
    "text" | "refusal" Text Open "the model's words";
    "format" | "json_schema" in NAMED_SCHEMA;
    "schema" schema;
};

/// `format` and `json_schema` of a response format.
static NAMED_SCHEMA: MemberTable = table! {
    "type" Metadata Protected "discriminator";
    "name" Metadata Protected "names a schema";
    "schema" schema;
};

impl Projector<'_> {
    /// A member of the body beside the messages: a section of its own, and for tool definitions one each.
    pub(crate) fn option(&mut self, node: NodeId, key: &str) {
        let mut section = option_section(node, None);
        if key == "prediction" {
            section.kind = SectionKind::Prediction;
        }
        let id = self.section(section);
        match key {
            "tools" | "functions" => self.tool_definitions(node, id),
            "tool_choice" | "function_call" => self.mark(node, LeafKind::RequestOption, Access::Protected),
            "response_format" | "text" | "output_config" | "output_format" => {
                self.object(node, &OUTPUT_FORMAT)
            }
            "prediction" => {
                self.mark(node, LeafKind::Text, Access::Open);
                self.object(node, &PART);
            }
            _ => {}
        }
    }
}

/// What a part of content holds, by the name of its type. The three APIs share this vocabulary: no name means two things.
pub(crate) fn content_kind(part_type: Option<&str>) -> ContentKind {
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

//! What sections are called: keys for programs, labels for people. Both are made when somebody asks.

use crate::document::Document;
use crate::draft::Draft;
use crate::index::Segment;
use crate::kinds::{ContentKind, SectionKind};
use crate::project::classify;
use crate::section::{NodeType, Section, SectionId};

impl Draft {
    /// The key of a section: `user-1`, `system` for one beside the messages, `user-1/content/0`, `assistant-2/toolCall/0`, `requestOptions/tools`.
    pub fn section_key(&self, id: SectionId) -> String {
        let document = self.document();
        let section = document.section(id);
        let parent = section.parent.map(|parent| self.section_key(parent));
        match (parent, section.node_type) {
            (Some(parent), NodeType::ContentPart) => {
                format!("{parent}/content/{}", section.content_index.unwrap_or(0))
            }
            (Some(parent), NodeType::ToolCall) => {
                format!("{parent}/toolCall/{}", section.tool_call_index.unwrap_or(0))
            }
            (Some(parent), _) => format!("{parent}/{}", document.node(section.node).slot),
            (None, NodeType::RequestOption) => format!("requestOptions/{}", self.option_name(section)),
            // `system` and `instructions` stand beside the messages, the first of which may be of the same kind.
            (None, _) => match section.message {
                Some(message) => format!("{}-{}", section.kind, message),
                None => section.kind.to_string(),
            },
        }
    }

    /// The label of a section as shown to people: `User`, `Content #1`, `Tool call · read_file`; that of a context message names
    /// its path as the text has it now.
    pub fn section_label(&self, id: SectionId) -> String {
        let document = self.document();
        let section = document.section(id);
        let tool = section.tool.as_deref().or(section.call_id.as_deref());
        match (section.node_type, section.parent, tool) {
            (NodeType::ContentPart, _, Some(tool)) if section.kind == SectionKind::ToolResult => {
                message_label(section.kind, Some(tool))
            }
            (NodeType::ContentPart, ..) => {
                let what = if section.kind == SectionKind::Context {
                    section.kind
                } else {
                    SectionKind::ContentPart
                };
                format!("{} #{}", what.title(), section.content_index.unwrap_or(0) + 1)
            }
            (NodeType::ToolCall, _, Some(tool)) => format!("Tool call · {tool}"),
            (NodeType::ToolCall, _, None) => "Tool call".to_owned(),
            (NodeType::RequestOption, Some(_), Some(tool)) => format!("Tool · {tool}"),
            (NodeType::RequestOption, Some(_), None) if section.kind == SectionKind::Other => {
                format!("Request #{}", document.node(section.node).slot + 1)
            }
            (NodeType::RequestOption, Some(_), None) if document.is_element(section.node) => {
                "Tool".to_owned()
            }
            (NodeType::RequestOption, None, _) if document.is_raw() => "Raw prompt".to_owned(),
            (NodeType::RequestOption, _, _) => self.option_name(section),
            (NodeType::Message, ..) if section.kind == SectionKind::Context => self.context_label(section),
            (NodeType::Message, ..) => message_label(section.kind, tool),
        }
    }

    fn context_label(&self, section: &Section) -> String {
        let (document, title) = (self.document(), section.kind.title());
        let text = document.first_text(section.node, document.format().spec().content_key);
        let text = text.map(|text| self.text(text));
        match text.as_ref().and_then(|text| classify::context_path(text.expose())) {
            Some(path) => format!("{title} · {path}"),
            None => title.to_owned(),
        }
    }

    fn option_name(&self, section: &Section) -> String {
        match self.segment(section.node) {
            Some(Segment::Key(key)) => key.into_owned(),
            Some(Segment::Index(_)) | None => "body".to_owned(),
        }
    }
}

impl Document {
    /// How many messages and content parts are of kinds that their format does not know. They are walked like any other.
    pub fn unknown_sections(&self) -> usize {
        let unknown = |section: &&Section| match section.node_type {
            NodeType::Message => section.kind == SectionKind::Other,
            _ => section.content_kind == Some(ContentKind::Other),
        };
        self.sections().iter().filter(unknown).count()
    }
}

fn message_label(kind: SectionKind, tool: Option<&str>) -> String {
    match tool {
        Some(tool) if matches!(kind, SectionKind::ToolResult | SectionKind::ToolCall) => {
            format!("{} · {tool}", kind.title())
        }
        _ => kind.title().to_owned(),
    }
}

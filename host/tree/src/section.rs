//! What a person sees as one card: a message, a part of its content, a tool call, an option of the request.
//!
//! Sections are a projection over the tree. They hold places, never text; labels are made when somebody asks.

use std::sync::Arc;

use serde::Serialize;

use crate::document::Document;
use crate::draft::Draft;
use crate::kinds::{ContentKind, Role, SectionKind};
use crate::node::NodeId;
use crate::project::classify;

/// Place of a section in [`Document::sections`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SectionId(pub(crate) u32);

impl SectionId {
    /// The place as a number.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The section at a place, as [`SectionId::index`] gave it.
    ///
    /// # Panics
    /// Where the number does not fit 32 bits, which no document reaches.
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        SectionId(u32::try_from(index).expect("a document holds fewer than 2^32 sections"))
    }
}

/// Which level of the request a section stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeType {
    /// A whole message.
    Message,
    /// An element of a message's content.
    ContentPart,
    /// An element of a message's tool calls.
    ToolCall,
    /// A member of the body beside the messages, or a tool definition in it.
    RequestOption,
}

/// One section.
#[derive(Clone, Debug)]
pub struct Section {
    /// What it is.
    pub kind: SectionKind,
    /// Which level it stands for.
    pub node_type: NodeType,
    /// Role of the message that it is or belongs to.
    pub role: Role,
    /// The value that it covers, with everything below.
    pub node: NodeId,
    /// The section around it.
    pub parent: Option<SectionId>,
    /// Place of its message among the messages, from 0.
    pub message: Option<usize>,
    /// Place among the message's content parts, from 0.
    pub content_index: Option<usize>,
    /// What a content part holds.
    pub content_kind: Option<ContentKind>,
    /// Place among the message's tool calls, from 0.
    pub tool_call_index: Option<usize>,
    /// The tool's name where it is a call, a result or a definition.
    pub tool: Option<Arc<str>>,
    /// The id that pairs a call with its result.
    pub call_id: Option<Arc<str>>,
    /// Messages with the same number stand and fall together: calls with their results, reasoning with what it led to.
    pub exchange: Option<u32>,
    /// Whether a person may edit leaves in it.
    pub editable: bool,
    /// Whether it may be deleted as a whole.
    pub deletable: bool,
}

impl Document {
    /// The key of a section: `user-1`, `system` for one beside the messages, `user-1/content/0`, `assistant-2/toolCall/0`, `requestOptions/tools`.
    #[must_use]
    pub fn section_key(&self, id: SectionId) -> String {
        let section = self.section(id);
        let parent = section.parent.map(|parent| self.section_key(parent));
        match (parent, section.node_type) {
            (Some(parent), NodeType::ContentPart) => {
                format!("{parent}/content/{}", section.content_index.unwrap_or(0))
            }
            (Some(parent), NodeType::ToolCall) => {
                format!("{parent}/toolCall/{}", section.tool_call_index.unwrap_or(0))
            }
            (Some(parent), _) => format!("{parent}/{}", self.node(section.node).slot),
            (None, NodeType::RequestOption) => format!("requestOptions/{}", self.option_name(section)),
            // `system` and `instructions` stand beside the messages, the first of which may be of the same kind.
            (None, _) => match section.message {
                Some(index) => format!("{}-{index}", section.kind),
                None => section.kind.to_string(),
            },
        }
    }

    /// The label of a section as shown to people: `User`, `Content #1`, `Tool call · read_file`.
    #[must_use]
    pub fn section_label(&self, id: SectionId) -> String {
        let section = self.section(id);
        let tool = section.tool.as_deref().or(section.call_id.as_deref());
        match (section.node_type, section.parent, tool) {
            (NodeType::ContentPart, _, Some(tool)) if section.kind == SectionKind::ToolResult => {
                message_label(section.kind, Some(tool))
            }
            (NodeType::ContentPart, ..) => format!("Content #{}", section.content_index.unwrap_or(0) + 1),
            (NodeType::ToolCall, _, Some(tool)) => format!("Tool call · {tool}"),
            (NodeType::ToolCall, _, None) => "Tool call".to_owned(),
            (NodeType::RequestOption, Some(_), Some(tool)) => format!("Tool · {tool}"),
            (NodeType::RequestOption, Some(_), None) => "Tool".to_owned(),
            (NodeType::RequestOption, None, _) if self.is_raw() => "Raw prompt".to_owned(),
            (NodeType::RequestOption, None, _) => self.option_name(section),
            (NodeType::Message, _, Some(tool)) if section.kind == SectionKind::ToolResult => {
                format!("Tool result · {tool}")
            }
            (NodeType::Message, ..) => title(section.kind).to_owned(),
        }
    }

    /// How many messages and content parts are of kinds that their format does not know. They are walked like any other.
    #[must_use]
    pub fn unknown_sections(&self) -> usize {
        let unknown = |section: &&Section| match section.node_type {
            NodeType::Message => section.kind == SectionKind::Other,
            _ => section.content_kind == Some(ContentKind::Other),
        };
        self.sections().iter().filter(unknown).count()
    }

    fn option_name(&self, section: &Section) -> String {
        let node = self.node(section.node);
        if node.key == (0, 0) { "body".to_owned() } else { self.key_text(node).into_owned() }
    }
}

impl Draft {
    /// The label of a section as shown to people; that of a context message names its path as the text has it now.
    #[must_use]
    pub fn section_label(&self, id: SectionId) -> String {
        let document = self.document();
        let label = document.section_label(id);
        let section = document.section(id);
        if section.node_type != NodeType::Message || section.kind != SectionKind::Context {
            return label;
        }
        let text = document.first_text(section.node).map(|text| self.text(text));
        match text.as_ref().and_then(|text| classify::context_path(text.expose())) {
            Some(path) => format!("{label} · {path}"),
            None => label,
        }
    }
}

fn message_label(kind: SectionKind, tool: Option<&str>) -> String {
    match tool {
        Some(tool) if matches!(kind, SectionKind::ToolResult | SectionKind::ToolCall) => {
            format!("{} · {tool}", title(kind))
        }
        _ => title(kind).to_owned(),
    }
}

fn title(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::System => "System",
        SectionKind::User => "User",
        SectionKind::Assistant => "Assistant",
        SectionKind::Context => "Context",
        SectionKind::History => "History",
        SectionKind::ToolCall => "Tool call",
        SectionKind::ToolResult => "Tool result",
        SectionKind::ContentPart => "Content",
        SectionKind::Prediction => "Prediction",
        SectionKind::RequestOption => "Option",
        SectionKind::Other => "Message",
    }
}

//! What a person sees as one card: a message, a part of its content, a tool call, an option of the request.
//!
//! Sections hold places, never text.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::kinds::{ContentKind, Role, SectionKind};
use crate::node::NodeId;

/// Place of a section in [`crate::Document::sections`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SectionId(pub(crate) u32);

impl SectionId {
    /// The place as a number.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The section at a place, as [`SectionId::index`] gave it.
    ///
    /// # Panics
    /// Where the number does not fit 32 bits, which no document reaches.
    pub fn from_index(index: usize) -> Self {
        SectionId(u32::try_from(index).expect("a document holds fewer than 2^32 sections"))
    }
}

/// Which level of the request a section stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum NodeType {
    /// A whole message.
    Message,
    /// An element of a message's content.
    ContentPart,
    /// An element of a message's tool calls.
    ToolCall,
    /// A member of the body beside the messages, or a tool definition in it.
    #[default]
    RequestOption,
}

/// What is known of a call that stands in no message of a body.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("CallBefore({})", self.tool)]
pub struct CallBefore {
    /// Its tool.
    pub tool: Arc<str>,
    /// The name of the file that it reads, as the model spelled it; `None` where that is not certain.
    pub file: Option<Arc<str>>,
}

/// One section.
#[derive(Clone, Debug, Default)]
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
    /// What is known of its call, where it is a result and the call stands in no message of the body.
    pub call_before: Option<CallBefore>,
    /// Whether it says of itself that it is a call of this tool, and nobody offered that one.
    pub is_doubted: bool,
    /// The id that pairs a call with its result.
    pub call_id: Option<Arc<str>>,
    /// Messages with the same number stand and fall together: calls with their results, reasoning with what it led to.
    pub exchange: Option<u32>,
    /// Whether a person may edit leaves in it.
    pub editable: bool,
    /// Whether it may be deleted as a whole.
    pub deletable: bool,
}

impl Section {
    /// Makes it an element of a message's content.
    pub(crate) fn set_part(&mut self, kind: SectionKind, index: usize, holds: ContentKind, editable: bool) {
        (self.kind, self.node_type, self.editable) = (kind, NodeType::ContentPart, editable);
        (self.content_index, self.content_kind) = (Some(index), Some(holds));
    }
}

//! A request as an outline: what is in it, level by level, with short texts and within a budget.

use leafgate_tree::{NodeType, ValueType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::turn::ShownText;

/// A part of a request, level by level.
///
/// Of `GET /v1/pending/{id}/outline?pointer=/messages/3&entries=200`: `pointer` says where it
/// begins (the whole body), `entries` how many values it names at most ([`OutlineView::ENTRIES`],
/// up to [`OutlineView::MOST_ENTRIES`]). Upper levels come before lower ones, so that a large
/// message leaves room for the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutlineView {
    /// The values, parents before children, in the order of the body.
    pub nodes: Vec<OutlineNode>,
    /// How many values inside the named ones are left out, at any depth.
    pub left_out: usize,
    /// Number of the turn's last change.
    pub version: u64,
}

impl OutlineView {
    /// How many values are named where the call does not say.
    pub const ENTRIES: usize = 500;
    /// How many values are named at most.
    pub const MOST_ENTRIES: usize = 10_000;
    /// Characters of a text that are shown.
    pub const TEXT: usize = 120;
}

/// One value of a request.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutlineNode {
    /// Its key in the object around it, or its place in the array; empty for the body itself.
    pub name: String,
    /// RFC 6901 pointer in the body as received. A message that was put in has none.
    pub pointer: String,
    /// Its display path in the present order.
    pub raw_path: String,
    /// How many of the named values are around it.
    pub depth: usize,
    /// What it is.
    pub node_type: OutlineType,
    /// The id of the section that it is, or that it lies in.
    pub section: Option<String>,
    /// Its JSON type where it is a leaf.
    pub value: Option<ValueType>,
    /// How its text begins where it is a leaf, as it would leave.
    pub text: Option<ShownText>,
    /// Whether the text is longer than that.
    pub truncated: bool,
    /// How many values are directly inside it.
    pub entries: usize,
    /// How many of these are not named here.
    pub left_out: usize,
    /// Whether it is left out of what would leave.
    pub deleted: bool,
    /// Whether its text differs from the received one.
    pub changed: bool,
}

/// What a value of an outline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OutlineType {
    /// A whole message.
    Message,
    /// An element of a message's content.
    ContentPart,
    /// An element of a message's tool calls.
    ToolCall,
    /// A member of the body beside the messages, or a tool definition in it.
    RequestOption,
    /// An object or array that is none of these: `content`, `toolCalls`.
    Group,
    /// A leaf that says what something is: an id, a type, a role, a name.
    Metadata,
    /// Any other leaf.
    Field,
}

impl From<NodeType> for OutlineType {
    fn from(section: NodeType) -> Self {
        match section {
            NodeType::Message => OutlineType::Message,
            NodeType::ContentPart => OutlineType::ContentPart,
            NodeType::ToolCall => OutlineType::ToolCall,
            NodeType::RequestOption => OutlineType::RequestOption,
        }
    }
}

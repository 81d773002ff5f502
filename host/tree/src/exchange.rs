//! Which messages stand and fall together.
//!
//! Formats say which messages are one exchange: calls with their results (all APIs refuse either side alone), in the Responses API
//! reasoning with what it led to. The list of tools goes with what means nothing without tools.

use crate::document::Document;
use crate::node::NodeId;
use crate::section::{NodeType, Section, SectionId};

/// The nodes that must be left out together with a section; `None` where it cannot be left out.
pub(crate) fn deleted_with(document: &Document, section: SectionId) -> Option<Vec<NodeId>> {
    if document.tool_list() == Some(section) {
        return Some(document.tool_options());
    }
    let section = document.section(section);
    match section.node_type {
        _ if !section.deletable => None,
        // `system`, `instructions` or an `input` of text alone is no element of a list, and without it its key would be left.
        NodeType::Message if document.is_element(section.node) => Some(exchange(document, section)),
        NodeType::RequestOption => Some(vec![section.node]),
        NodeType::Message | NodeType::ContentPart | NodeType::ToolCall => None,
    }
}

/// The messages of the exchange that a message belongs to: itself alone, or a message with calls and all results behind it.
fn exchange(document: &Document, message: &Section) -> Vec<NodeId> {
    let Some(number) = message.exchange else { return vec![message.node] };
    let all = &document.projection.exchanges;
    let from = &all[all.partition_point(|(one, _)| *one < number)..];
    from.iter().take_while(|(one, _)| *one == number).map(|(_, node)| *node).collect()
}

/// All messages that belong to an exchange, grouped.
pub(crate) fn exchanges(document: &Document) -> impl Iterator<Item = &[(u32, NodeId)]> {
    document.projection.exchanges.chunk_by(|(one, _), (other, _)| one == other)
}

/// All messages, in body order.
pub(crate) fn messages(document: &Document) -> impl Iterator<Item = &Section> {
    document.projection.messages.iter().map(|&id| document.section(id))
}

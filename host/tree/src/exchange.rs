//! Which messages stand and fall together.
//!
//! Formats say which messages are one exchange: calls with their results (all APIs refuse either side alone), in the Responses API
//! reasoning with what it led to. The list of tools goes with what means nothing without tools.

use std::ops::Range;

use crate::document::Document;
use crate::node::NodeId;
use crate::section::{NodeType, Section, SectionId};

/// The messages of each exchange. Most exchanges are one message, so they share two lists.
#[derive(Clone, Default)]
pub(crate) struct ExchangeGroups {
    /// The number of the exchange of each message, in order.
    numbers: Vec<u32>,
    messages: Vec<NodeId>,
}

impl ExchangeGroups {
    /// Groups messages, which come with the numbers of their exchanges and in body order.
    pub(crate) fn new(messages: impl Iterator<Item = (u32, NodeId)>) -> Self {
        let mut messages: Vec<(u32, NodeId)> = messages.collect();
        // Messages of one exchange stay in their order.
        messages.sort_by_key(|(number, _)| *number);
        let (numbers, messages) = messages.into_iter().unzip();
        ExchangeGroups { numbers, messages }
    }

    /// Returns the messages of one exchange.
    fn of(&self, number: u32) -> &[NodeId] {
        let behind = |bound: u32| self.numbers.partition_point(|one| *one < bound);
        let end = number.checked_add(1).map_or(self.numbers.len(), behind);
        &self.messages[behind(number)..end]
    }

    /// Returns the messages of each exchange.
    fn all(&self) -> impl Iterator<Item = &[NodeId]> {
        let mut at = 0;
        let ranges = self.numbers.chunk_by(|one, other| one == other).map(move |group| {
            let start = at;
            at += group.len();
            start..at
        });
        ranges.map(|range: Range<usize>| &self.messages[range])
    }
}

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
    let exchange = message.exchange.map(|number| document.projection().exchanges.of(number));
    exchange.filter(|together| !together.is_empty()).unwrap_or(&[message.node]).to_vec()
}

/// All messages that belong to an exchange, grouped.
pub(crate) fn exchanges(document: &Document) -> impl Iterator<Item = &[NodeId]> {
    document.projection().exchanges.all()
}

/// All messages, in body order.
pub(crate) fn messages(document: &Document) -> impl Iterator<Item = &Section> {
    document.projection().messages.iter().map(|&id| document.section(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_grouped_by_their_exchange_in_body_order() {
        let said = [(2, 10), (0, 11), (2, 12), (u32::MAX, 13), (0, 14), (5, 15)];
        let said = said.map(|(number, node)| (number, NodeId::from_index(node)));
        let exchanges = ExchangeGroups::new(said.into_iter());
        let indices = |nodes: &[NodeId]| nodes.iter().map(|node| node.index()).collect::<Vec<_>>();
        let all: Vec<_> = exchanges.all().map(indices).collect();
        assert_eq!(all, [vec![11, 14], vec![10, 12], vec![15], vec![13]]);
        for (number, of) in
            [(0, vec![11, 14]), (1, vec![]), (2, vec![10, 12]), (5, vec![15]), (u32::MAX, vec![13])]
        {
            assert_eq!(indices(exchanges.of(number)), of, "{number}");
        }
        assert_eq!(ExchangeGroups::default().all().count(), 0);
    }
}

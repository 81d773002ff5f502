//! The messages of a body by the numbers of the exchanges that its format gives them.

use std::ops::Range;

use crate::node::NodeId;

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
    pub(crate) fn of(&self, number: u32) -> &[NodeId] {
        let behind = |bound: u32| self.numbers.partition_point(|one| *one < bound);
        let end = number.checked_add(1).map_or(self.numbers.len(), behind);
        &self.messages[behind(number)..end]
    }

    /// Returns the messages of each exchange.
    pub(crate) fn all(&self) -> impl Iterator<Item = &[NodeId]> {
        let mut at = 0;
        let ranges = self.numbers.chunk_by(|one, other| one == other).map(move |group| {
            let start = at;
            at += group.len();
            start..at
        });
        ranges.map(|range: Range<usize>| &self.messages[range])
    }
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

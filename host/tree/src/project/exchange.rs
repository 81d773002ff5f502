//! The messages of a body by the numbers of the exchanges that its format gives them.

use crate::node::NodeId;

/// The messages of each exchange, with its number. Most exchanges are one message, so they share a list.
#[derive(Clone, Default)]
pub(crate) struct ExchangeGroups(Vec<(u32, NodeId)>);

impl ExchangeGroups {
    /// Groups messages, which come with the numbers of their exchanges and in body order.
    pub(crate) fn new(messages: impl Iterator<Item = (u32, NodeId)>) -> Self {
        let mut messages: Vec<(u32, NodeId)> = messages.collect();
        // Messages of one exchange stay in their order.
        messages.sort_by_key(|(number, _)| *number);
        ExchangeGroups(messages)
    }

    /// Returns the messages of one exchange.
    pub(crate) fn of(&self, number: u32) -> &[(u32, NodeId)] {
        let from = &self.0[self.0.partition_point(|(one, _)| *one < number)..];
        from.chunk_by(same).next().filter(|group| group[0].0 == number).unwrap_or_default()
    }

    /// Returns the messages of each exchange.
    pub(crate) fn all(&self) -> impl Iterator<Item = &[(u32, NodeId)]> {
        self.0.chunk_by(same)
    }
}

fn same((one, _): &(u32, NodeId), (other, _): &(u32, NodeId)) -> bool {
    one == other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_grouped_by_their_exchange_in_body_order() {
        let said = [(2, 10), (0, 11), (2, 12), (u32::MAX, 13), (0, 14), (5, 15)];
        let said = said.map(|(number, node)| (number, NodeId::from_index(node)));
        let exchanges = ExchangeGroups::new(said.into_iter());
        let indices =
            |group: &[(u32, NodeId)]| group.iter().map(|(_, node)| node.index()).collect::<Vec<_>>();
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

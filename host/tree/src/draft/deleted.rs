//! What is left out of a request, and how much of it stands before a place.

use std::collections::BTreeMap;

use crate::index::Index;
use crate::node::NodeId;

/// The elements of lists that are left out.
#[derive(Clone, Default)]
pub(crate) struct Deleted {
    /// By list, in order.
    lists: BTreeMap<Option<NodeId>, Vec<NodeId>>,
    /// Each with its list.
    nodes: BTreeMap<NodeId, Option<NodeId>>,
}

impl Deleted {
    pub(crate) fn contains(&self, node: &NodeId) -> bool {
        self.nodes.contains_key(node)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All of them, in body order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &NodeId> {
        self.nodes.keys()
    }

    /// Returns how many elements of a list are left out before one of them.
    pub(crate) fn before(&self, list: NodeId, element: NodeId) -> usize {
        let gone = self.lists.get(&Some(list)).map(Vec::as_slice).unwrap_or_default();
        gone.partition_point(|&node| node < element)
    }

    pub(crate) fn insert(&mut self, index: &Index, node: NodeId) {
        let list = index.parent(node);
        if self.nodes.insert(node, list).is_none() {
            let gone = self.lists.entry(list).or_default();
            gone.insert(gone.partition_point(|&other| other < node), node);
        }
    }

    pub(crate) fn remove(&mut self, node: &NodeId) {
        if let Some(list) = self.nodes.remove(node)
            && let Some(gone) = self.lists.get_mut(&list)
            && let Ok(place) = gone.binary_search(node)
        {
            gone.remove(place);
        }
    }
}

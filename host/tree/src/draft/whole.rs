//! Strings that spell a document: edited leaf by leaf, or set as a whole.
//!
//! The text of such a string is composed of what its inner leaves say now. Once somebody has set the string itself, its inner leaves
//! are no longer there: they cannot be edited, and no view shows them. Undo brings them back as they were.

use std::ops::Range;
use std::sync::Arc;

use super::{Draft, LeafState};
use crate::escape::Splice;
use crate::lift::lift;
use crate::node::NodeId;
use crate::pieces::{self, Labelled, LeafPieces};

impl Draft {
    /// Returns the string around a value that was set as a whole, so that the value itself is no longer there.
    pub fn covered_by(&self, node: NodeId) -> Option<NodeId> {
        if self.leaves.is_empty() {
            return None;
        }
        let around = self.document.way_up(node).skip(1);
        around
            .filter(|&string| self.document.layer_within(string).is_some())
            .find(|&string| self.is_whole(string))
    }

    /// Returns true if and only if a string that spells a document was set, or redacted, as a whole: it is one leaf then.
    pub fn is_whole(&self, node: NodeId) -> bool {
        let changed = |state: &Arc<LeafState>| !state.pieces().is_untouched(state.length);
        self.document.layer_within(node).is_some() && self.leaves.get(&node).is_some_and(changed)
    }

    /// The leaves of the request as it stands now, in body order: where a string that spells a document was set as a whole, the string
    /// in place of its inner leaves. What is deleted is among them.
    pub fn leaves_now(&self) -> impl Iterator<Item = NodeId> + '_ {
        let all = (0..self.document.node_count()).map(NodeId::from_index);
        let stands = |&node: &NodeId| self.document.leaf(node).is_some() || self.is_whole(node);
        all.filter(stands).filter(|&node| self.covered_by(node).is_none())
    }

    /// The present text of a value as pieces of the received one. That of a string whose inner leaves were edited is composed.
    pub(super) fn pieces_of(&self, node: NodeId, length: usize) -> LeafPieces {
        let own = self.leaves.get(&node).map(|state| state.pieces());
        match self.document.layer_within(node) {
            Some(layer) if !self.is_whole(node) && self.inner(node).next().is_some() => {
                let inner = self.inner(node).filter(|&(inner, _)| self.covered_by(inner).is_none());
                let edits = inner.map(|(node, state)| (node, state.pieces().splices(state.length)));
                let composed = lift(&self.document, edits, layer);
                LeafPieces::untouched(length).replace(composed.into_iter().map(pieces::edit))
            }
            _ => own.cloned().unwrap_or_else(|| LeafPieces::untouched(length)),
        }
    }

    /// Returns which stretches of the received text of a value redaction took away, in its inner leaves too, with the labels: in order,
    /// and overlaps united.
    pub fn hidden(&self, node: NodeId) -> Vec<(Range<usize>, Arc<str>)> {
        let mut hidden = self.leaves.get(&node).map(|state| state.hidden.clone()).unwrap_or_default();
        if let Some(layer) = self.document.layer_within(node) {
            let stretches = |state: &LeafState| {
                let splice = |(at, label): &Labelled| {
                    let label = Some(Arc::clone(label));
                    Splice { at: at.clone(), with: String::new(), label }
                };
                state.hidden.iter().map(splice).collect()
            };
            let inner = self.inner(node).map(|(node, state)| (node, stretches(state)));
            let lifted = lift(&self.document, inner, layer).into_iter();
            let more = lifted.filter_map(|splice| Some((splice.at, splice.label?)));
            pieces::hide(&mut hidden, more.collect());
        }
        hidden
    }

    /// The values inside a string's document that somebody touched.
    fn inner(&self, string: NodeId) -> impl Iterator<Item = (NodeId, &LeafState)> + '_ {
        let all = self.leaves.range(self.document.nodes_in(string)).map(|(&node, state)| (node, &**state));
        all.filter(move |(node, _)| *node != string)
    }

    /// Whether somebody touched a value inside a string's document.
    pub(super) fn is_touched_within(&self, node: NodeId) -> bool {
        self.document.layer_within(node).is_some() && self.inner(node).next().is_some()
    }
}

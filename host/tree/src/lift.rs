//! Lifts replacements in the texts of values to replacements in a text around them.

use std::collections::BTreeMap;

use crate::escape::{self, Splice};
use crate::index::Index;
use crate::node::{JsonKind, LayerId, NodeId};

/// Lifts replacements, each in the decoded text of its value, to the text of a layer that all those values lie in.
pub(crate) fn lift(
    index: &Index,
    splices: impl Iterator<Item = (NodeId, Vec<Splice>)>,
    layer: LayerId,
) -> Vec<Splice> {
    let mut layers: BTreeMap<LayerId, Vec<Splice>> = BTreeMap::new();
    for (node, splices) in splices {
        layers.entry(index.node(node).layer).or_default().extend(in_layer(index, node, &splices));
    }
    // Inner texts have higher numbers than the texts around them.
    while let Some((inner, mut splices)) = layers.pop_last() {
        splices.sort_by_key(|splice| splice.at.start);
        let Some(outer) = index.outer(inner).filter(|_| inner > layer) else { return splices };
        layers.entry(index.node(outer).layer).or_default().extend(in_layer(index, outer, &splices));
    }
    Vec::new()
}

/// Turns replacements in a value's decoded text into replacements in the text that the value lies in.
fn in_layer(index: &Index, node: NodeId, splices: &[Splice]) -> Vec<Splice> {
    let record = index.node(node);
    let content = record.content();
    let mut lifted = match record.kind {
        JsonKind::Raw => escape::lift_lossy(index.source(), splices),
        JsonKind::String => escape::lift(index.stretch(record.layer, content.clone()), splices),
        _ => splices.to_vec(),
    };
    for splice in &mut lifted {
        splice.at = splice.at.start + content.start..splice.at.end + content.start;
    }
    lifted
}

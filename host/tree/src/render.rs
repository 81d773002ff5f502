//! From a draft back to bytes: the received body with the edits spliced in, in one pass.
//!
//! An edit starts as a replacement in a leaf's decoded text. It is lifted, layer by layer, through the escapes of every string around
//! it until it is a replacement in the body; what lies between replacements is copied as it came.

use std::collections::BTreeSet;
use std::ops::Range;

use bytes::Bytes;

use crate::draft::Draft;
use crate::escape::Splice;
use crate::index::Index;
use crate::lift::lift;
use crate::node::{LayerId, NodeId};

impl Draft {
    /// The bytes to send. With nothing edited this is the received buffer itself, not a copy.
    pub fn render(&self) -> Bytes {
        let source = self.document().source();
        if !self.is_dirty() {
            return source.clone();
        }
        spliced(source, 0..source.len(), self.body_splices().iter()).into()
    }

    /// Every change as a replacement in the body: sorted, not overlapping.
    pub(crate) fn body_splices(&self) -> Vec<Splice> {
        let touched = self.touched().map(|(node, pieces, length)| (node, pieces.splices(length)));
        let mut body = lift(self.document(), touched, LayerId::BODY);
        let deletions = self.deletions();
        outside(&mut body, &deletions);
        body.extend(deletions);
        body.extend(self.additions());
        body.sort_by_key(|splice| (splice.at.start, splice.at.end));
        body
    }

    /// Removals of what is left out.
    fn deletions(&self) -> Vec<Splice> {
        let document = self.document();
        let lists: BTreeSet<NodeId> = self.deleted.iter().filter_map(|&node| document.parent(node)).collect();
        let lists = lists.into_iter().filter(|&list| !self.is_deleted(list));
        removals(document, lists, |node| self.deleted.contains(&node))
    }

    /// What was put in: a message before the first one behind its place that is still there, and all else behind the last value of
    /// its container.
    fn additions(&self) -> Vec<Splice> {
        let document = self.document();
        let mut splices: Vec<Splice> = Vec::new();
        for (container, added) in self.added_by_container() {
            if self.is_deleted(container) {
                continue;
            }
            let kept: Vec<NodeId> =
                document.children(container).filter(|node| !self.deleted.contains(node)).collect();
            let first_byte = document.node(container).span().start + 1;
            for (place, added) in added.into_iter().enumerate() {
                let spelled = added.spell();
                let next = kept.get(kept.partition_point(|&node| !added.is_before(node)));
                let (at, with) = match (next, kept.last()) {
                    (Some(&next), _) => (document.node(next).span().start, format!("{spelled},")),
                    (None, Some(&last)) => (document.node(last).span().end, format!(",{spelled}")),
                    (None, None) if place == 0 => (first_byte, spelled),
                    (None, None) => (first_byte, format!(",{spelled}")),
                };
                splices.push(Splice { at: at..at, with, label: None });
            }
        }
        splices
    }
}

impl Index {
    /// Returns the body without some elements of these lists, none of which lies in another; all its other bytes stay.
    pub fn without(&self, lists: impl Iterator<Item = NodeId>, is_gone: impl Fn(NodeId) -> bool) -> Bytes {
        let removals = removals(self, lists, is_gone);
        match removals.is_empty() {
            true => self.source().clone(),
            false => spliced(self.source(), 0..self.source().len(), removals.iter()).into(),
        }
    }
}

/// Removals of whole elements, each with the comma that went with it.
fn removals(
    index: &Index,
    lists: impl Iterator<Item = NodeId>,
    is_gone: impl Fn(NodeId) -> bool,
) -> Vec<Splice> {
    let mut removals: Vec<Splice> = Vec::new();
    for list in lists {
        let elements: Vec<NodeId> = index.children(list).collect();
        let gone = |at: usize| is_gone(elements[at]);
        let span = |at: usize| {
            let node = index.node(elements[at]);
            // A member goes with its key.
            if node.key == (0, 0) { node.span() } else { node.key.0 as usize..node.span().end }
        };
        let first_kept = (0..elements.len()).find(|&at| !gone(at));
        for at in (0..elements.len()).filter(|&at| gone(at)) {
            let range = match first_kept {
                // Behind a kept element the comma before it goes too, else the comma after it.
                Some(kept) if kept < at => span(at - 1).end..span(at).end,
                Some(_) => span(at).start..span(at + 1).start,
                None if at + 1 < elements.len() => span(at).start..span(at + 1).start,
                None => span(at),
            };
            removals.push(Splice { at: range, with: String::new(), label: None });
        }
    }
    removals.sort_by_key(|removal| removal.at.start);
    removals
}

/// Returns a stretch of some bytes with replacements in it: sorted, not overlapping.
pub(crate) fn spliced<'s>(
    source: &[u8],
    stretch: Range<usize>,
    splices: impl Iterator<Item = &'s Splice> + Clone,
) -> Vec<u8> {
    let grown: usize = splices.clone().map(|splice| splice.with.len()).sum();
    let mut written = Vec::with_capacity(stretch.len() + grown);
    let mut at = stretch.start;
    for splice in splices {
        written.extend_from_slice(&source[at..splice.at.start]);
        written.extend_from_slice(splice.with.as_bytes());
        at = splice.at.end;
    }
    written.extend_from_slice(&source[at..stretch.end]);
    written
}

/// Drops the replacements that lie in one of these removals. Both are sorted, and the removals do not overlap.
fn outside(splices: &mut Vec<Splice>, removals: &[Splice]) {
    let contains =
        |outer: &Range<usize>, inner: &Range<usize>| outer.start <= inner.start && inner.end <= outer.end;
    splices.retain(|splice| {
        let place = removals.partition_point(|removal| removal.at.start <= splice.at.start);
        !place.checked_sub(1).is_some_and(|before| contains(&removals[before].at, &splice.at))
    });
}

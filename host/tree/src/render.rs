//! From a draft back to bytes: the received body with the edits spliced in, in one pass.
//!
//! An edit starts as a replacement in a leaf's decoded text. It is lifted, layer by layer, through the escapes of every string around
//! it until it is a replacement in the body; what lies between replacements is copied as it came.

use std::ops::Range;

use bytes::Bytes;

use crate::document::Document;
use crate::draft::Draft;
use crate::escape::{self, Splice};
use crate::node::{Flags, Kind, NodeId};

impl Draft {
    /// The bytes to send. With nothing edited this is the received buffer itself, not a copy.
    #[must_use]
    pub fn render(&self) -> Bytes {
        let source = self.document.source();
        if !self.is_dirty() {
            return source.clone();
        }
        let splices = self.body_splices();
        let grown: usize = splices.iter().map(|splice| splice.with.len()).sum();
        let mut body = Vec::with_capacity(escape::room(source.len() + grown));
        let mut at = 0;
        for splice in &splices {
            body.extend_from_slice(&source[at..splice.at.start]);
            body.extend_from_slice(splice.with.as_bytes());
            at = splice.at.end;
        }
        body.extend_from_slice(&source[at..]);
        Bytes::from(body)
    }

    /// Every change as a replacement in the body: sorted, not overlapping.
    fn body_splices(&self) -> Vec<Splice> {
        let document = &self.document;
        let mut layers: Vec<Vec<Splice>> = vec![Vec::new(); document.layers().len() + 1];
        let mut whole: Vec<Range<usize>> = Vec::new();
        for (node, pieces, length) in self.touched() {
            if whole.iter().any(|subtree| subtree.contains(&node.index())) {
                // The string around it was set as a whole, and what stood inside went with it.
                continue;
            }
            if document.node(node).flags.has(Flags::EMBEDS) {
                whole.push(document.subtree(node));
            }
            let splices = pieces.splices(length);
            layers[document.node(node).layer as usize].extend(in_layer(document, node, &splices));
        }
        // Inner texts have higher numbers than the texts around them.
        for layer in (1..layers.len()).rev() {
            let mut splices = std::mem::take(&mut layers[layer]);
            if splices.is_empty() {
                continue;
            }
            splices.sort_by_key(|splice| splice.at.start);
            let outer = document.layers()[layer - 1].outer;
            layers[document.node(outer).layer as usize].extend(in_layer(document, outer, &splices));
        }
        let mut body = std::mem::take(&mut layers[0]);
        let deletions = self.deletions();
        body.retain(|splice| !deletions.iter().any(|deletion| contains(&deletion.at, &splice.at)));
        body.extend(deletions);
        body.extend(self.insertions());
        body.sort_by_key(|splice| (splice.at.start, splice.at.end));
        body
    }

    /// Removals of whole elements, each with the comma that went with it.
    fn deletions(&self) -> Vec<Splice> {
        let document = &self.document;
        let mut parents: Vec<NodeId> =
            self.deleted().iter().filter_map(|&node| document.parent(node)).collect();
        parents.dedup();
        let mut removals: Vec<Splice> = Vec::new();
        for parent in parents {
            let elements: Vec<NodeId> = document.children(parent).collect();
            let gone = |at: usize| self.deleted().contains(&elements[at]);
            let span = |at: usize| document.node(elements[at]).span();
            let first_kept = (0..elements.len()).find(|&at| !gone(at));
            for at in (0..elements.len()).filter(|&at| gone(at)) {
                let range = match first_kept {
                    // Behind a kept element the comma before it goes too, else the comma after it.
                    Some(kept) if kept < at => span(at - 1).end..span(at).end,
                    Some(_) => span(at).start..span(at + 1).start,
                    None if at + 1 < elements.len() => span(at).start..span(at + 1).start,
                    None => span(at),
                };
                removals.push(Splice { at: range, with: String::new() });
            }
        }
        removals.sort_by_key(|removal| removal.at.start);
        removals
    }

    /// Messages that were put in, each before the first message behind its place that is still there, else behind the last.
    fn insertions(&self) -> Vec<Splice> {
        let document = &self.document;
        let kept = |&node: &NodeId| !self.deleted().contains(&node);
        let mut inserted: Vec<_> = self.inserted().collect();
        inserted.sort_by_key(|inserted| inserted.before);
        let mut splices: Vec<Splice> = Vec::new();
        for inserted in inserted {
            let message = inserted.spell();
            let list = document.parent(inserted.before).unwrap_or(inserted.before);
            let elements: Vec<NodeId> = document.children(list).collect();
            let next = elements.iter().copied().filter(kept).find(|&node| node >= inserted.before);
            let (at, with) = match (next, elements.into_iter().rfind(kept)) {
                (Some(next), _) => (document.node(next).span().start, format!("{message},")),
                (None, Some(last)) => (document.node(last).span().end, format!(",{message}")),
                (None, None) => {
                    let first_byte = document.node(list).span().start + 1;
                    let follows = splices.iter().any(|splice| splice.at.start == first_byte);
                    (first_byte, if follows { format!(",{message}") } else { message })
                }
            };
            splices.push(Splice { at: at..at, with });
        }
        splices
    }
}

/// Turns replacements in a value's decoded text into replacements in the text that the value lies in.
fn in_layer(document: &Document, node: NodeId, splices: &[Splice]) -> Vec<Splice> {
    let record = document.node(node);
    let content = record.content();
    let mut lifted = match record.kind {
        Kind::Raw => escape::lift_lossy(document.source(), splices),
        Kind::String => escape::lift(&document.layer_text(record.layer)[content.clone()], splices),
        _ => splices.to_vec(),
    };
    for splice in &mut lifted {
        splice.at = splice.at.start + content.start..splice.at.end + content.start;
    }
    lifted
}

fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

//! The parts of a body that clients resend unchanged: its outermost sections.
//!
//! Whoever remembers what he saw in a block need not look at its leaves when it comes again. For
//! that he must know all that decides what its leaves are. Most of it is how the block is spelled;
//! [`Document::describe`] says the rest: what the format made of it, which may hang on messages
//! before and behind it (the tool that a result belongs to), and which strings were walked, which
//! hangs on caps for the whole body.

use std::ops::Range;

use crate::document::Document;
use crate::node::NodeId;
use crate::section::SectionId;

/// An outermost section with everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its own value.
    pub node: NodeId,
    /// Places of its value and of everything below it.
    pub nodes: Range<usize>,
    sections: Range<usize>,
}

/// A block with more sections is not described: numbers in descriptions are short.
const MOST_SECTIONS: usize = 1 << 16;

impl Document {
    /// Returns the outermost sections, in body order. What lies in none of them is in no block; a
    /// body that is no JSON has none.
    pub fn blocks(&self) -> Vec<Block> {
        if self.is_raw() {
            return Vec::new();
        }
        let mut blocks: Vec<Block> = Vec::with_capacity(self.sections().len());
        for (at, section) in self.sections().iter().enumerate() {
            match blocks.last_mut() {
                Some(last) if last.nodes.contains(&section.node.index()) && last.sections.end == at => {
                    last.sections.end += 1;
                }
                _ => {
                    let nodes = self.subtree(section.node);
                    blocks.push(Block { node: section.node, nodes, sections: at..at + 1 });
                }
            }
        }
        blocks.sort_by_key(|block| (block.nodes.start, std::cmp::Reverse(block.nodes.end)));
        // A format may name the parts of a section later than others: these are not blocks of their own.
        blocks.dedup_by(|inner, outer| inner.nodes.start < outer.nodes.end);
        blocks
    }

    /// Returns how a block is spelled.
    pub fn spelling(&self, block: &Block) -> &[u8] {
        self.spelling_of(block.node)
    }

    /// Returns how a value is spelled.
    pub fn spelling_of(&self, node: NodeId) -> &[u8] {
        let node = self.node(node);
        &self.layer_bytes(node.layer)[node.span()]
    }

    /// Appends all that decides what the leaves and keys of a block are, beside its spelling: two
    /// blocks that are spelled and described alike have the same leaves with the same texts, keys,
    /// kinds, roles, tools, sections and access. False where that hangs on more than can be said.
    #[must_use]
    pub fn describe(&self, block: &Block, description: &mut Vec<u8>) -> bool {
        let sections = &self.sections()[block.sections.clone()];
        let outer = sections.first().and_then(|section| section.parent);
        if sections.len() >= MOST_SECTIONS || outer.is_some() {
            return false;
        }
        let number = |value: Option<usize>| value.map_or(u32::MAX, |value| value as u32).to_le_bytes();
        let text = |description: &mut Vec<u8>, text: Option<&str>| {
            description.extend_from_slice(&number(text.map(str::len)));
            description.extend_from_slice(text.unwrap_or_default().as_bytes());
        };
        text(description, Some(&self.nearest_key(block.node)));
        description.extend_from_slice(&number(Some(sections.len())));
        for section in sections {
            let parent = section.parent.map(SectionId::index);
            if parent.is_some_and(|parent| !block.sections.contains(&parent)) {
                return false;
            }
            let kind = section.content_kind.map_or(u8::MAX, |kind| kind as u8);
            description.extend_from_slice(&[
                section.kind as u8,
                section.node_type as u8,
                section.role as u8,
                kind,
            ]);
            description.extend_from_slice(&number(parent.map(|parent| parent - block.sections.start)));
            description.extend_from_slice(&number(Some(section.node.index() - block.nodes.start)));
            text(description, section.tool.as_deref());
        }
        let projection = &self.projection;
        for place in block.nodes.clone() {
            let id = NodeId::from_index(place);
            let Some(section) = self.section_of(id) else { return false };
            if !block.sections.contains(&section.index()) {
                return false;
            }
            let [low, high] = ((section.index() - block.sections.start) as u16).to_le_bytes();
            let node = self.node(id);
            let said = projection.kind(id) as u8 | (projection.access(id) as u8) << 4;
            description.extend_from_slice(&[node.kind as u8 | node.flags.bits() << 4, said, low, high]);
        }
        true
    }
}

//! What a draft changed, for people: leaves, what is left out, what was put in, and whose doing each is.
//!
//! No value that was redacted is in it: the text before a change has masks in their places.

use std::collections::{BTreeMap, BTreeSet};

use crate::draft::{Draft, PutOption};
use crate::insert::Inserted;
use crate::journal::Author;
use crate::node::NodeId;
use crate::section::SectionId;
use crate::text::LeafText;

/// Returns what people see in the place of a redacted value.
pub fn display_mask(label: &str) -> String {
    format!("‹{label}›")
}

/// Everything in which what would leave differs from what was received.
#[derive(Debug)]
pub struct Changes<'d> {
    /// The leaves that read otherwise than they came and are not left out, in body order.
    pub leaves: Vec<ChangedLeaf<'d>>,
    /// The outermost messages and tool definitions that are left out, in body order.
    pub deleted: Vec<LeftOut<'d>>,
    /// The messages that were put in, in the order in which that happened.
    pub inserted: Vec<&'d Inserted>,
    /// The members that were put into the body, in the order in which that happened.
    pub options: Vec<&'d PutOption>,
}

/// A leaf that reads otherwise than it came.
#[derive(Debug)]
pub struct ChangedLeaf<'d> {
    /// The leaf, or the string that was set as a whole.
    pub node: NodeId,
    /// Who changed it, each once, redactors first.
    pub authors: Vec<&'d Author>,
    /// Its text as it came, masked.
    pub before: LeafText<'d>,
    /// Its text as it would leave.
    pub after: LeafText<'d>,
}

/// A section that is left out.
#[derive(Debug)]
pub struct LeftOut<'d> {
    /// Its value.
    pub node: NodeId,
    /// The section.
    pub section: SectionId,
    /// Who left it out; nobody where it goes with another one.
    pub authors: Vec<&'d Author>,
}

impl Draft {
    /// Returns what the draft changed. What was ever redacted is shown as `mask(label)`.
    pub fn changes(&self, mask: impl Fn(&str) -> String) -> Changes<'_> {
        let mut authors = self.authors();
        let mut of = |node| authors.remove(&node).unwrap_or_default();
        let kept = |node: &NodeId| !self.is_deleted(*node);
        let leaves = self.changed_leaves().filter(kept).map(|node| ChangedLeaf {
            node,
            authors: of(node),
            before: self.masked_original(node, &mask),
            after: self.text(node),
        });
        let leaves = leaves.filter(|leaf| leaf.before.expose() != leaf.after.expose()).collect();
        let deleted = self.left_out().into_iter();
        let deleted = deleted.map(|(node, section)| LeftOut { node, section, authors: of(node) }).collect();
        Changes { leaves, deleted, inserted: self.inserted().collect(), options: self.options().collect() }
    }

    /// Who changed each value, each once, redactors first. Only what stands counts.
    fn authors(&self) -> BTreeMap<NodeId, Vec<&Author>> {
        let redactions = self.standing_redactions().into_iter().map(|made| (made.node, &made.author));
        let edits = self.standing_edits().into_iter().map(|edit| (edit.target, &edit.author));
        let mut authors: BTreeMap<NodeId, Vec<&Author>> = BTreeMap::new();
        for (node, author) in redactions.chain(edits) {
            let known = authors.entry(node).or_default();
            if !known.contains(&author) {
                known.push(author);
            }
        }
        authors
    }

    /// The outermost values that are left out, each with its first section. A message and its content may be sections of one value.
    fn left_out(&self) -> Vec<(NodeId, SectionId)> {
        let document = self.document();
        let around = |node| document.parent(node).is_some_and(|parent| self.is_deleted(parent));
        let mut seen = BTreeSet::new();
        let sections = document.sections().iter().enumerate();
        let mut left_out: Vec<_> = sections
            .filter(|(_, section)| self.is_deleted(section.node) && !around(section.node))
            .filter(|(_, section)| seen.insert(section.node))
            .map(|(place, section)| (section.node, SectionId::from_index(place)))
            .collect();
        left_out.sort_by_key(|&(node, _)| node);
        left_out
    }
}

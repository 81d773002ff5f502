//! Which messages stand and fall together.
//!
//! The projections say which messages are one exchange: calls with their results (all APIs refuse either side alone), in the
//! Responses API reasoning with what it led to. Formats without a projection of their own offer nothing to delete, so nothing of
//! theirs can come apart here.

use std::collections::BTreeMap;

use crate::document::Document;
use crate::node::NodeId;
use crate::section::{NodeType, Section, SectionId};

/// The nodes that must be left out together with a section; `None` where it cannot be left out.
pub(crate) fn deleted_with(document: &Document, section: SectionId) -> Option<Vec<NodeId>> {
    let section = document.section(section);
    match section.node_type {
        // `system`, `instructions` or an `input` of text alone is no element of a list, and without it its key would be left.
        NodeType::Message if document.is_element(section.node) => Some(exchange(document, section)),
        NodeType::RequestOption if section.deletable => Some(vec![section.node]),
        _ => None,
    }
}

/// The messages of the exchange that a message belongs to: itself alone, or a message with calls and all results behind it.
fn exchange(document: &Document, message: &Section) -> Vec<NodeId> {
    exchanges(document)
        .into_iter()
        .find(|exchange| exchange.contains(&message.node))
        .unwrap_or_else(|| vec![message.node])
}

/// All messages, grouped by exchange. A message that the projection put into none stands alone.
pub(crate) fn exchanges(document: &Document) -> Vec<Vec<NodeId>> {
    let mut places: BTreeMap<u32, usize> = BTreeMap::new();
    let mut exchanges: Vec<Vec<NodeId>> = Vec::new();
    for message in messages(document) {
        let next = exchanges.len();
        let place = message.exchange.map_or(next, |exchange| *places.entry(exchange).or_insert(next));
        match exchanges.get_mut(place) {
            Some(exchange) => exchange.push(message.node),
            None => exchanges.push(vec![message.node]),
        }
    }
    exchanges
}

pub(crate) fn messages(document: &Document) -> impl Iterator<Item = &Section> {
    document.sections().iter().filter(|section| section.node_type == NodeType::Message)
}

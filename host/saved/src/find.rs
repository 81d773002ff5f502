//! The place of a saved edit in another request.
//!
//! It is looked for first where the edit was made. If role, kinds and guard are the same there, it
//! is that place. Otherwise a client may have put something in before it, so any other place of the
//! same role and kinds with the same guard is it, if there is one only and its text is long enough
//! to be known again.

use std::collections::{HashMap, HashSet};

use leafgate_tree::{
    Document, Draft, Leaf, LeafKind, NodeId, NodeType, Role, SectionId, SectionKind, display_mask,
};

use crate::apply::{Drift, ScopeEdits};
use crate::edit::SavedEdit;
use crate::guard::{Guard, GuardKey};

/// Bytes of the shortest text that is known again elsewhere. Two messages that say `yes` are not
/// the same message.
const KNOWN_AGAIN: usize = 24;

/// What must be the same besides the text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SavedKinds {
    pub(crate) role: Role,
    pub(crate) section: SectionKind,
    /// `None` for a section as a whole.
    pub(crate) leaf: Option<LeafKind>,
}

impl SavedKinds {
    fn of(edit: &SavedEdit) -> SavedKinds {
        SavedKinds { role: edit.role, section: edit.section, leaf: edit.leaf }
    }

    /// The kinds of a leaf, or of a string that spells a document.
    ///
    /// Its section is its message, whether or not the content of that has parts: clients give a
    /// message parts to mark it for a cache, and take them away again.
    pub(crate) fn of_leaf(document: &Document, leaf: &Leaf<'_>) -> SavedKinds {
        let around = document.way_out(leaf.section()).map(|section| document.section(section));
        let around: Vec<_> = around.collect();
        let message = around.iter().find(|section| section.node_type == NodeType::Message);
        let section = message.or(around.last()).map_or(SectionKind::Other, |section| section.kind);
        SavedKinds { role: leaf.role(), section, leaf: Some(leaf.kind()) }
    }

    pub(crate) fn of_section(document: &Document, section: SectionId) -> SavedKinds {
        let section = document.section(section);
        SavedKinds { role: section.role, section: section.kind, leaf: None }
    }
}

/// Finds the values that the edits of a layer are about, in the order of the edits.
pub(crate) fn all(layer: &ScopeEdits, draft: &Draft) -> Vec<Result<NodeId, Drift>> {
    let there = layer.edits.iter().map(|edit| where_it_was(edit, &layer.key, draft));
    let mut found: Vec<_> = there.collect();
    let lost = layer
        .edits
        .iter()
        .zip(&found)
        .enumerate()
        .filter(|(_, (edit, found))| found.is_err() && edit.format == draft.document().format());
    let lost: Vec<usize> = lost.map(|(at, _)| at).collect();
    if !lost.is_empty() {
        let elsewhere = Elsewhere::of(layer, &lost, draft);
        for at in lost {
            let edit = &layer.edits[at];
            match elsewhere.places.get(&(SavedKinds::of(edit), edit.replaces)).map(Vec::as_slice) {
                Some([node]) => found[at] = Ok(*node),
                Some([_, ..]) => found[at] = Err(Drift::Ambiguous),
                Some([]) | None => {}
            }
        }
    }
    found
}

fn where_it_was(edit: &SavedEdit, key: &GuardKey, draft: &Draft) -> Result<NodeId, Drift> {
    let document = draft.document();
    if document.format() != edit.format {
        return Err(Drift::OtherFormat);
    }
    let node = document.resolve(&edit.pointer).map_err(|_| Drift::Gone)?;
    let (kinds, guard) = match edit.leaf {
        Some(_) => {
            let leaf = document.settable(node).ok_or(Drift::Gone)?;
            (SavedKinds::of_leaf(document, &leaf), key.leaf(draft, node))
        }
        None => {
            let section = section_at(document, node).ok_or(Drift::Gone)?;
            (SavedKinds::of_section(document, section), key.section(draft, node))
        }
    };
    match (kinds == SavedKinds::of(edit), guard == edit.replaces) {
        (true, true) => Ok(node),
        (true, false) => Err(Drift::OtherText),
        (false, _) => Err(Drift::Gone),
    }
}

/// Where else what lost edits replace stands: two places of each are enough to know that nobody
/// knows which. One walk over the request, however many are lost.
struct Elsewhere {
    kinds: HashSet<SavedKinds>,
    places: HashMap<(SavedKinds, Guard), Vec<NodeId>>,
}

impl Elsewhere {
    fn of(layer: &ScopeEdits, lost: &[usize], draft: &Draft) -> Elsewhere {
        let wanted = lost.iter().map(|&at| &layer.edits[at]);
        let places: HashMap<_, _> =
            wanted.map(|edit| ((SavedKinds::of(edit), edit.replaces), Vec::new())).collect();
        let kinds = places.keys().map(|(kinds, _)| *kinds).collect();
        let mut elsewhere = Elsewhere { kinds, places };
        let document = draft.document();
        if elsewhere.kinds.iter().any(|kinds| kinds.leaf.is_some()) {
            for node in document.subtree(document.root()).map(NodeId::from_index) {
                let Some(leaf) = document.settable(node) else { continue };
                let kinds = SavedKinds::of_leaf(document, &leaf);
                if elsewhere.kinds.contains(&kinds) && said(draft, node) >= KNOWN_AGAIN {
                    elsewhere.add(kinds, layer.key.leaf(draft, node), node);
                }
            }
        }
        for (at, section) in document.sections().iter().enumerate() {
            let kinds = SavedKinds::of_section(document, SectionId::from_index(at));
            let says =
                || document.lasting_leaves(section.node).map(|leaf| said(draft, leaf.id())).sum::<usize>();
            if elsewhere.kinds.contains(&kinds) && says() >= KNOWN_AGAIN {
                elsewhere.add(kinds, layer.key.section(draft, section.node), section.node);
            }
        }
        elsewhere
    }

    fn add(&mut self, kinds: SavedKinds, guard: Guard, node: NodeId) {
        if let Some(places) = self.places.get_mut(&(kinds, guard)).filter(|places| places.len() < 2) {
            places.push(node);
        }
    }
}

/// Bytes of a text, redacted values by their labels.
fn said(draft: &Draft, node: NodeId) -> usize {
    draft.masked_original(node, display_mask).expose().len()
}

/// The section that a value is as a whole.
pub(crate) fn section_at(document: &Document, node: NodeId) -> Option<SectionId> {
    let index = document.sections().iter().position(|section| section.node == node)?;
    Some(SectionId::from_index(index))
}

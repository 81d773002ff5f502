//! What an action is about, where a section is chosen and not a leaf: the user's words, the text that is
//! edited, what leaves it out.

use leafgate_admin::{LeafView, SavedScope, SectionView, TurnView};
use leafgate_tree::{Access, LeafKind, NodeType, Role, SectionKind, ValueType};

use crate::outline::SectionFacts;

/// The scopes that a person may save edits for. A project's own file is written by nobody here.
pub(crate) const SCOPES: [SavedScope; 3] = [SavedScope::Session, SavedScope::Workspace, SavedScope::Global];

/// Finds what the user said last. Clients put what they know into the user's message too, in tags.
pub(crate) fn words(turn: &TurnView, entries: &[SectionFacts]) -> Option<usize> {
    let is_said = |leaf: &&LeafView| leaf.kind == LeafKind::Text && leaf.value == ValueType::Text;
    let says = |own: bool, at: &usize| {
        let mut texts =
            turn.sections[*at].leaves.iter().filter(is_said).map(|leaf| leaf.text.expose().trim());
        texts.any(|text| !text.is_empty() && (!own || !text.starts_with('<')))
    };
    let asked = |at: &usize| {
        let section = &turn.sections[*at];
        let message = section.node_type == NodeType::Message && section.kind == SectionKind::User;
        message && section.role == Role::User && !section.deleted
    };
    let newest = |own: bool| {
        let messages = (0..entries.len()).rev().filter(asked);
        messages.into_iter().find_map(|at| (at..entries[at].end).rev().find(|at| says(own, at)))
    };
    newest(true).or_else(|| newest(false))
}

/// Finds the text that an edit of a section is about: what the user says there, else the first one.
/// It is looked for in the sections of a range, the first of which is the section itself.
///
/// # Errors
/// Says why none can be edited.
pub(crate) fn text_in(
    turn: &TurnView,
    range: std::ops::Range<usize>,
) -> Result<(&SectionView, &LeafView), &'static str> {
    let sections = turn.sections.get(range).unwrap_or_default();
    let leaves =
        || sections.iter().flat_map(|section| section.leaves.iter().map(move |leaf| (section, leaf)));
    let open: Vec<_> =
        leaves().filter(|(_, leaf)| leaf.kind != LeafKind::Metadata && locked(leaf).is_none()).collect();
    let texts = || open.iter().filter(|(_, leaf)| leaf.value == ValueType::Text);
    let by_user = sections.first().is_some_and(|section| section.role == Role::User);
    let in_words = |(_, leaf): &&(&SectionView, &LeafView)| {
        let text = leaf.text.expose().trim();
        by_user && leaf.kind == LeafKind::Text && !text.is_empty() && !text.starts_with('<')
    };
    let says = |(_, leaf): &&(&SectionView, &LeafView)| !leaf.text.expose().is_empty();
    let found = texts().rfind(in_words).or_else(|| texts().find(says)).or_else(|| texts().next());
    match (found, open.as_slice()) {
        (Some(found), _) | (None, [found]) => Ok(*found),
        (None, [_, ..]) => Err("It has several values and no text: Enter shows them, choose one."),
        (None, []) => {
            Err(leaves().find_map(|(_, leaf)| locked(leaf)).unwrap_or("Nothing in it can be edited."))
        }
    }
}

/// Returns why nobody may edit a leaf; `None` where a person may.
pub(crate) fn locked(leaf: &LeafView) -> Option<&'static str> {
    match leaf.access {
        Access::Frozen => Some("The API checks a signature over this leaf: nobody may change it."),
        Access::Opaque => Some("This leaf is media and cannot be edited as text."),
        Access::Open | Access::Protected => None,
    }
}

/// Returns the key of what leaves a section out: the section's own, or, for a call that is all that
/// its message holds, the message's. So each call of an answer is left out where it is looked at.
pub fn left_out_by(turn: &TurnView, at: usize) -> Option<&str> {
    let section = turn.sections.get(at)?;
    let parent =
        section.parent.as_deref().and_then(|key| turn.sections.iter().find(|around| around.key == key));
    let Some(message) = parent.filter(|_| section.node_type == NodeType::ToolCall && !section.deletable)
    else {
        return Some(&section.key);
    };
    let is_alone = || turn.sections.iter().filter(|inner| inner.parent == section.parent).count() == 1;
    let says = |leaf: &LeafView| {
        leaf.kind == LeafKind::Text && leaf.value == ValueType::Text && !leaf.text.expose().is_empty()
    };
    let holds_it_alone = !message.leaves.iter().any(says) && is_alone();
    Some(if holds_it_alone { &message.key } else { &section.key })
}

//! Saved edits made on a draft, each only where it certainly means the same.
//!
//! Where that is, `find.rs` says. What does not fit is [`Drift`], and nothing is written for it.
//!
//! Who saved an edit asked not to be asked, so one that does not fit is left out, where a replayed one
//! holds the request; [`OnDrift::Pause`](crate::OnDrift::Pause) has the turn wait.

use std::collections::BTreeSet;

use leafgate_admin::{OnDrift, SavedScope};
use leafgate_tree::{Draft, EditError, NodeId, SectionId};

use crate::edit::{SavedChange, SavedEdit, SavedId};
use crate::find::{self, section_at};
use crate::guard::GuardKey;

/// The saved edits of one scope.
#[derive(Clone, Debug)]
pub struct ScopeEdits {
    /// The scope.
    pub scope: SavedScope,
    /// The key of their guards.
    pub key: GuardKey,
    /// The edits, in the order in which they are made.
    pub edits: Vec<SavedEdit>,
}

/// What became of a saved edit in one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedEditOutcome {
    /// The edit.
    pub id: SavedId,
    /// Its scope.
    pub scope: SavedScope,
    /// Where it was made, for people.
    pub path: String,
    /// What it wants where it does not fit.
    pub on_drift: OnDrift,
    /// What became of it.
    pub fit: Fit,
}

impl SavedEditOutcome {
    /// Why the request must wait for a person, if it must.
    pub fn pauses(&self) -> Option<Drift> {
        match self.fit {
            Fit::Drifted(drift) if self.on_drift == OnDrift::Pause => Some(drift),
            Fit::Made(_) | Fit::Unneeded | Fit::Overruled | Fit::Refused(_) | Fit::Drifted(_) => None,
        }
    }
}

/// What became of a saved edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It was made, at this value.
    Made(NodeId),
    /// What it writes stands there already.
    Unneeded,
    /// A saved edit of a closer scope is about the same place.
    Overruled,
    /// The place is there and takes no saved edit: it is pinned, for example.
    Refused(EditError),
    /// It does not fit.
    Drifted(Drift),
}

impl Fit {
    /// The word for it in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Fit::Made(_) => "made",
            Fit::Unneeded => "unneeded",
            Fit::Overruled => "overruled",
            Fit::Refused(_) => "refused",
            Fit::Drifted(drift) => drift.name(),
        }
    }

    /// Why the edit was not made, for people; `None` where what it wants stands in the request.
    pub fn why(&self) -> Option<String> {
        match self {
            Fit::Made(_) | Fit::Unneeded => None,
            Fit::Overruled => Some("a saved edit of a closer scope is about the same place".to_owned()),
            Fit::Refused(error) => Some(error.to_string()),
            Fit::Drifted(drift) => Some(drift.describe().to_owned()),
        }
    }
}

leafgate_words::words! {
    /// Why a saved edit does not fit a request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Drift {
        /// The request is of another format.
        OtherFormat = "otherFormat" / "the request is of another format",
        /// Its place is there, with another text.
        OtherText = "otherText" / "another text stands there",
        /// Nothing of its role and kind stands at its place.
        Gone = "gone" / "the request has no such place",
        /// Several places have what it replaces, and none of them is where it was made.
        Ambiguous = "ambiguous" / "several places have what it replaces, and none is where it was made",
    }
    /// The word for it in JSON and logs.
    pub fn name = 0;
    /// A sentence for people.
    pub fn describe = 1;
}

/// Makes saved edits on a draft, those of the first layer first, and says what became of each.
///
/// The draft must be redacted: guards count redacted values by their labels. What is written is
/// not redacted here.
pub fn apply(layers: &[&ScopeEdits], draft: &mut Draft) -> Vec<SavedEditOutcome> {
    // All are found before any is made: what one writes is nothing that another replaces.
    let found: Vec<_> = layers.iter().map(|layer| find::all(layer, draft)).collect();
    let mut outcomes = Vec::new();
    let mut taken = BTreeSet::new();
    for (layer, found) in layers.iter().zip(found) {
        let closer = taken.clone();
        for (edit, found) in layer.edits.iter().zip(found) {
            let fit = match found {
                Ok(node) if !edit.is_insert() && overlaps(&closer, draft, node) => Fit::Overruled,
                Ok(node) => make(edit, node, draft),
                Err(drift) => Fit::Drifted(drift),
            };
            if let (Fit::Made(node), false) = (&fit, edit.is_insert()) {
                taken.insert(*node);
            }
            outcomes.push(SavedEditOutcome {
                id: edit.id.clone(),
                scope: layer.scope,
                path: edit.path.clone(),
                on_drift: edit.on_drift,
                fit,
            });
        }
    }
    outcomes
}

/// Whether any of these values is a value, lies inside it or around it.
fn overlaps(nodes: &BTreeSet<NodeId>, draft: &Draft, node: NodeId) -> bool {
    let document = draft.document();
    let subtree = document.subtree(node);
    let inside = NodeId::from_index(subtree.start)..NodeId::from_index(subtree.end);
    nodes.range(inside).next().is_some() || document.way_up(node).any(|at| nodes.contains(&at))
}

fn make(edit: &SavedEdit, node: NodeId, draft: &mut Draft) -> Fit {
    let author = edit.id.author();
    let section = || section_at(draft.document(), node).ok_or(EditError::NotDeletable);
    let (role, text) = (edit.speaker.unwrap_or_default(), edit.new_text());
    let made = match edit.action {
        SavedChange::Set => draft.set(node, text, &author).map(|version| version.is_some()),
        SavedChange::Delete => section().and_then(|section| draft.delete(section, &author)).map(|_| true),
        SavedChange::Insert => section().and_then(|section: SectionId| {
            // A message before one that is left out would stand where the person saw none.
            if draft.is_deleted(node) {
                return Err(EditError::Deleted);
            }
            let stands = draft
                .inserted()
                .any(|other| other.before == node && other.role == role && other.text().expose() == text);
            if stands { Ok(false) } else { draft.insert(section, role, text, &author).map(|_| true) }
        }),
    };
    match made {
        Ok(true) => Fit::Made(node),
        Ok(false) => Fit::Unneeded,
        Err(error) => Fit::Refused(error),
    }
}

//! The edits of a turn, as a person left it, made saved edits.
//!
//! A person sees a request after all rules. A saved edit is made before rules rewrite. So what the
//! person wants is read from the draft that they left, and the edits are made of a fresh draft as
//! phase 3 of the policy finds it; only those that lead to what the person wants are captured.

use std::collections::BTreeSet;
use std::sync::Arc;

use leafgate_admin::{LeftOutEdit, OnDrift, SavedScope};
use leafgate_tree::{Author, Document, Draft, EditKind, Format, LeafText, NodeId, Role};

use crate::edit::{SavedChange, SavedEdit, SavedId};
use crate::find::{SavedKinds, section_at};
use crate::guard::GuardKey;
use crate::{Fit, ScopeEdits, apply};

/// What all edits of one capture have in common.
#[derive(Clone, Debug)]
pub struct CaptureStamp {
    /// What happens where they do not fit.
    pub on_drift: OnDrift,
    /// When they are saved, as RFC 3339.
    pub updated_at: String,
}

/// What a person's edits want of a request.
#[derive(Debug)]
pub struct Capture {
    document: Arc<Document>,
    wants: Vec<Want>,
    captured: Vec<Result<SavedEdit, LeftOutEdit>>,
}

#[derive(derive_more::Debug)]
#[debug("{action} at {path}")]
struct Want {
    node: NodeId,
    /// Its path, for people.
    path: String,
    action: SavedChange,
    speaker: Option<Role>,
    text: Option<String>,
    /// Whether a redacted value that was released for this request stands in its text.
    holds_released: bool,
}

/// What became of a capture.
#[derive(Debug, Default)]
pub struct Captured {
    /// The edits to save.
    pub edits: Vec<SavedEdit>,
    /// Those that cannot be saved.
    pub left_out: Vec<LeftOutEdit>,
}

const RULED: &str =
    "a rule or plugin changes this place after saved edits are made: change that rule instead";

const RELEASED: &str = "it holds a value that was released for this one request";

const HIDDEN_KEY: &str = "a key of its path holds a value that a rule finds";

impl Capture {
    /// Reads what the edits of a person want that stand in a draft.
    pub fn of(draft: &Draft) -> Capture {
        let mut seen = BTreeSet::new();
        let mut wants = Vec::new();
        let by_person = draft.standing_edits().into_iter().filter(|edit| edit.author == Author::Person);
        for edit in by_person {
            let node = edit.target;
            let (action, speaker, text) = match edit.kind {
                EditKind::Set => (SavedChange::Set, None, Some(draft.text(node))),
                EditKind::Delete => (SavedChange::Delete, None, None),
                EditKind::Insert => match draft.inserted_by(edit) {
                    Some(put_in) => (SavedChange::Insert, Some(put_in.role), Some(put_in.text())),
                    None => continue,
                },
                // What stands of these, other edits say; only rules put members into a body; and a
                // release is for the one request that the person saw.
                EditKind::Restore | EditKind::Reset | EditKind::Option | EditKind::Release => continue,
            };
            // Of several edits of one value, the present text is that of all.
            if action == SavedChange::Insert || seen.insert(node) {
                let (path, holds_released) = (draft.display_path(node), draft.has_released(node));
                let text = text.map(|text| text.into_cow().into_owned());
                wants.push(Want { node, path, action, speaker, text, holds_released });
            }
        }
        Capture { document: Arc::clone(draft.document()), wants, captured: Vec::new() }
    }

    /// Whether no edit of a person stands in the turn.
    pub fn is_empty(&self) -> bool {
        self.wants.is_empty()
    }

    /// Makes the saved edits on a fresh draft of the same request, in phase 3 of its evaluation.
    pub fn make(&mut self, fresh: &mut Draft, key: &GuardKey, stamp: &CaptureStamp) {
        self.captured.clear();
        for number in 0..self.wants.len() {
            let saved = self.saved(number, fresh, key, stamp).and_then(|edit| {
                let layer = ScopeEdits { scope: SavedScope::Session, key: key.clone(), edits: vec![edit] };
                let outcome = apply(&[&layer], fresh).pop();
                let edit = layer.edits.into_iter().next().expect("it holds this one edit");
                match outcome.map(|outcome| outcome.fit) {
                    Some(Fit::Made(_)) => Ok(edit),
                    Some(Fit::Refused(error)) => Err(self.left_out(number, error.to_string())),
                    Some(Fit::Drifted(drift)) => Err(self.left_out(number, drift.describe())),
                    Some(Fit::Unneeded | Fit::Overruled) | None => Err(self.left_out(number, RULED)),
                }
            });
            self.captured.push(saved);
        }
    }

    fn saved(
        &self,
        number: usize,
        fresh: &Draft,
        key: &GuardKey,
        stamp: &CaptureStamp,
    ) -> Result<SavedEdit, LeftOutEdit> {
        let Want { node, path, action, speaker, text, holds_released } = &self.wants[number];
        if *holds_released {
            return Err(self.left_out(number, RELEASED));
        }
        if fresh.hides_key_of(*node) {
            return Err(self.left_out(number, HIDDEN_KEY));
        }
        let document = &*self.document;
        let (kinds, replaces) = match (action, document.settable(*node), section_at(document, *node)) {
            (SavedChange::Set, Some(leaf), _) => {
                (SavedKinds::of_leaf(document, &leaf), key.leaf(fresh, *node))
            }
            (SavedChange::Delete | SavedChange::Insert, _, Some(section)) => {
                (SavedKinds::of_section(document, section), key.section(fresh, *node))
            }
            _ => return Err(self.left_out(number, "it is neither a leaf nor a section")),
        };
        let pointer = document.pointer(*node);
        let format = document.format();
        Ok(SavedEdit {
            id: self.id(number, format, &pointer, &replaces.to_string(), key),
            action: *action,
            path: path.clone(),
            format,
            pointer,
            role: kinds.role,
            section: kinds.section,
            leaf: kinds.leaf,
            replaces,
            speaker: *speaker,
            text: text.clone(),
            on_drift: stamp.on_drift,
            updated_at: stamp.updated_at.clone(),
        })
    }

    /// The same edit of the same place has the same id, so that capturing it again replaces it.
    /// Several messages can be put in at one place, so there the text counts.
    fn id(&self, number: usize, format: Format, pointer: &str, guard: &str, key: &GuardKey) -> SavedId {
        let Want { action, text, .. } = &self.wants[number];
        let text = text.as_deref().filter(|_| *action == SavedChange::Insert).unwrap_or_default();
        let name = key.name(&[format.name(), action.name(), pointer, guard, text]);
        SavedId::new(&name).expect("a digest is a word")
    }

    fn left_out(&self, number: usize, why: impl Into<String>) -> LeftOutEdit {
        LeftOutEdit { path: self.wants[number].path.clone(), why: why.into() }
    }

    /// Returns the edits that led to what the person wants, now that the fresh draft has passed all
    /// phases.
    #[must_use]
    pub fn finish(self, evaluated: &Draft) -> Captured {
        let mut captured = Captured::default();
        for (number, made) in self.captured.iter().enumerate() {
            match made {
                Ok(edit) if self.stands(number, evaluated) => captured.edits.push(edit.clone()),
                Ok(_) => captured.left_out.push(self.left_out(number, RULED)),
                Err(left_out) => captured.left_out.push(left_out.clone()),
            }
        }
        for number in self.captured.len()..self.wants.len() {
            captured
                .left_out
                .push(self.left_out(number, "a rule blocks the request before saved edits are made"));
        }
        captured
    }

    fn stands(&self, number: usize, evaluated: &Draft) -> bool {
        let Want { node, action, speaker, text, .. } = &self.wants[number];
        let says = |now: LeafText<'_>| text.as_deref() == Some(now.expose());
        match action {
            SavedChange::Set => says(evaluated.text(*node)) && !evaluated.is_deleted(*node),
            SavedChange::Delete => evaluated.is_deleted(*node),
            SavedChange::Insert => evaluated
                .inserted()
                .any(|put_in| put_in.before == *node && Some(put_in.role) == *speaker && says(put_in.text())),
        }
    }
}

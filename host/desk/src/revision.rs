//! A person's change of a turn: made on a copy, redacted and judged, and only then put in the
//! turn's place.
//!
//! Redaction may run detectors and plugins for a while, so it must not hold the desk's lock. Hence
//! three steps: the desk hands out a [`Revision`], the change is made on it outside of the lock,
//! and the desk takes the [`Revised`] back unless another change was faster. A refused change
//! leaves no trace, not even in the journal.

use std::sync::Arc;

use leafgate_policy::Verdict;
use leafgate_tree::{Author, Draft, NodeId, Role, SectionId, Version};

use crate::digest::{Destination, Rendering};
use crate::error::DeskError;
use crate::identity::TurnId;
use crate::reviewer::Reviewer;
use crate::summary::TurnExtract;
use crate::turn::memory;

/// A change that a person makes to a request. `Debug` shows no text.
#[derive(Clone, derive_more::Debug)]
pub enum Change {
    /// Gives a leaf another text. For a number, boolean or null the text is its JSON spelling. A
    /// section that was deleted is put back first, as an edit of its own.
    Set {
        /// The leaf, or a string that spells a document.
        node: NodeId,
        /// Its new text, not yet redacted.
        #[debug("{} bytes", text.len())]
        text: String,
    },
    /// Leaves a section out, with what must go with it.
    Delete(SectionId),
    /// Puts a deleted section back.
    Restore(SectionId),
    /// Inserts a message of the user directly before another one.
    Insert {
        /// The message behind it.
        before: SectionId,
        /// Its text, not yet redacted.
        #[debug("{} bytes", text.len())]
        text: String,
    },
    /// Gives a message that a person put in another text.
    Rewrite {
        /// Its place among those that were put in.
        place: usize,
        /// Its new text, not yet redacted.
        #[debug("{} bytes", text.len())]
        text: String,
    },
    /// Takes a redaction back, by its number: the received value leaves, with this request alone.
    Release(usize),
    /// Takes the last edit back, of any author. Redactions stay.
    Undo,
    /// Makes the last undone edit again.
    Redo,
    /// Takes all edits back, in one step. Redactions stay.
    Reset,
}

/// A turn that is handed out to be changed.
#[must_use = "nothing changes until it is made and accepted"]
pub struct Revision<G> {
    pub(crate) turn: TurnId,
    pub(crate) base: Version,
    pub(crate) draft: Arc<Draft>,
    pub(crate) to: Destination,
    pub(crate) reviewer: Arc<G>,
}

/// A change that was made, redacted and judged, and that the turn has not taken over yet.
#[must_use = "nothing changes until the desk accepts it"]
pub struct Revised {
    pub(crate) turn: TurnId,
    pub(crate) base: Version,
    /// `None`: the text is unchanged.
    pub(crate) outcome: Option<RevisedDraft>,
}

pub(crate) struct RevisedDraft {
    pub(crate) draft: Draft,
    pub(crate) version: Version,
    pub(crate) verdict: Verdict,
    pub(crate) rendering: Rendering,
    pub(crate) extract: TurnExtract,
    pub(crate) memory: usize,
    /// Whether it brings text in. A change that only takes edits back is never refused for lack of
    /// room.
    pub(crate) adds_text: bool,
}

impl<G: Reviewer> Revision<G> {
    /// Makes a change: applies it, redacts everything written, and judges the request again.
    ///
    /// # Errors
    /// Where the request does not accept the change, or redaction does not let it in.
    pub fn make(self, change: Change) -> Result<Revised, DeskError> {
        let Revision { turn, base, draft, to, reviewer } = self;
        let mut draft = Draft::clone(&draft);
        let adds_text = matches!(change, Change::Set { .. } | Change::Insert { .. } | Change::Rewrite { .. });
        let refused = match change {
            Change::Release(_) => DeskError::NotReleasable,
            Change::Set { .. }
            | Change::Delete(_)
            | Change::Restore(_)
            | Change::Insert { .. }
            | Change::Rewrite { .. }
            | Change::Undo
            | Change::Redo
            | Change::Reset => DeskError::Unredactable,
        };
        let Some(version) = change.apply(&mut draft)? else {
            return Ok(Revised { turn, base, outcome: None });
        };
        let verdict = reviewer.review(&mut draft).map_err(|hold| refused(Box::new(hold)))?;
        let rendering = Rendering::of(&to, &draft);
        let memory = memory(&draft, &rendering, &*reviewer);
        let extract = TurnExtract::of(&draft, &*reviewer);
        let outcome = RevisedDraft { draft, version, verdict, rendering, extract, memory, adds_text };
        Ok(Revised { turn, base, outcome: Some(outcome) })
    }
}

impl Change {
    fn apply(self, draft: &mut Draft) -> Result<Option<Version>, DeskError> {
        match self {
            Change::Set { node, text } => {
                exists(node.index(), draft.document().node_count())?;
                let restored = match draft.deleted_around(node) {
                    Some(section) => Some(draft.restore(section, &Author::Person)?),
                    None => None,
                };
                Ok(draft.set(node, &text, &Author::Person)?.or(restored))
            }
            Change::Delete(section) => {
                exists(section.index(), draft.document().sections().len())?;
                Ok(Some(draft.delete(section, &Author::Person)?))
            }
            Change::Restore(section) => {
                exists(section.index(), draft.document().sections().len())?;
                Ok(Some(draft.restore(section, &Author::Person)?))
            }
            Change::Insert { before, text } => {
                exists(before.index(), draft.document().sections().len())?;
                Ok(Some(draft.insert(before, Role::User, &text, &Author::Person)?))
            }
            Change::Rewrite { place, text } => Ok(Some(draft.rewrite_inserted(place, &text)?)),
            Change::Release(number) => Ok(Some(draft.release(number)?)),
            Change::Undo => draft.undo().ok_or(DeskError::Nothing("undo")).map(Some),
            Change::Redo => draft.redo().ok_or(DeskError::Nothing("redo")).map(Some),
            Change::Reset => draft.reset().ok_or(DeskError::Nothing("reset")).map(Some),
        }
    }
}

fn exists(place: usize, count: usize) -> Result<(), DeskError> {
    if place < count { Ok(()) } else { Err(DeskError::NoSuchPlace) }
}

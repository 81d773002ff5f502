//! A person's change of a turn: made on a copy, redacted and judged, and only then put in the
//! turn's place.
//!
//! Redaction may run detectors and plugins for a while, so it must not hold the desk's lock. Hence
//! three steps: the desk hands out a [`Revision`], the change is made on it outside of the lock,
//! and the desk takes the [`Revised`] back unless another change was faster. A refused change
//! leaves no trace, not even in the journal.

use std::sync::Arc;

use leafgate_admin::{EditCommand, SectionView};
use leafgate_policy::Verdict;
use leafgate_tree::{Author, Draft, Role, SectionId, Version};

use crate::digest::{Destination, Rendering};
use crate::error::DeskError;
use crate::identity::TurnId;
use crate::reviewer::Reviewer;
use crate::summary::TurnExtract;
use crate::turn::memory;

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
    pub fn make(self, change: &EditCommand) -> Result<Revised, DeskError> {
        let Revision { turn, base, draft, to, reviewer } = self;
        let mut draft = Draft::clone(&draft);
        let adds_text = matches!(change, EditCommand::Set { .. } | EditCommand::Insert { .. });
        let refused = match change {
            EditCommand::Release { .. } => DeskError::NotReleasable,
            EditCommand::Set { .. }
            | EditCommand::Delete { .. }
            | EditCommand::Restore { .. }
            | EditCommand::Insert { .. }
            | EditCommand::Undo
            | EditCommand::Redo
            | EditCommand::Reset => DeskError::Unredactable,
        };
        let Some(version) = made(change, &mut draft)? else {
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

/// Makes a change on a draft. `None`: the text is unchanged.
fn made(change: &EditCommand, draft: &mut Draft) -> Result<Option<Version>, DeskError> {
    let person = &Author::Person;
    Ok(Some(match change {
        EditCommand::Set { pointer, text } => return set(pointer, text.expose(), draft),
        EditCommand::Delete { section } => draft.delete(named(section, draft)?, person)?,
        EditCommand::Restore { section } => draft.restore(named(section, draft)?, person)?,
        EditCommand::Insert { before, text } => {
            draft.insert(named(before, draft)?, Role::User, text.expose(), person)?
        }
        EditCommand::Release { redaction } => draft.release(*redaction)?,
        EditCommand::Undo => draft.undo().ok_or(DeskError::Nothing("undo"))?,
        EditCommand::Redo => draft.redo().ok_or(DeskError::Nothing("redo"))?,
        EditCommand::Reset => draft.reset().ok_or(DeskError::Nothing("reset"))?,
    }))
}

/// Gives a leaf another text, or a message that a person put in. A section that was deleted is put back
/// first, as an edit of its own.
fn set(pointer: &str, text: &str, draft: &mut Draft) -> Result<Option<Version>, DeskError> {
    let place = pointer.strip_prefix(SectionView::INSERTED);
    if let Some(place) = place.and_then(|place| place.parse().ok()) {
        return Ok(Some(draft.rewrite_inserted(place, text)?));
    }
    let node = draft.resolve(pointer)?;
    let restored = match draft.deleted_around(node) {
        Some(section) => Some(draft.restore(section, &Author::Person)?),
        None => None,
    };
    Ok(draft.set(node, text, &Author::Person)?.or(restored))
}

fn named(key: &str, draft: &Draft) -> Result<SectionId, DeskError> {
    let mut ids = (0..draft.document().sections().len()).map(SectionId::from_index);
    ids.find(|&id| draft.section_key(id) == key).ok_or(DeskError::NoSuchPlace)
}

//! Makes recorded operations again on a draft of a request that may have changed since.
//!
//! Redactions are not replayed: the policy redacts anew. An edit is made only where it certainly
//! means the same: the leaf has the text that the edit found, the section has the same texts. An
//! edit that no longer fits is a [`Misfit`].

use std::collections::BTreeSet;
use std::iter::Peekable;

use serde::{Serialize, Serializer};

use crate::draft::{Draft, EditError};
use crate::node::NodeId;
use crate::operation::{Operation, OperationChange, SectionDigest};
use crate::pointer::ResolveError;
use crate::section::SectionId;
use crate::text::spelling;

/// Recorded operations, in order, with those that did not fit.
pub struct Replay {
    operations: Peekable<std::vec::IntoIter<(usize, Operation)>>,
    misfits: Vec<Misfit>,
}

/// An operation that was not made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Misfit {
    /// Its line in the record, from 1.
    pub line: usize,
    /// The display path that it was recorded with.
    pub target_path: String,
    /// Why it was not made.
    #[serde(serialize_with = "as_text")]
    pub why: ReplayError,
}

/// Why an operation cannot be made on a draft.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Its pointer names no single value of this request.
    #[error(transparent)]
    Place(#[from] ResolveError),
    /// The leaf has changed since.
    #[error("the leaf has another text than the edit found")]
    OtherText,
    /// The value is no section.
    #[error("no section stands here")]
    NoSection,
    /// The section has changed since, or the pointer names another one now.
    #[error("the section is not the one that was edited: its texts differ")]
    OtherSection,
    /// A person let a value leave with the request that they saw, and with no other.
    #[error("a release holds for the one request that it was made in")]
    Release,
    /// The draft does not take the edit.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// A line of a record that is no operation. It cites nothing of the line, which may hold user text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: not an operation")]
pub struct BadOperation {
    /// The line, from 1.
    pub line: usize,
    /// The column at which the JSON reader stopped, from 1.
    pub column: usize,
}

impl Replay {
    /// Reads a record: an [`Operation`] as JSON a line. Blank lines are skipped.
    ///
    /// # Errors
    /// [`BadOperation`] for the first line that is no operation.
    pub fn parse(record: &str) -> Result<Self, BadOperation> {
        let lines = (1..).zip(record.lines()).filter(|(_, text)| !text.trim().is_empty());
        let operations: Result<Vec<_>, _> = lines
            .map(|(line, text)| match serde_json::from_str(text) {
                Ok(operation) => Ok((line, operation)),
                Err(error) => Err(BadOperation { line, column: error.column() }),
            })
            .collect();
        Ok(Replay { operations: operations?.into_iter().peekable(), misfits: Vec::new() })
    }

    /// Makes the next operations. Returns false if there is none left.
    ///
    /// Those that write are made together, up to one that finds a text which an earlier one of them
    /// wrote: that text must be redacted first. All others are made alone, since what is written must
    /// be redacted before it is taken back or left out.
    pub fn step(&mut self, draft: &mut Draft) -> bool {
        let Some(first) = self.operations.next() else { return false };
        let mut written = BTreeSet::new();
        let mut next = Some(first);
        while let Some((line, operation)) = next {
            let adds = operation.adds();
            if let Err(why) = operation.make(draft) {
                self.misfits.push(Misfit { line, target_path: operation.target_path, why });
            } else if let Some(node) = operation.writes(draft) {
                written.insert(node);
            }
            let goes_with =
                |(_, next): &(usize, Operation)| adds && next.adds() && !next.finds(draft, &written);
            next = self.operations.next_if(goes_with);
        }
        true
    }

    /// Returns the operations that did not fit.
    pub fn into_misfits(self) -> Vec<Misfit> {
        self.misfits
    }
}

impl Operation {
    /// Makes the operation on a draft, in the name of its author. A redaction does nothing.
    ///
    /// # Errors
    /// See [`ReplayError`]. The draft is as it was then.
    pub fn make(&self, draft: &mut Draft) -> Result<(), ReplayError> {
        let author = &self.author;
        match &self.change {
            OperationChange::Redact { .. } => {}
            OperationChange::Release { .. } => return Err(ReplayError::Release),
            OperationChange::Reset => {
                draft.reset();
            }
            OperationChange::Set { old_value, new_value } => {
                let node = self.node(draft)?;
                if *spelling(old_value) != *draft.text(node).expose() {
                    return Err(ReplayError::OtherText);
                }
                match draft.document().model_leaf() {
                    // Rules may name another model, though they may not write there as they like.
                    Some(model) if model == node => draft.set_model(&spelling(new_value), author)?,
                    _ => draft.set(node, &spelling(new_value), author)?,
                };
            }
            OperationChange::Delete { guard } => {
                draft.delete(self.section(draft, guard)?, author)?;
            }
            OperationChange::Restore { guard } => {
                draft.restore(self.section(draft, guard)?, author)?;
            }
            OperationChange::Option { key, new_value } => {
                draft.put_option(key, new_value, author)?;
            }
            OperationChange::Insert { guard, role, new_value } => {
                draft.insert(self.section(draft, guard)?, *role, new_value, author)?;
            }
        }
        Ok(())
    }

    /// Whether all that it does is to write or to put in.
    fn adds(&self) -> bool {
        matches!(
            self.change,
            OperationChange::Set { .. } | OperationChange::Option { .. } | OperationChange::Insert { .. }
        )
    }

    /// The value that it writes to.
    fn writes(&self, draft: &Draft) -> Option<NodeId> {
        let sets = matches!(self.change, OperationChange::Set { .. });
        self.node(draft).ok().filter(|_| sets)
    }

    /// Whether it finds one of the texts that were written, or one around or inside them.
    fn finds(&self, draft: &Draft, written: &BTreeSet<NodeId>) -> bool {
        let Some(node) = self.writes(draft).filter(|_| !written.is_empty()) else { return false };
        let document = draft.document();
        written.range(document.nodes_in(node)).next().is_some()
            || document.way_up(node).any(|at| written.contains(&at))
    }

    fn node(&self, draft: &Draft) -> Result<NodeId, ResolveError> {
        draft.resolve(&self.pointer)
    }

    /// Returns the outermost section of the target if its texts are those that were recorded.
    fn section(&self, draft: &Draft, guard: &SectionDigest) -> Result<SectionId, ReplayError> {
        let node = self.node(draft)?;
        let id = draft.document().section_at(node).ok_or(ReplayError::NoSection)?;
        if SectionDigest::of(draft, node) != *guard {
            return Err(ReplayError::OtherSection);
        }
        Ok(id)
    }
}

fn as_text<S: Serializer>(why: &ReplayError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(why)
}

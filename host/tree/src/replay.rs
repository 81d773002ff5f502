//! Makes recorded operations again on a draft of a request that may have changed since.
//!
//! Redactions are not replayed: the policy redacts anew. An edit is made only where it certainly
//! means the same: the leaf has the text that the edit found, the section has the same texts. An
//! edit that no longer fits is a [`Misfit`].

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::draft::{Draft, EditError};
use crate::node::NodeId;
use crate::operation::{Operation, OperationChange, SectionDigest};
use crate::pointer::ResolveError;
use crate::section::SectionId;

/// Recorded operations, in order, with those that did not fit.
pub struct Replay {
    operations: std::vec::IntoIter<(usize, Operation)>,
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
        Ok(Replay { operations: operations?.into_iter(), misfits: Vec::new() })
    }

    /// Makes the next operation. Returns false if there is none left.
    pub fn step(&mut self, draft: &mut Draft) -> bool {
        let Some((line, operation)) = self.operations.next() else { return false };
        if let Err(why) = operation.make(draft) {
            self.misfits.push(Misfit { line, target_path: operation.target_path, why });
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

    fn node(&self, draft: &Draft) -> Result<NodeId, ResolveError> {
        draft.document().resolve(&self.pointer)
    }

    /// Returns the outermost section of the target if its texts are those that were recorded.
    fn section(&self, draft: &Draft, guard: &SectionDigest) -> Result<SectionId, ReplayError> {
        let node = self.node(draft)?;
        let sections = draft.document().sections();
        let index = sections.iter().position(|section| section.node == node);
        let index = index.ok_or(ReplayError::NoSection)?;
        if SectionDigest::of(draft, node) != *guard {
            return Err(ReplayError::OtherSection);
        }
        Ok(SectionId::from_index(index))
    }
}

/// Returns the text of a value, or its JSON spelling.
fn spelling(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

fn as_text<S: Serializer>(why: &ReplayError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(why)
}

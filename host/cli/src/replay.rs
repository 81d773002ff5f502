//! Recorded operations made again on a request that may have changed since.
//!
//! Redactions are not replayed: the policy finds anew what there is to redact. An edit is made only where it is certain that it means
//! the same thing: the leaf has the text that the edit found, the section is the one that it was. What no longer fits is told.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use leafgate_tree::{Draft, NodeId, SectionId};
use serde::Serialize;
use serde_json::Value;

use crate::operation::{Act, Guard, Operation};

/// An operation that was not made.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Misfit {
    /// Its line in the file, from 1.
    pub(crate) line: usize,
    /// The path that it was recorded with.
    pub(crate) target_path: String,
    /// Why not.
    pub(crate) why: String,
}

/// The operations of a file, in order, and which of them have been made.
pub(crate) struct Replay {
    operations: std::vec::IntoIter<(usize, Operation)>,
    pub(crate) misfits: Vec<Misfit>,
}

impl Replay {
    /// Reads what `--ops` wrote: an operation a line.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Replay> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut operations = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let operation =
                serde_json::from_str(line).map_err(|error| shorten(&error)).with_context(|| {
                    format!(
                        "{}, line {}: not an operation as `apply --ops` writes it",
                        file.display(),
                        at + 1
                    )
                })?;
            operations.push((at + 1, operation));
        }
        Ok(Replay { operations: operations.into_iter(), misfits: Vec::new() })
    }

    /// Makes the next operation; gives whether there was one.
    pub(crate) fn step(&mut self, draft: &mut Draft) -> bool {
        let Some((line, operation)) = self.operations.next() else { return false };
        if let Err(why) = make(&operation, draft) {
            self.misfits.push(Misfit { line, target_path: operation.target_path, why });
        }
        true
    }
}

/// serde's message without what stood there: a value of the file may be the user's text.
fn shorten(error: &serde_json::Error) -> anyhow::Error {
    anyhow::anyhow!("column {}", error.column())
}

fn make(operation: &Operation, draft: &mut Draft) -> Result<(), String> {
    let author = &operation.author;
    let made = match &operation.act {
        Act::Redact { .. } => return Ok(()),
        Act::Reset => Ok(draft.reset()),
        Act::Set { old_value, new_value } => {
            let node = place(operation, draft)?;
            if *spelling(old_value) != *draft.text(node).expose() {
                return Err("the leaf has another text than the edit found".to_owned());
            }
            draft.set(node, &spelling(new_value), author)
        }
        Act::Delete { guard } => draft.delete(section(operation, draft, guard)?, author).map(Some),
        Act::Restore { guard } => draft.restore(section(operation, draft, guard)?, author).map(Some),
        Act::Insert { guard, role, new_value } => {
            draft.insert(section(operation, draft, guard)?, *role, new_value, author).map(Some)
        }
    };
    made.map(drop).map_err(|error| error.to_string())
}

/// The value that an operation is about.
fn place(operation: &Operation, draft: &Draft) -> Result<NodeId, String> {
    draft.document().resolve(&operation.pointer).map_err(|error| error.to_string())
}

/// The outermost section of a value, if it is still what it was.
fn section(operation: &Operation, draft: &Draft, guard: &Guard) -> Result<SectionId, String> {
    let node = place(operation, draft)?;
    let sections = draft.document().sections();
    let place = sections.iter().position(|section| section.node == node).ok_or("no section stands here")?;
    if Guard::of(draft, node) != *guard {
        return Err("the section is not the one that was edited: its texts differ".to_owned());
    }
    Ok(SectionId::from_index(place))
}

/// The text of a value, or its JSON spelling.
fn spelling(value: &Value) -> std::borrow::Cow<'_, str> {
    match value {
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

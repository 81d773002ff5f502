//! Back and forth through the edits of a draft. No step leads to a text that redaction took away.

use std::sync::Arc;

use super::Draft;
use crate::journal::{Author, EditKind, Switch, Version};

/// A draft to return to. See [`Draft::rollback`].
#[derive(Clone)]
pub struct Checkpoint(Draft);

impl Draft {
    /// Takes the last edit back. Redactions stay.
    pub fn undo(&mut self) -> Option<Version> {
        let edit = self.journal.done.pop()?;
        edit.switches.iter().rev().for_each(|switch| self.apply(switch.inverse()));
        self.journal.undone.push(edit);
        Some(self.journal.next_version())
    }

    /// Makes the last undone edit again.
    pub fn redo(&mut self) -> Option<Version> {
        let edit = self.journal.undone.pop()?;
        edit.switches.iter().for_each(|&switch| self.apply(switch));
        self.journal.done.push(edit);
        Some(self.journal.next_version())
    }

    /// Whether an undone edit can be made again.
    #[must_use]
    pub fn can_redo(&self) -> bool {
        !self.journal.undone.is_empty()
    }

    /// Takes all edits back in one step, which undo takes back in turn. Redactions stay. `None`: there was nothing to take back.
    pub fn reset(&mut self) -> Option<Version> {
        let leaves = self.leaves.iter().filter(|(_, state)| state.current != 0);
        let leaves = leaves.map(|(&node, state)| Switch::Leaf { node, from: state.current, to: 0 });
        let sections = self.deleted.iter().map(|&node| Switch::Deleted { node, from: true, to: false });
        let inserted = self.inserted.iter().enumerate().filter(|(_, inserted)| inserted.stands);
        let inserted = inserted.map(|(at, _)| Switch::Inserted { at, from: true, to: false });
        let options = self.options.iter().enumerate().filter(|(_, option)| option.stands);
        let options = options.map(|(at, _)| Switch::Option { at, from: true, to: false });
        let switches: Vec<_> = leaves.chain(sections).chain(inserted).chain(options).collect();
        if switches.is_empty() {
            return None;
        }
        switches.iter().for_each(|&switch| self.apply(switch));
        Some(self.journal.record(Author::Person, EditKind::Reset, self.document.root(), switches))
    }

    pub(super) fn apply(&mut self, switch: Switch) {
        match switch {
            Switch::Leaf { node, to, .. } => {
                if let Some(state) = self.leaves.get_mut(&node) {
                    Arc::make_mut(state).current = to;
                }
            }
            Switch::Deleted { node, to: true, .. } => {
                self.deleted.insert(&self.document, node);
            }
            Switch::Deleted { node, to: false, .. } => {
                self.deleted.remove(&node);
            }
            Switch::Inserted { at, to, .. } => {
                if let Some(inserted) = self.inserted.get_mut(at) {
                    Arc::make_mut(inserted).stands = to;
                }
            }
            Switch::Option { at, to, .. } => {
                if let Some(option) = self.options.get_mut(at) {
                    Arc::make_mut(option).stands = to;
                }
            }
        }
    }

    /// Remembers the present state.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.clone())
    }

    /// Returns to a remembered state, as if nothing had happened since. Version numbers still do not repeat, and hidden keys stay
    /// hidden.
    pub fn rollback(&mut self, to: Checkpoint) {
        let last_version = self.journal.next_version();
        let hidden_keys = std::mem::take(&mut self.hidden_keys);
        *self = Draft { hidden_keys, ..to.0 };
        self.journal.skip_to(last_version);
    }
}

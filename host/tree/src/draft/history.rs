//! Back and forth through the edits of a draft. No step leads to a text that redaction took away.

use std::sync::Arc;

use super::Draft;
use crate::journal::{Author, EditKind, Switch, Switched, Version};
use crate::node::NodeId;

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
    pub fn can_redo(&self) -> bool {
        !self.journal.undone.is_empty()
    }

    /// Takes all edits back in one step, which undo takes back in turn. Redactions stay. `None`: there was nothing to take back.
    pub fn reset(&mut self) -> Option<Version> {
        let leaves = self.leaves.keys().map(|&node| Switched::Leaf(node));
        let sections = self.deleted.iter().map(|&node| Switched::Deleted(node));
        let all = leaves.chain(sections).chain((0..self.put_in.len()).map(Switched::PutIn));
        let back = all.map(|what| Switch { what, from: self.state_of(what), to: 0 });
        let switches: Vec<_> = back.filter(|switch| switch.from != 0).collect();
        if switches.is_empty() {
            return None;
        }
        Some(self.make(&Author::Person, EditKind::Reset, self.document.root(), switches))
    }

    /// Makes an edit of these steps.
    pub(super) fn make(
        &mut self,
        author: &Author,
        kind: EditKind,
        target: NodeId,
        switches: Vec<Switch>,
    ) -> Version {
        switches.iter().for_each(|&switch| self.apply(switch));
        self.journal.record(author.clone(), kind, target, switches)
    }

    /// Returns the number of the state that something is in.
    pub(super) fn state_of(&self, what: Switched) -> usize {
        match what {
            Switched::Leaf(node) => self.leaves.get(&node).map_or(0, |state| state.current),
            Switched::Deleted(node) => usize::from(self.deleted.contains(&node)),
            Switched::PutIn(number) => usize::from(self.put_in[number].stands),
        }
    }

    fn apply(&mut self, Switch { what, to, .. }: Switch) {
        match what {
            Switched::Leaf(node) => {
                if let Some(state) = self.leaves.get_mut(&node) {
                    Arc::make_mut(state).current = to;
                }
            }
            Switched::Deleted(node) if to == 0 => self.deleted.remove(&node),
            Switched::Deleted(node) => self.deleted.insert(&self.document, node),
            Switched::PutIn(number) => self.put_in[number].stands = to != 0,
        }
    }

    /// Returns to an earlier state of itself, as if nothing had happened since. Version numbers still do not repeat, and hidden keys
    /// stay hidden.
    pub fn rollback(&mut self, to: Draft) {
        let last_version = self.journal.next_version();
        let hidden_keys = std::mem::take(&mut self.hidden_keys);
        *self = Draft { hidden_keys, ..to };
        self.journal.skip_to(last_version);
    }
}

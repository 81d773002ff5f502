//! What was put into a request: messages, and members of the body. Each has a number for good, whether it stands or not.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Draft, PutOption};
use crate::document::Document;
use crate::insert::Inserted;
use crate::journal::{Edit, EditKind, Switch, Switched};
use crate::node::NodeId;

/// Something that was put in.
#[derive(Clone)]
pub(crate) struct PutIn {
    pub(super) what: Added,
    pub(super) stands: bool,
}

/// What it is.
#[derive(Clone)]
pub(crate) enum Added {
    Message(Arc<Inserted>),
    Option(Arc<PutOption>),
}

impl Added {
    pub(crate) fn message(&self) -> Option<&Inserted> {
        match self {
            Added::Message(message) => Some(message),
            Added::Option(_) => None,
        }
    }

    pub(crate) fn option(&self) -> Option<&PutOption> {
        match self {
            Added::Message(_) => None,
            Added::Option(option) => Some(option),
        }
    }

    /// The received list or object that it stands in.
    fn container(&self, document: &Document) -> NodeId {
        match self {
            Added::Message(message) => document.parent(message.before).unwrap_or(message.before),
            Added::Option(option) => option.parent,
        }
    }

    /// Whether it stands before a value of its container: members stand behind all others.
    pub(crate) fn is_before(&self, value: NodeId) -> bool {
        self.message().is_some_and(|message| message.before <= value)
    }

    /// It as it stands in the body.
    pub(crate) fn spell(&self) -> String {
        match self {
            Added::Message(message) => message.json(),
            Added::Option(option) => option.spell(),
        }
    }

    /// Bytes of memory, about.
    pub(super) fn memory(&self) -> usize {
        match self {
            Added::Message(message) => message.memory(),
            Added::Option(option) => option.memory(),
        }
    }
}

impl Draft {
    /// Puts something in; gives the step by which it stands.
    pub(super) fn keep_added(&mut self, what: Added) -> Switch {
        self.put_in.push(PutIn { what, stands: false });
        Switch::forward(Switched::PutIn(self.put_in.len() - 1))
    }

    /// What was put in and stands, in the order in which that happened.
    fn added(&self) -> impl Iterator<Item = &Added> {
        self.put_in.iter().filter(|put_in| put_in.stands).map(|put_in| &put_in.what)
    }

    /// The same by container, in the order in which it leaves: messages before the same one in that in which they were put in.
    pub(crate) fn added_by_container(&self) -> BTreeMap<NodeId, Vec<&Added>> {
        let mut containers: BTreeMap<NodeId, Vec<&Added>> = BTreeMap::new();
        for added in self.added() {
            containers.entry(added.container(self.document())).or_default().push(added);
        }
        let before = |added: &&Added| added.message().map(|message| message.before);
        containers.values_mut().for_each(|added| added.sort_by_key(before));
        containers
    }

    /// The messages that were put in and stand, in the order in which they were put in.
    pub fn inserted(&self) -> impl Iterator<Item = &Inserted> {
        self.added().filter_map(Added::message)
    }

    /// The members that were put in and stand, in the order in which they were put in.
    pub fn options(&self) -> impl Iterator<Item = &PutOption> {
        self.added().filter_map(Added::option)
    }

    /// The message of a number, where it stands.
    pub fn inserted_at(&self, number: usize) -> Option<&Inserted> {
        self.put_in.get(number).filter(|put_in| put_in.stands)?.what.message()
    }

    /// The message that an edit put in; `None` for edits of another kind.
    pub fn inserted_by(&self, edit: &Edit) -> Option<&Inserted> {
        self.added_by(edit)?.message()
    }

    /// The member that an edit put in; `None` for edits of another kind.
    pub fn option_by(&self, edit: &Edit) -> Option<&PutOption> {
        self.added_by(edit)?.option()
    }

    fn added_by(&self, edit: &Edit) -> Option<&Added> {
        match edit.switches.last()?.what {
            Switched::PutIn(number) if edit.kind != EditKind::Reset => Some(&self.put_in[number].what),
            Switched::PutIn(_) | Switched::Leaf(_) | Switched::Deleted(_) => None,
        }
    }
}

//! Edits of whole sections: left out, put back, put in.

use std::sync::Arc;

use super::{Draft, EditError};
use crate::exchange;
use crate::insert::{self, Inserted};
use crate::journal::{Author, Edit, EditKind, Redaction, Switch, Version};
use crate::kinds::Role;
use crate::node::NodeId;
use crate::section::SectionId;

impl Draft {
    /// Leaves a message out, together with the calls and results that the API wants to see with it; or a tool definition.
    ///
    /// # Errors
    /// Says why not; nothing has changed then.
    pub fn delete(&mut self, section: SectionId, author: &Author) -> Result<Version, EditError> {
        let nodes = exchange::deleted_with(&self.document, section).ok_or(EditError::NotDeletable)?;
        let target = self.document.section(section).node;
        if self.is_deleted(target) {
            return Err(EditError::Deleted);
        }
        self.may_leave_out(&nodes)?;
        if !author.is_person() {
            for &node in &nodes {
                self.is_free(node)?;
            }
        }
        Ok(self.switch_deleted(nodes, true, author, EditKind::Delete, target))
    }

    /// Puts a deleted section back, with everything that went with it.
    ///
    /// # Errors
    /// Says why not; nothing has changed then.
    pub fn restore(&mut self, section: SectionId, author: &Author) -> Result<Version, EditError> {
        let nodes = exchange::deleted_with(&self.document, section).ok_or(EditError::NotDeletable)?;
        let target = self.document.section(section).node;
        if !self.deleted.contains(&target) {
            return Err(EditError::NotDeleted);
        }
        Ok(self.switch_deleted(nodes, false, author, EditKind::Restore, target))
    }

    fn switch_deleted(
        &mut self,
        nodes: Vec<NodeId>,
        to: bool,
        author: &Author,
        kind: EditKind,
        target: NodeId,
    ) -> Version {
        let switches: Vec<_> = nodes
            .into_iter()
            .filter(|node| self.deleted.contains(node) != to)
            .map(|node| Switch::Deleted { node, from: !to, to })
            .collect();
        switches.iter().for_each(|&switch| self.apply(switch));
        self.journal.record(author.clone(), kind, target, switches)
    }

    /// Whether a value is left out, by itself or with something around it.
    #[must_use]
    pub fn is_deleted(&self, node: NodeId) -> bool {
        !self.deleted.is_empty()
            && std::iter::successors(Some(node), |&at| self.document.parent(at))
                .any(|at| self.deleted.contains(&at))
    }

    /// Returns the section that was left out and that a value belongs to.
    #[must_use]
    pub fn deleted_around(&self, node: NodeId) -> Option<SectionId> {
        let mut way = std::iter::successors(Some(node), |&at| self.document.parent(at));
        way.find(|at| self.deleted.contains(at)).and_then(|at| self.document.section_at(at))
    }

    /// Whether anything is left out.
    #[must_use]
    pub fn has_deleted(&self) -> bool {
        !self.deleted.is_empty()
    }

    /// Puts a whole message of text directly before another one.
    ///
    /// The text is written as it is; [`Draft::redact_inserted`] covers what is found in it.
    ///
    /// # Errors
    /// Says why not; nothing has changed then. A place inside an exchange, between a call and its result, is refused.
    pub fn insert(
        &mut self,
        before: SectionId,
        role: Role,
        text: &str,
        author: &Author,
    ) -> Result<Version, EditError> {
        let place = insert::place(&self.document, before, role);
        let (node, spelling) = place.map_err(EditError::NotInsertable)?;
        if !author.is_person()
            && let Some(by) = self.pinned_by(self.document.parent(node).unwrap_or(node))
        {
            return Err(EditError::Pinned { by: by.clone() });
        }
        let inserted = Inserted {
            before: node,
            role,
            spelling,
            text: text.into(),
            redacted: Vec::new(),
            author: author.clone(),
            stands: true,
        };
        self.inserted.push(Arc::new(inserted));
        let switch = Switch::Inserted { at: self.inserted.len() - 1, from: false, to: true };
        Ok(self.journal.record(author.clone(), EditKind::Insert, node, vec![switch]))
    }

    /// Gives a message that a person put in another text. It is named by its place among [`Draft::inserted`], the last of which it is
    /// then; what redaction wrote in the old text is gone with that.
    ///
    /// # Errors
    /// There is no such message of a person. Nothing has changed then.
    pub fn rewrite_inserted(&mut self, place: usize, text: &str) -> Result<Version, EditError> {
        let standing = self.inserted.iter().enumerate().filter(|(_, inserted)| inserted.stands).nth(place);
        let (at, old) = standing.filter(|(_, old)| old.author.is_person()).ok_or(EditError::NotALeaf)?;
        let new = Inserted { text: text.into(), redacted: Vec::new(), ..Inserted::clone(old) };
        let (node, author) = (new.before, new.author.clone());
        Arc::make_mut(&mut self.inserted[at]).stands = false;
        self.inserted.push(Arc::new(new));
        let new = self.inserted.len() - 1;
        let switches = vec![
            Switch::Inserted { at, from: true, to: false },
            Switch::Inserted { at: new, from: false, to: true },
        ];
        Ok(self.journal.record(author, EditKind::Insert, node, switches))
    }

    /// Redacts ranges of the text of a message that was put in, named by its place among [`Draft::inserted`]. Like every redaction it
    /// amends what it finds: no undo brings the text back.
    ///
    /// # Errors
    /// Ranges that do not fit the text. Nothing has changed then.
    pub fn redact_inserted(&mut self, place: usize, redactions: &[Redaction]) -> Result<(), EditError> {
        let standing = self.inserted.iter_mut().filter(|inserted| inserted.stands).nth(place);
        let inserted = standing.ok_or(EditError::NotALeaf)?;
        super::check_ranges(&inserted.text, redactions.iter().map(|redaction| &redaction.at))?;
        Arc::make_mut(inserted).redact(redactions);
        Ok(())
    }

    /// The messages that were put in and stand, in the order in which they were put in.
    pub fn inserted(&self) -> impl Iterator<Item = &Inserted> {
        self.inserted.iter().map(Arc::as_ref).filter(|inserted| inserted.stands)
    }

    /// The message that an edit put in; `None` for edits of another kind.
    #[must_use]
    pub fn inserted_by(&self, edit: &Edit) -> Option<&Inserted> {
        match *edit.switches.as_slice() {
            [.., Switch::Inserted { at, .. }] if edit.kind == EditKind::Insert => {
                self.inserted.get(at).map(Arc::as_ref)
            }
            _ => None,
        }
    }
}

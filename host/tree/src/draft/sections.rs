//! Edits of whole sections: left out, put back, put in.

use std::sync::Arc;

use super::{Added, Draft, EditError};
use crate::exchange;
use crate::insert::{self, Inserted};
use crate::journal::{Author, EditKind, Redaction, Switch, Switched, Version};
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
        Ok(self.switch_deleted(nodes, 1, author, EditKind::Delete, target))
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
        Ok(self.switch_deleted(nodes, 0, author, EditKind::Restore, target))
    }

    fn switch_deleted(
        &mut self,
        nodes: Vec<NodeId>,
        to: usize,
        author: &Author,
        kind: EditKind,
        target: NodeId,
    ) -> Version {
        let steps = nodes.into_iter().map(Switched::Deleted);
        let steps = steps.map(|what| Switch { what, from: self.state_of(what), to });
        let switches = steps.filter(|step| step.from != to).collect();
        self.make(author, kind, target, switches)
    }

    /// Whether a value is left out, by itself or with something around it.
    pub fn is_deleted(&self, node: NodeId) -> bool {
        !self.deleted.is_empty() && self.document.way_up(node).any(|at| self.deleted.contains(&at))
    }

    /// Returns the section that was left out and that a value belongs to.
    pub fn deleted_around(&self, node: NodeId) -> Option<SectionId> {
        let mut way = self.document.way_up(node);
        way.find(|at| self.deleted.contains(at)).and_then(|at| self.document.section_at(at))
    }

    /// Whether anything is left out.
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
        let number = self.put_in.len();
        let inserted = Inserted::new(number, (node, role, spelling), text, author);
        let switch = self.keep_added(Added::Message(inserted.into()));
        Ok(self.make(author, EditKind::Insert, node, vec![switch]))
    }

    /// Gives a message that a person put in another text. It is named by its place among [`Draft::inserted`], the last of which it is
    /// then; what redaction wrote in the old text is gone with that.
    ///
    /// # Errors
    /// There is no such message of a person. Nothing has changed then.
    pub fn rewrite_inserted(&mut self, place: usize, text: &str) -> Result<Version, EditError> {
        let standing = self.inserted().nth(place);
        let old = standing.filter(|old| old.author.is_person()).ok_or(EditError::NotALeaf)?;
        let place = (old.before, old.role, old.spelling.clone());
        let new = Inserted::new(self.put_in.len(), place, text, &old.author);
        let (node, author) = (new.before, new.author.clone());
        let gone = Switch::forward(Switched::PutIn(old.number)).inverse();
        let switches = vec![gone, self.keep_added(Added::Message(new.into()))];
        Ok(self.make(&author, EditKind::Insert, node, switches))
    }

    /// Redacts ranges of the text of a message that was put in and stands, named by its number. Like every redaction it amends what it
    /// finds: no undo brings the text back.
    ///
    /// # Errors
    /// Ranges that do not fit the text. Nothing has changed then.
    pub fn redact_inserted(&mut self, number: usize, redactions: &[Redaction]) -> Result<(), EditError> {
        let put_in = self.put_in.get_mut(number).filter(|put_in| put_in.stands);
        let Some(Added::Message(message)) = put_in.map(|put_in| &mut put_in.what) else {
            return Err(EditError::NotALeaf);
        };
        super::check_ranges(&message.text, redactions.iter().map(|redaction| &redaction.at))?;
        Arc::make_mut(message).redact(redactions);
        Ok(())
    }
}

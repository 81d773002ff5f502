//! Members of the body beside the messages: put in, replaced, left out. And the model.
//!
//! What stands already is edited as the leaf that it is. Anything else leaves as a whole, and its new value stands behind the last
//! member that is kept.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{Draft, EditError};
use crate::document::Document;
use crate::journal::{Author, EditKind, Switch, Version};
use crate::kinds::ValueType;
use crate::node::{Kind, NodeId};
use crate::project::Access;
use crate::section::{NodeType, SectionId};
use crate::text::LeafText;

/// A member that was put into the body.
#[derive(Clone)]
pub struct PutOption {
    key: Arc<str>,
    json: Arc<str>,
    author: Author,
    pub(super) stands: bool,
}

impl PutOption {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its value, as JSON.
    #[must_use]
    pub fn json(&self) -> LeafText<'_> {
        LeafText::new(&*self.json)
    }

    /// Who put it in.
    #[must_use]
    pub fn author(&self) -> &Author {
        &self.author
    }

    /// The member as it stands in the body.
    pub(crate) fn spell(&self) -> String {
        format!("{}:{}", Value::from(&*self.key), self.json)
    }

    /// Bytes of memory, about.
    pub(super) fn memory(&self) -> usize {
        size_of::<PutOption>() + self.key.len() + self.json.len()
    }
}

impl fmt::Debug for PutOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("PutOption");
        fields.field("key", &self.key).field("json", &self.json()).field("author", &self.author).finish()
    }
}

impl Document {
    /// The list of tools; leaving it out takes along what means nothing without tools.
    #[must_use]
    pub fn tool_list(&self) -> Option<SectionId> {
        let keys = self.format().spec().tool_options();
        let list = keys.first()?;
        let is_list = |at: &usize| {
            let section = &self.sections()[*at];
            // Tools that stand in no array are no list that an edit could have emptied.
            let is_array = self.kind(section.node) == Kind::Array;
            section.node_type == NodeType::RequestOption && is_array && self.is_member(section.node, list)
        };
        (0..self.sections().len()).find(is_list).map(SectionId::from_index)
    }

    /// The members of the body that mean nothing without tools, the tools themselves included.
    pub(crate) fn tool_options(&self) -> Vec<NodeId> {
        let keys = self.format().spec().tool_options();
        let members = self.children(self.root());
        members.filter(|&member| keys.iter().any(|key| self.has_key(member, key))).collect()
    }

    fn is_member(&self, node: NodeId, key: &str) -> bool {
        self.parent(node) == Some(self.root()) && self.has_key(node, key)
    }
}

impl Draft {
    /// Gives the body a member, in the place of what stands under its key. `None`: it has that value already.
    ///
    /// # Errors
    /// Protected and frozen members stay what they are, and so do those that hold messages. Nothing has changed then.
    pub fn put_option(
        &mut self,
        key: &str,
        value: &Value,
        author: &Author,
    ) -> Result<Option<Version>, EditError> {
        let document = Arc::clone(&self.document);
        if document.kind(document.root()) != Kind::Object {
            return Err(EditError::NotInsertable("the body is no object"));
        }
        let received: Vec<NodeId> = document
            .children(document.root())
            .filter(|&member| document.has_key(member, key) && !self.deleted.contains(&member))
            .collect();
        let put = self.options.iter().position(|option| option.stands && *option.key == *key);
        match (received.as_slice(), put) {
            (&[member], None) if is_alike(&document, member, value) => {
                return self.set(member, &text_of(value), author);
            }
            (&[member], None) if self.says(member, value) => return Ok(None),
            ([], Some(at)) if *self.options[at].json == *value.to_string() => return Ok(None),
            _ => {}
        }
        received.iter().try_for_each(|&member| self.may_leave(member, author))?;
        let mut switches: Vec<Switch> =
            received.iter().map(|&node| Switch::Deleted { node, from: false, to: true }).collect();
        switches.extend(put.map(|at| Switch::Option { at, from: true, to: false }));
        self.options.push(Arc::new(PutOption {
            key: key.into(),
            json: value.to_string().into(),
            author: author.clone(),
            stands: false,
        }));
        switches.push(Switch::Option { at: self.options.len() - 1, from: false, to: true });
        switches.iter().for_each(|&switch| self.apply(switch));
        let target = received.first().copied().unwrap_or(document.root());
        Ok(Some(self.journal.record(author.clone(), EditKind::Option, target, switches)))
    }

    /// Names another model. `None`: it is that one already.
    ///
    /// # Errors
    /// Where the body names none. Nothing has changed then.
    pub fn set_model(&mut self, model: &str, author: &Author) -> Result<Option<Version>, EditError> {
        let node = self.document.model_leaf().ok_or(EditError::NotALeaf)?;
        self.may_change(node, author)?;
        let (range, with) = crate::pieces::difference(self.text(node).expose(), model);
        self.replace(node, vec![(range, with)], author)
    }

    /// The members that were put in and stand, in the order in which they were put in.
    pub fn options(&self) -> impl Iterator<Item = &PutOption> {
        self.options.iter().map(Arc::as_ref).filter(|option| option.stands)
    }

    /// The member that an edit put in; `None` for edits of another kind.
    #[must_use]
    pub fn option_by(&self, edit: &crate::journal::Edit) -> Option<&PutOption> {
        match edit.switches.last() {
            Some(&Switch::Option { at, .. }) if edit.kind == EditKind::Option => {
                self.options.get(at).map(Arc::as_ref)
            }
            _ => None,
        }
    }

    /// Whether an author may leave a member out to put another value in its place.
    fn may_leave(&self, member: NodeId, author: &Author) -> Result<(), EditError> {
        let document = &self.document;
        let inside = document.subtree(member);
        let holds_messages = document
            .sections()
            .iter()
            .any(|section| section.node_type == NodeType::Message && inside.contains(&section.node.index()));
        let access = |node| document.projection().access(node);
        if holds_messages {
            return Err(EditError::NotDeletable);
        }
        if inside.clone().any(|at| access(NodeId::from_index(at)) == Access::Frozen) {
            return Err(EditError::Frozen);
        }
        if author.is_person() {
            return Ok(());
        }
        match access(member) {
            Access::Protected => Err(EditError::Protected),
            Access::Open | Access::Frozen | Access::Opaque => self.is_free(member),
        }
    }

    /// Whether a received member that nobody touched has a value.
    fn says(&self, member: NodeId, value: &Value) -> bool {
        let inside = self.document.subtree(member).map(NodeId::from_index);
        let untouched = inside.clone().all(|node| self.is_as_received(node) && !self.deleted.contains(&node));
        let spelled = &self.document.source()[self.document.body_span(member)];
        untouched && serde_json::from_slice::<Value>(spelled).is_ok_and(|received| received == *value)
    }
}

/// Whether a member is a leaf that can have a value without becoming one of another type.
fn is_alike(document: &Document, member: NodeId, value: &Value) -> bool {
    let is_text = document.leaf(member).map(|leaf| leaf.value_type() == ValueType::Text);
    match value {
        Value::Object(_) | Value::Array(_) => false,
        value => is_text == Some(value.is_string()),
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

//! Members of the body beside the messages: put in, replaced, left out. And the model.
//!
//! A member is named by the keys on the way to it, joined by dots, as rules ask for it: `reasoning.effort` stands in the object
//! `reasoning`, whose other members stay.
//!
//! What stands already is edited as the leaf that it is. Anything else leaves as a whole, and its new value stands behind the last
//! member that is kept.

use std::sync::Arc;

use serde_json::Value;

use super::{Added, Draft, EditError};
use crate::document::Document;
use crate::index::Segment;
use crate::journal::{Author, EditKind, Switch, Switched, Version};
use crate::kinds::ValueType;
use crate::node::{JsonKind, NodeId};
use crate::pointer::write_pointer;
use crate::project::Access;
use crate::section::{NodeType, Section, SectionId};
use crate::text::{LeafText, spelling};

/// A member that was put into the body.
#[derive(Clone, derive_more::Debug)]
pub struct PutOption {
    /// The received object that it stands in.
    pub(crate) parent: NodeId,
    /// The keys on the way to it.
    key: Arc<str>,
    #[debug("{} bytes of text", json.len())]
    json: Arc<str>,
    /// Who put it in.
    pub author: Author,
}

impl PutOption {
    /// The keys on the way to it, joined by dots.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its own key.
    pub fn member(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or_default()
    }

    /// Its place in the body that leaves, as an RFC 6901 pointer.
    pub fn pointer(&self) -> String {
        let keys: Vec<_> = self.key.split('.').map(|key| Segment::Key(key.into())).collect();
        write_pointer(&keys)
    }

    /// Its value, as JSON.
    pub fn json(&self) -> LeafText<'_> {
        LeafText::new(&*self.json)
    }

    /// The member as it stands in the body.
    pub(crate) fn spell(&self) -> String {
        format!("{}:{}", Value::from(self.member()), self.json)
    }

    /// Bytes of memory, about.
    pub(super) fn memory(&self) -> usize {
        size_of::<PutOption>() + self.key.len() + self.json.len()
    }
}

impl Document {
    /// The list of tools; leaving it out takes along what means nothing without tools.
    pub fn tool_list(&self) -> Option<SectionId> {
        let keys = self.format().spec().tool_options;
        let list = keys.first()?;
        let is_list = |at: &usize| {
            let section = &self.sections()[*at];
            // Tools that stand in no array are no list that an edit could have emptied.
            let is_array = self.kind(section.node) == JsonKind::Array;
            let is_member =
                self.parent(section.node) == Some(self.request()) && self.has_key(section.node, list);
            section.node_type == NodeType::RequestOption && is_array && is_member
        };
        (0..self.sections().len()).find(is_list).map(SectionId::from_index)
    }

    /// The members of the body that mean nothing without tools, the tools themselves included.
    pub(crate) fn tool_options(&self) -> Vec<NodeId> {
        let keys = self.format().spec().tool_options;
        let members = self.children(self.request());
        members.filter(|&member| keys.iter().any(|key| self.has_key(member, key))).collect()
    }

    /// The object that is the request: the body, or the member that holds all of it.
    fn request(&self) -> NodeId {
        (self.format().spec().wrapper)(self).unwrap_or(self.root())
    }
}

impl Draft {
    /// Gives the request a member, in the place of what stands under its key. Objects on the way to it keep their other members, and
    /// those that are not there are made. `None`: it has that value already.
    ///
    /// # Errors
    /// Protected and frozen members stay what they are, and so do those that hold messages. What stands on the way must be one object.
    /// Nothing has changed then.
    pub fn put_option(
        &mut self,
        key: &str,
        value: &Value,
        author: &Author,
    ) -> Result<Option<Version>, EditError> {
        let wrapper = (self.document.format().spec().wrapper)(&self.document);
        let key = match wrapper.map(|wrapper| self.document.key_of(wrapper)) {
            Some(wrapper) => format!("{wrapper}.{key}"),
            None => key.to_owned(),
        };
        let OptionPlace { parent, key, value } = self.option_place(&key, value)?;
        self.may_hold(parent, author)?;
        self.put_member(parent, &key, &value, author)
    }

    /// Finds the innermost object that is there, and what is to stand in it.
    fn option_place(&self, path: &str, value: &Value) -> Result<OptionPlace, EditError> {
        let document = &self.document;
        if document.kind(document.root()) != JsonKind::Object {
            return Err(EditError::NotInsertable("the body is no object"));
        }
        let keys: Vec<&str> = path.split('.').collect();
        let mut parent = document.root();
        for (depth, key) in keys.iter().enumerate().take(keys.len() - 1) {
            let place = |value| OptionPlace { parent, key: keys[..=depth].join("."), value };
            let inner = &keys[depth + 1..];
            if let Some((_, put)) = self.put_at(parent, key) {
                let mut put = serde_json::from_str(&put.json).unwrap_or(Value::Null);
                set_inside(&mut put, inner, value)?;
                return Ok(place(put));
            }
            match self.standing_members(parent, key).as_slice() {
                [] => return Ok(place(wrapped(inner, value))),
                &[member] if document.kind(member) == JsonKind::Object => parent = member,
                &[member] if document.kind(member) == JsonKind::Null => {
                    return Ok(place(wrapped(inner, value)));
                }
                [_] => return Err(NO_OBJECT),
                _ => return Err(EditError::NotInsertable("a key on the way to the option stands twice")),
            }
        }
        Ok(OptionPlace { parent, key: path.to_owned(), value: value.clone() })
    }

    fn put_member(
        &mut self,
        parent: NodeId,
        path: &str,
        value: &Value,
        author: &Author,
    ) -> Result<Option<Version>, EditError> {
        let document = Arc::clone(&self.document);
        let key = path.rsplit('.').next().unwrap_or_default();
        let received = self.standing_members(parent, key);
        let put = self.put_at(parent, key);
        match (received.as_slice(), put) {
            (&[member], None) if is_alike(&document, member, value) => {
                return self.set(member, &spelling(value), author);
            }
            (&[member], None) if self.says(member, value) => return Ok(None),
            ([], Some((_, put))) if *put.json == *value.to_string() => return Ok(None),
            _ => {}
        }
        received.iter().try_for_each(|&member| self.may_leave(member, author))?;
        let mut switches: Vec<Switch> =
            received.iter().map(|&node| Switch::forward(Switched::Deleted(node))).collect();
        let gone = received.iter().flat_map(|&member| self.put_below(member)).chain(put);
        switches.extend(gone.map(|(number, _)| Switch::forward(Switched::PutIn(number)).inverse()));
        let json = value.to_string().into();
        let option = PutOption { parent, key: path.into(), json, author: author.clone() };
        switches.push(self.keep_added(Added::Option(option.into())));
        let target = received.first().copied().unwrap_or(parent);
        Ok(Some(self.make(author, EditKind::Option, target, switches)))
    }

    /// The received members of an object that have a key and were not left out.
    fn standing_members(&self, parent: NodeId, key: &str) -> Vec<NodeId> {
        let document = &self.document;
        let members = document.children(parent).filter(|&member| document.has_key(member, key));
        members.filter(|member| !self.deleted.contains(member)).collect()
    }

    /// The members that were put in and stand, with their numbers.
    fn numbered_options(&self) -> impl Iterator<Item = (usize, &PutOption)> {
        let standing = self.put_in.iter().enumerate().filter(|(_, put_in)| put_in.stands);
        standing.filter_map(|(number, put_in)| Some((number, put_in.what.option()?)))
    }

    /// The one that was put into an object under a key.
    fn put_at(&self, parent: NodeId, key: &str) -> Option<(usize, &PutOption)> {
        self.numbered_options().find(|(_, option)| option.parent == parent && option.member() == key)
    }

    /// Those that were put into a received member.
    fn put_below(&self, member: NodeId) -> impl Iterator<Item = (usize, &PutOption)> {
        let inside = self.document.subtree(member);
        self.numbered_options().filter(move |(_, option)| inside.contains(&option.parent.index()))
    }

    /// Whether an author may put members into an object.
    fn may_hold(&self, object: NodeId, author: &Author) -> Result<(), EditError> {
        let document = &self.document;
        if object == document.root() {
            return Ok(());
        }
        let in_message = |section: &Section| {
            let inside = || document.subtree(section.node).contains(&object.index());
            section.node_type == NodeType::Message && inside()
        };
        if document.sections().iter().any(in_message) {
            return Err(EditError::NotInsertable("messages hold no options"));
        }
        match document.projection.access(object) {
            Access::Frozen => Err(EditError::Frozen),
            Access::Protected if !author.is_person() => Err(EditError::Protected),
            Access::Open | Access::Opaque | Access::Protected => Ok(()),
        }
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

    /// Whether an author may leave a member out to put another value in its place.
    fn may_leave(&self, member: NodeId, author: &Author) -> Result<(), EditError> {
        let document = &self.document;
        let inside = document.subtree(member);
        let holds_messages = document
            .sections()
            .iter()
            .any(|section| section.node_type == NodeType::Message && inside.contains(&section.node.index()));
        let access = |node| document.projection.access(node);
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
        let as_received = |node| self.is_as_received(node) && !self.deleted.contains(&node);
        let untouched = inside.clone().all(as_received) && self.put_below(member).next().is_none();
        let spelled = &self.document.source()[self.document.body_span(member)];
        untouched && serde_json::from_slice::<Value>(spelled).is_ok_and(|received| received == *value)
    }
}

/// Where a member is put, and its value.
struct OptionPlace {
    parent: NodeId,
    /// The keys on the way to it.
    key: String,
    value: Value,
}

const NO_OBJECT: EditError = EditError::NotInsertable("what stands on the way to the option is no object");

/// Returns a value below some keys, outermost first.
fn wrapped(keys: &[&str], value: &Value) -> Value {
    keys.iter().rev().fold(value.clone(), |inner, key| serde_json::json!({ *key: inner }))
}

/// Sets what stands below some keys of a value.
fn set_inside(whole: &mut Value, keys: &[&str], value: &Value) -> Result<(), EditError> {
    let Some((key, inner)) = keys.split_first() else {
        *whole = value.clone();
        return Ok(());
    };
    if whole.is_null() {
        *whole = wrapped(keys, value);
        return Ok(());
    }
    let members = whole.as_object_mut().ok_or(NO_OBJECT)?;
    set_inside(members.entry(*key).or_insert(Value::Null), inner, value)
}

/// Whether a member is a leaf that can have a value without becoming one of another type.
fn is_alike(document: &Document, member: NodeId, value: &Value) -> bool {
    let is_text = document.leaf(member).map(|leaf| leaf.value_type() == ValueType::Text);
    match value {
        Value::Object(_) | Value::Array(_) => false,
        value => is_text == Some(value.is_string()),
    }
}

//! A request body: the index of its bytes, and what its format says about each value.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use crate::error::ParseError;
use crate::formats::Format;
use crate::index::{Index, Segment};
use crate::kinds::{Role, SectionKind, ValueType};
use crate::node::NodeId;
use crate::project::Projection;
use crate::scan::Limits;
use crate::section::{CallBefore, NodeType, Section, SectionId};

/// A request body as it was received. Immutable; edits live in a [`crate::Draft`] beside it.
///
/// What needs no format (children, members, pointers, texts) is the [`Index`]'s, to which a document derefs.
#[derive(derive_more::Debug, derive_more::Deref)]
#[debug("Document({format}, {} bytes, {} values)", index.source().len(), index.node_count())]
pub struct Document {
    #[deref(forward)]
    index: Arc<Index>,
    format: Format,
    pub(crate) projection: Projection,
    /// The sections that somebody says are of another kind than the format does.
    reclassified: Vec<SectionId>,
}

impl Document {
    /// Reads a body as JSON and names its parts by `format`.
    ///
    /// # Errors
    /// A [`ParseError`] with the place where the body stops being JSON, or the limit that it exceeds.
    pub fn parse(source: Bytes, format: Format, limits: &Limits) -> Result<Document, ParseError> {
        Ok(Document::named(Index::parse(source, limits)?, format))
    }

    /// Reads a body as JSON and names its parts by the format whose shape it has.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn detect(source: Bytes, limits: &Limits) -> Result<Document, ParseError> {
        let index = Index::parse(source, limits)?;
        let format = Format::of_shape(&index);
        Ok(Document::named(index, format))
    }

    /// Takes a body that is no JSON as one leaf that holds all of it.
    pub fn raw(source: Bytes) -> Document {
        Document::named(Index::raw(source), Format::Generic)
    }

    fn named(index: Index, format: Format) -> Document {
        let projection = format.projection(&index);
        Document { index: Arc::new(index), format, projection, reclassified: Vec::new() }
    }

    /// Returns the same request with other kinds for some of its sections. What the API must find
    /// together goes by kinds too, so calls, results and options stay what they are.
    pub fn reclassified(&self, kinds: &BTreeMap<SectionId, SectionKind>) -> Document {
        let mut document = Document {
            index: Arc::clone(&self.index),
            format: self.format,
            projection: self.projection.clone(),
            reclassified: self.reclassified.clone(),
        };
        for (&id, &kind) in kinds {
            let section = &mut document.projection.sections[id.index()];
            if section.kind != kind && section.kind.is_of_words() && kind.is_of_words() {
                section.kind = kind;
                document.reclassified.push(id);
            }
        }
        document
    }

    /// Whether any section is of another kind than the format says.
    pub fn is_reclassified(&self) -> bool {
        !self.reclassified.is_empty()
    }

    /// Takes over what somebody said of the sections of another document, whose values these come
    /// from.
    pub(crate) fn classify_like(
        &mut self,
        received: &Document,
        came_from: impl Fn(NodeId) -> Option<NodeId>,
    ) {
        let said = received.reclassified.iter().map(|&id| received.section(id));
        let said: BTreeMap<NodeId, &Section> = said.map(|section| (section.node, section)).collect();
        if said.is_empty() {
            return;
        }
        for (at, section) in self.projection.sections.iter_mut().enumerate() {
            let from = came_from(section.node).and_then(|from| said.get(&from));
            if let Some(from) = from.filter(|from| from.node_type == section.node_type) {
                section.kind = from.kind;
                self.reclassified.push(SectionId::from_index(at));
            }
        }
    }

    /// Bytes of memory that the body and its index take, about.
    pub fn memory(&self) -> usize {
        self.index.memory() + self.projection.memory()
    }

    /// The format whose names the sections bear.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The `model` asked for.
    pub fn model(&self) -> Option<Cow<'_, str>> {
        self.model_leaf().map(|model| self.content_text(model))
    }

    /// Returns all that a body names as models: `model`, each time that it stands there, and the list `models`. Servers differ in
    /// which of them they ask, and some ask the next one where one has no answer.
    pub fn models(&self) -> Vec<Cow<'_, str>> {
        let named = |&member: &NodeId| {
            let Some(Segment::Key(key)) = self.segment(member) else { return false };
            key.eq_ignore_ascii_case("model") || key.eq_ignore_ascii_case("models")
        };
        let members = self.children(self.root()).filter(named);
        let leaves = members.flat_map(|member| self.subtree(member)).map(NodeId::from_index);
        let texts =
            leaves.filter_map(|node| self.leaf(node)).filter(|leaf| leaf.value_type() == ValueType::Text);
        let elsewhere = self.model_leaf().into_iter().filter_map(|node| self.leaf(node));
        let mut models: Vec<_> = texts.chain(elsewhere).map(|leaf| leaf.text().into_cow()).collect();
        models.sort();
        models.dedup();
        models
    }

    /// The leaf that names the model.
    pub fn model_leaf(&self) -> Option<NodeId> {
        (self.format.spec().model)(&self.index)
    }

    /// Whether the body asks for a stream of events.
    pub fn streams(&self) -> bool {
        (self.format.spec().streams)(&self.index)
    }

    /// Whether the body goes on from a response that the server stored.
    pub fn continues_stored(&self) -> bool {
        (self.format.spec().continues_stored)(&self.index)
    }

    /// Messages, content parts, tool calls and options, in body order; parents before children.
    pub fn sections(&self) -> &[Section] {
        &self.projection.sections
    }

    /// The messages, in the order in which they stand in the body. System text beside them is none.
    pub fn messages(&self) -> impl Iterator<Item = SectionId> + '_ {
        let messages = self.projection.messages.iter().copied();
        messages.filter(|&message| self.section(message).message.is_some())
    }

    /// The definitions of tools, each one that a model could call by itself, in body order.
    pub fn tools(&self) -> Vec<SectionId> {
        let sections = self.sections();
        let is_definition =
            |section: &Section| section.node_type == NodeType::RequestOption && section.deletable;
        // A group of declarations is no tool, and stands directly before the first of them.
        let is_group = |at: usize| {
            let next = sections.get(at + 1).filter(|next| is_definition(next));
            next.is_some_and(|next| next.parent == Some(SectionId::from_index(at)))
        };
        let all = (0..sections.len()).filter(|&at| is_definition(&sections[at]) && !is_group(at));
        all.map(SectionId::from_index).collect()
    }

    /// Says of which calls results are whose calls stand in no message of this body, by the ids of these calls. A result
    /// whose id a call of the body has is of no other one.
    pub fn know_calls(&mut self, call_of: impl Fn(&str) -> Option<CallBefore>) {
        let sections = &mut self.projection.sections;
        let calls = sections.iter().filter(|section| section.kind == SectionKind::ToolCall);
        let own: BTreeSet<Arc<str>> = calls.filter_map(|call| call.call_id.clone()).collect();
        for section in sections.iter_mut().filter(|section| section.tool.is_none()) {
            let id = section.call_id.as_deref().filter(|id| !own.contains(*id));
            section.call_before = id.and_then(&call_of);
            section.tool = section.call_before.as_ref().map(|call| Arc::clone(&call.tool));
        }
    }

    /// Doubts the calls of tools that nobody offered under exactly that name.
    pub fn doubt_calls(&mut self, is_offered: impl Fn(&str) -> bool) {
        let calls = self.projection.sections.iter_mut();
        for call in calls.filter(|section| section.kind == SectionKind::ToolCall) {
            call.is_doubted = !call.tool.as_deref().is_some_and(&is_offered);
        }
    }

    /// Returns the same request with a system prompt in the place of the first message of a user, where that says just such a prompt.
    pub fn with_prompt(&self, is_prompt: impl Fn(&str) -> bool) -> Option<Document> {
        let first = |it: &Section| it.node_type == NodeType::Message && it.role == Role::User;
        let at = self.projection.sections.iter().position(first)?;
        let mut nodes = self.subtree(self.projection.sections[at].node).map(NodeId::from_index);
        let says = nodes.any(|node| self.leaf(node).is_some_and(|leaf| is_prompt(&leaf.text().into_cow())));
        says.then(|| self.reclassified(&[(SectionId::from_index(at), SectionKind::System)].into()))
    }

    /// Whether a section is a call, or the result of one, and nobody knows for certain of which tool.
    pub fn is_of_uncertain_tool(&self, section: SectionId) -> bool {
        let mut around = self.way_out(Some(section)).map(|id| self.section(id));
        let of_tool = around.find(|it| matches!(it.kind, SectionKind::ToolCall | SectionKind::ToolResult));
        of_tool.is_some_and(|it| it.is_doubted || it.tool.is_none())
    }

    /// A section and all around it, the innermost first.
    pub fn way_out(&self, section: Option<SectionId>) -> impl Iterator<Item = SectionId> {
        std::iter::successors(section, |&id| self.section(id).parent)
    }

    /// The innermost section that a node belongs to.
    pub fn section_of(&self, node: NodeId) -> Option<SectionId> {
        self.projection.section_of(node)
    }

    /// The outermost section that covers exactly this value.
    pub fn section_at(&self, node: NodeId) -> Option<SectionId> {
        let is_here = |id: &SectionId| self.section(*id).node == node;
        let innermost = self.section_of(node).filter(is_here);
        std::iter::successors(innermost, |&id| self.section(id).parent.filter(is_here)).last()
    }

    /// The section itself.
    pub fn section(&self, id: SectionId) -> &Section {
        &self.projection.sections[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Author, Draft};

    #[test]
    fn the_kind_of_a_section_is_overridden_and_follows_it_into_what_would_leave() {
        let body = r#"{"messages": [
            {"role": "user", "content": "out"},
            {"role": "user", "content": "rules"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
                "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "x"}
        ]}"#;
        let received = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
        let all = (0..received.sections().len()).map(SectionId::from_index);
        let document = received.reclassified(&all.map(|id| (id, SectionKind::Context)).collect());
        assert!(document.is_reclassified() && !received.is_reclassified());
        for (now, then) in document.sections().iter().zip(received.sections()) {
            let expected = if then.kind.is_of_words() { SectionKind::Context } else { then.kind };
            assert_eq!(now.kind, expected);
        }
        let mut draft = Draft::new(Arc::new(document));
        let section = |at: &str| draft.document().section_of(draft.document().resolve(at).unwrap()).unwrap();
        let out = section("/messages/0");
        draft.delete(out, &Author::Person).unwrap();
        let reread = draft.reread(&Limits::default()).unwrap();
        let now = reread.document();
        let left = now.section(now.section_of(now.resolve("/messages/0/content").unwrap()).unwrap());
        assert_eq!(left.kind, SectionKind::Context);
    }
}

//! What a format says about a body, and the tools by which formats say it.
//!
//! A projection names places and never copies text. Whatever a format does not know stays an ordinary, open leaf: an unknown block is
//! walked and scanned like any other. Nothing here knows a format by name; what several share stands here.

mod access;
mod calls;
pub(crate) mod classify;
mod options;
mod schema;
mod tools;

pub use access::Access;
pub(crate) use access::{MemberRow, MemberTable, table};
pub(crate) use calls::CallsById;
pub(crate) use options::{BODY, MESSAGE, content_kind};
pub(crate) use tools::TOOL_CALL;

use std::borrow::Cow;
use std::sync::Arc;

use crate::index::Index;
use crate::kinds::{ContentKind, LeafKind, Role, SectionKind, ValueType};
use crate::media::FileKind;
use crate::node::{JsonKind, NodeId};
use crate::section::{NodeType, Section, SectionId};

/// What the format says about every node.
#[derive(Clone)]
pub(crate) struct Projection {
    pub(crate) sections: Vec<Section>,
    /// The messages among the sections, in the order in which they stand in the body.
    pub(crate) messages: Vec<SectionId>,
    /// The messages with the numbers of their exchanges, sorted by these and then in body order.
    pub(crate) exchanges: Vec<(u32, NodeId)>,
    marks: Vec<NodeMark>,
    /// Files at places for media that nobody can look into, and what they are.
    pub(crate) unread: Vec<(NodeId, &'static str)>,
}

/// What the format says about one node; the default is an open leaf of no section.
#[derive(Clone, Copy)]
struct NodeMark {
    section: u32,
    kind: LeafKind,
    access: Access,
}

const NO_SECTION: u32 = u32::MAX;

impl Projection {
    /// Bytes of memory, about: names of tools and ids of calls are short and counted as one text each.
    pub(crate) fn memory(&self) -> usize {
        self.sections.capacity() * (size_of::<Section>() + 64) + self.marks.capacity() * size_of::<NodeMark>()
    }

    pub(crate) fn section_of(&self, node: NodeId) -> Option<SectionId> {
        let section = self.marks[node.index()].section;
        (section != NO_SECTION).then_some(SectionId(section))
    }

    pub(crate) fn kind(&self, node: NodeId) -> LeafKind {
        self.marks[node.index()].kind
    }

    pub(crate) fn access(&self, node: NodeId) -> Access {
        self.marks[node.index()].access
    }
}

/// Marks subtrees from the outside in: what comes later overrides.
pub(crate) struct Projector<'i> {
    pub(crate) body: &'i Index,
    pub(crate) projection: Projection,
    /// The tools called so far.
    pub(crate) calls: CallsById<Arc<str>, Arc<str>>,
    /// The key of what a message says.
    content_key: &'static str,
}

impl<'i> Projector<'i> {
    /// Starts with a body of which nothing is said yet.
    pub(crate) fn new(body: &'i Index, content_key: &'static str) -> Self {
        /// Sections for which there is room at once. A message is one, and has a few values.
        const SECTIONS: usize = 256;
        let mark = NodeMark { section: NO_SECTION, kind: LeafKind::Other, access: Access::Open };
        let marks = vec![mark; body.node_count()];
        let projection = Projection {
            sections: Vec::with_capacity((body.node_count() / 4).min(SECTIONS)),
            messages: Vec::new(),
            exchanges: Vec::new(),
            marks,
            unread: Vec::new(),
        };
        Projector { body, projection, calls: CallsById::default(), content_key }
    }

    /// Gives out what was said.
    pub(crate) fn finish(self) -> Projection {
        let mut projection = self.projection;
        let sections = &projection.sections;
        let is_message = |&at: &usize| sections[at].node_type == NodeType::Message;
        let mut messages: Vec<SectionId> =
            (0..sections.len()).filter(is_message).map(SectionId::from_index).collect();
        messages.sort_by_key(|message| sections[message.index()].node);
        let numbered = messages.iter().map(|message| &sections[message.index()]);
        let numbered = numbered.filter_map(|message| Some((message.exchange?, message.node)));
        projection.exchanges = numbered.collect();
        projection.exchanges.sort_by_key(|(number, _)| *number);
        projection.messages = messages;
        projection
    }

    /// Adds a section and claims its whole subtree for it.
    pub(crate) fn section(&mut self, section: Section) -> SectionId {
        let id = SectionId(self.projection.sections.len() as u32);
        for mark in &mut self.projection.marks[self.body.subtree(section.node)] {
            mark.section = id.0;
        }
        self.projection.sections.push(section);
        id
    }

    /// Says what a whole subtree is.
    pub(crate) fn mark(&mut self, node: NodeId, kind: LeafKind, access: Access) {
        for mark in &mut self.projection.marks[self.body.subtree(node)] {
            (mark.kind, mark.access) = (kind, access);
        }
    }

    /// Marks the members of an object, and what they hold, by the table of its structure; members that the table does not know stay as
    /// they are. Calls `visit` for each member, with what the table says of it.
    pub(crate) fn members(
        &mut self,
        object: NodeId,
        table: &'static MemberTable,
        mut visit: impl FnMut(&mut Self, NodeId, &str, Option<MemberRow>),
    ) {
        let body = self.body;
        for member in body.children(object) {
            let key = body.key_of(member);
            let row = table.0(&key);
            if let Some(row) = row {
                self.member(member, &key, row);
            }
            visit(self, member, &key, row);
        }
    }

    /// Marks the members of an object by a table that says all of them.
    pub(crate) fn object(&mut self, object: NodeId, table: &'static MemberTable) {
        self.members(object, table, |_, _, _, _| {});
    }

    fn member(&mut self, member: NodeId, key: &str, row: MemberRow) {
        let (kind, access) = match row {
            MemberRow::Leaves(kind, access) => (kind, access),
            MemberRow::Object(table) => return self.object(member, table),
            MemberRow::Schema => return self.schema(member),
        };
        let is_object = self.body.node(member).kind == JsonKind::Object;
        let access = match access {
            Access::Opaque => self.access_of_file(member),
            // An object says nothing about who speaks or what something is: the API refuses it, or it is content.
            Access::Protected if matches!(key, "role" | "type") && is_object => Access::Open,
            access => access,
        };
        self.mark(member, kind, access);
    }

    /// Says who may change a leaf at a place for media: nobody, where it really holds media. A place
    /// alone hides nothing: its text is scanned like any other, and so is what is of no known kind.
    fn access_of_file(&mut self, node: NodeId) -> Access {
        let is_text = self.body.scalar(node) == Some(ValueType::Text);
        let file = is_text.then(|| access::file(&self.body.content_text(node))).flatten();
        self.projection.unread.extend(file.and_then(FileKind::unread).map(|name| (node, name)));
        match file {
            Some(FileKind::Media | FileKind::Packed(..)) => Access::Opaque,
            None | Some(FileKind::Text | FileKind::Unknown) => Access::Open,
        }
    }

    /// Adds a section below a message or a part of one, with the message's role and place.
    pub(crate) fn sub_section(
        &mut self,
        node: NodeId,
        message: SectionId,
        fill: impl FnOnce(&mut Section),
    ) -> SectionId {
        let parent = &self.projection.sections[message.index()];
        let (role, place) = (parent.role, parent.message);
        // A result's parts belong to the same tool as the result.
        let (tool, call_id) = (parent.tool.clone(), parent.call_id.clone());
        let mut section =
            Section { role, message: place, tool, call_id, ..option_section(node, Some(message)) };
        fill(&mut section);
        self.section(section)
    }

    /// Adds the section of a message, which can be left out of a list unless it is the system's.
    pub(crate) fn message(
        &mut self,
        node: NodeId,
        kind: SectionKind,
        role: Role,
        index: Option<usize>,
    ) -> SectionId {
        self.section(Section {
            kind,
            node_type: NodeType::Message,
            role,
            message: index,
            deletable: role != Role::System && self.body.is_element(node),
            ..option_section(node, None)
        })
    }

    /// Who speaks in a message, by the spellings that its API has for roles.
    pub(crate) fn role(&self, message: NodeId, roles: &[(&str, Role)]) -> Role {
        let said = self.body.member(message, "role").map(|role| self.body.content_text(role));
        let role = roles.iter().find(|(spelled, _)| said.as_deref() == Some(spelled));
        role.map_or(Role::Other, |(_, role)| *role)
    }

    /// Adds an element of a message's content.
    pub(crate) fn part(
        &mut self,
        node: NodeId,
        around: SectionId,
        index: usize,
        holds: ContentKind,
        editable: bool,
    ) -> SectionId {
        self.sub_section(node, around, |section| {
            section.set_part(SectionKind::ContentPart, index, holds, editable);
        })
    }

    /// Adds a call of a tool, which its result may name.
    pub(crate) fn call(
        &mut self,
        node: NodeId,
        around: SectionId,
        index: usize,
        (tool, call_id): (Option<Arc<str>>, Option<Arc<str>>),
    ) -> SectionId {
        if let (Some(id), Some(name)) = (&call_id, &tool) {
            self.calls.call(id.clone(), name.clone());
        }
        self.sub_section(node, around, |section| {
            (section.kind, section.node_type) = (SectionKind::ToolCall, NodeType::ToolCall);
            section.tool_call_index = Some(index);
            (section.tool, section.call_id) = (tool, call_id);
            // The call as a whole is no text; the leaves of its arguments are.
            section.editable = false;
        })
    }

    /// Projects the elements of a list of messages and numbers their exchanges: a message with calls and those right behind it with
    /// results are one. A result is a message of its own, or a part of one of the user.
    pub(crate) fn exchanges(&mut self, messages: NodeId, message: fn(&mut Self, NodeId, usize) -> SectionId) {
        let (mut exchange, mut makes_calls) = (0, false);
        for (index, node) in self.body.children(messages).enumerate() {
            let id = message(self, node, index);
            let (said, parts) =
                (&self.projection.sections[id.index()], &self.projection.sections[id.index() + 1..]);
            let is_of_user = |part: &Section| part.kind == SectionKind::ToolResult && part.role == Role::User;
            let answers = said.role == Role::Tool || parts.iter().any(is_of_user);
            if !(answers && makes_calls) {
                exchange += 1;
                makes_calls = parts.iter().any(|part| part.kind == SectionKind::ToolCall);
            }
            self.projection.sections[id.index()].exchange = Some(exchange);
        }
    }

    /// The text of a string member, for names and ids that are kept.
    pub(crate) fn string_member(&self, object: NodeId, key: &str) -> Option<Arc<str>> {
        self.text_member(object, key).map(Arc::from)
    }

    /// The text of a string member, for words that are compared.
    pub(crate) fn text_member(&self, object: NodeId, key: &str) -> Option<Cow<'i, str>> {
        let member = self.body.member(object, key)?;
        (self.body.scalar(member) == Some(ValueType::Text)).then(|| self.body.content_text(member))
    }
}

/// A section of the request's options, with nothing filled in that options do not have.
pub(crate) fn option_section(node: NodeId, parent: Option<SectionId>) -> Section {
    Section { kind: SectionKind::RequestOption, node, parent, editable: true, ..Section::default() }
}

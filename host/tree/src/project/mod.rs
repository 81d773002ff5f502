//! Formats as projections: which parts of the tree are sections, what each leaf is, and who may change it.
//!
//! A projection names places and never copies text. Whatever it does not know stays an ordinary, open leaf: an unknown block is
//! walked and scanned like any other.

mod access;
mod generic;
mod openai_chat;

pub use access::{Access, MEDIA_MAGIC};

use std::sync::Arc;

use crate::document::Document;
use crate::kinds::{Format, LeafKind, Role, SectionKind, ValueType};
use crate::node::{Kind, NodeId};
use crate::section::{NodeType, Section, SectionId};
use access::{Field, Structure};

/// What the format says about every node.
#[derive(Default)]
pub(crate) struct Projection {
    pub(crate) sections: Vec<Section>,
    marks: Vec<Mark>,
}

/// What the format says about one node; the default is an open leaf of no section.
#[derive(Clone, Copy)]
struct Mark {
    section: u32,
    kind: LeafKind,
    access: Access,
}

const NO_SECTION: u32 = u32::MAX;

impl Projection {
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

/// Projects a document by its format.
pub(crate) fn project(document: &Document) -> Projection {
    let mark = Mark { section: NO_SECTION, kind: LeafKind::Other, access: Access::Open };
    let marks = vec![mark; document.node_count()];
    let mut projector = Projector { document, projection: Projection { sections: Vec::new(), marks } };
    match document.format() {
        Format::OpenaiChat if document.node(document.root()).kind == Kind::Object => {
            openai_chat::project(&mut projector)
        }
        // The other formats get projections of their own; until then every leaf of theirs is seen by the generic one.
        _ => generic::project(&mut projector),
    }
    projector.projection
}

/// Marks subtrees from the outside in: what comes later overrides.
struct Projector<'d> {
    document: &'d Document,
    projection: Projection,
}

impl Projector<'_> {
    /// Adds a section and claims its whole subtree for it.
    fn section(&mut self, section: Section) -> SectionId {
        let id = SectionId(self.projection.sections.len() as u32);
        for mark in &mut self.projection.marks[self.document.subtree(section.node)] {
            mark.section = id.0;
        }
        self.projection.sections.push(section);
        id
    }

    /// Says what a whole subtree is.
    fn mark(&mut self, node: NodeId, kind: LeafKind, access: Access) {
        for mark in &mut self.projection.marks[self.document.subtree(node)] {
            (mark.kind, mark.access) = (kind, access);
        }
    }

    /// Marks the members of an object by the table of its structure; members that the table does not know stay as they are.
    /// Calls `visit` for each member, with what the table says of it.
    fn members(
        &mut self,
        object: NodeId,
        structure: Structure,
        mut visit: impl FnMut(&mut Self, NodeId, &str, Option<&Field>),
    ) {
        let document = self.document;
        for member in document.children(object) {
            let key = document.key_text(document.node(member));
            let field = access::field(structure, &key);
            if let Some(field) = field {
                let access = match field.access {
                    Access::Opaque if !self.is_media(member) => Access::Open,
                    access => access,
                };
                self.mark(member, field.kind, access);
            }
            visit(self, member, &key, field);
        }
    }

    /// Whether a leaf at a place for media really holds media. A place alone hides nothing: its text is scanned like any other.
    fn is_media(&self, node: NodeId) -> bool {
        self.document.leaf(node).is_some_and(|leaf| {
            leaf.value_type() == ValueType::Text && access::is_media(leaf.text().expose())
        })
    }

    /// Marks a JSON Schema: what the schema language itself names is protected, descriptions and examples are open.
    fn schema(&mut self, schema: NodeId) {
        self.mark(schema, LeafKind::ToolSchema, Access::Open);
        self.schema_keywords(schema);
    }

    fn schema_keywords(&mut self, schema: NodeId) {
        let document = self.document;
        if document.node(schema).kind != Kind::Object {
            return;
        }
        self.members(schema, Structure::Schema, |this, member, key, field| {
            if field.is_some() {
                return;
            }
            match access::schema_applicator(key) {
                Some(access::Applicator::Schema) if document.node(member).kind == Kind::Array => {
                    document.children(member).for_each(|item| this.schema_keywords(item));
                }
                Some(access::Applicator::Schema) => this.schema_keywords(member),
                Some(access::Applicator::NamedSchemas) => {
                    document.children(member).for_each(|named| this.schema_keywords(named));
                }
                None => {}
            }
        });
    }

    /// The text of a string member, for names and ids.
    fn string_member(&self, object: NodeId, key: &str) -> Option<Arc<str>> {
        let leaf = self.document.leaf(self.document.member(object, key)?)?;
        (leaf.value_type() == ValueType::Text).then(|| Arc::from(leaf.text().expose()))
    }
}

/// A section of the request's options, with nothing filled in that options do not have.
fn option_section(node: NodeId, parent: Option<SectionId>) -> Section {
    Section {
        kind: SectionKind::RequestOption,
        node_type: NodeType::RequestOption,
        role: Role::Other,
        node,
        parent,
        message: None,
        content_index: None,
        tool_call_index: None,
        tool: None,
        call_id: None,
        editable: true,
        deletable: false,
    }
}

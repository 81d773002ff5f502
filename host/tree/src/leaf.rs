//! The scalars of a document: what rules, plugins and people edit.

use std::borrow::Cow;

use crate::document::Document;
use crate::kinds::{LeafKind, Role, ValueType};
use crate::media;
use crate::node::{Flags, NodeId};
use crate::project::Access;
use crate::section::SectionId;
use crate::text::LeafText;

/// One scalar of the body.
#[derive(Clone, Copy, derive_more::Debug)]
#[debug("Leaf({}, {} {:?})", self.id.0, self.kind(), self.text())]
pub struct Leaf<'d> {
    document: &'d Document,
    id: NodeId,
}

impl Document {
    /// Every scalar of the body, in body order. A string that spells a document is walked instead of being a leaf.
    pub fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> + '_ {
        (0..self.node_count()).filter_map(|at| self.leaf(NodeId::from_index(at)))
    }

    /// The files in base64 that say nothing as text, and what each is, in no order: packed ones wherever
    /// they are all of a string from its beginning on, others at places for media.
    pub fn unread(&self) -> Vec<(NodeId, &'static str)> {
        let known = &self.projection.unread;
        let packed = (0..self.node_count()).map(NodeId::from_index).filter_map(|id| {
            let spelled = self.long_string(id)?;
            let name = media::packed(spelled, || self.content_text(id))?;
            (!known.iter().any(|(known, _)| *known == id)).then_some((id, name))
        });
        packed.chain(known.iter().copied()).collect()
    }

    /// The bytes of a file that a string spells in base64, bare or in a data URL; `None` where it spells none,
    /// or something besides.
    pub fn file(&self, id: NodeId) -> Option<Vec<u8>> {
        media::decoded(&self.content_text(id))
    }

    /// The leaf at a node; `None` for containers.
    pub fn leaf(&self, id: NodeId) -> Option<Leaf<'_>> {
        let is_leaf = self.is_settable(id) && self.scalar(id).is_some();
        is_leaf.then_some(Leaf { document: self, id })
    }

    /// A value that can be set: a leaf, or a string that spells a document, which a person may set as a whole.
    pub fn settable(&self, id: NodeId) -> Option<Leaf<'_>> {
        self.is_settable(id).then_some(Leaf { document: self, id })
    }

    /// The leaves of a message that say something: all but its marks for caches, which clients move every turn.
    pub fn lasting_leaves(&self, message: NodeId) -> impl Iterator<Item = Leaf<'_>> + '_ {
        let is_mark = move |leaf: &Leaf<'_>| {
            let way = self.way_up(leaf.id());
            way.take_while(|&node| node != message).any(|node| self.has_key(node, "cache_control"))
        };
        let leaves = self.subtree(message).filter_map(|at| self.leaf(NodeId::from_index(at)));
        leaves.filter(move |leaf| !is_mark(leaf))
    }
}

impl<'d> Leaf<'d> {
    /// Its place in the index.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Its decoded text as received: a string's content with lone surrogates as U+FFFD, or the spelling of another scalar.
    pub fn text(&self) -> LeafText<'d> {
        LeafText::new(self.document.content_text(self.id))
    }

    /// How its text is spelled in the body, and whether with escapes: without them the spelling is the text.
    pub fn spelling(&self) -> (&'d str, bool) {
        self.document.content_spelling(self.id)
    }

    /// Its JSON type.
    pub fn value_type(&self) -> ValueType {
        self.document.node(self.id).kind.value_type()
    }

    /// What its format says it is.
    pub fn kind(&self) -> LeafKind {
        self.document.projection.kind(self.id)
    }

    /// Who may change it.
    pub fn access(&self) -> Access {
        self.document.projection.access(self.id)
    }

    /// The nearest object key above it, or "".
    pub fn key(&self) -> Cow<'d, str> {
        self.document.nearest_key(self.id)
    }

    /// The innermost section around it.
    pub fn section(&self) -> Option<SectionId> {
        self.document.section_of(self.id)
    }

    /// Role of its message.
    pub fn role(&self) -> Role {
        self.section().map_or(Role::Other, |section| self.document.section(section).role)
    }

    /// The tool's name where it belongs to a call, a result or a definition.
    pub fn tool(&self) -> Option<&'d str> {
        let document = self.document;
        document.section_of(self.id).and_then(|section| document.section(section).tool.as_deref())
    }

    /// Whether it belongs to a call or a result, and nobody knows for certain of which tool.
    pub fn is_of_uncertain_tool(&self) -> bool {
        self.section().is_some_and(|section| self.document.is_of_uncertain_tool(section))
    }

    /// Whether its text spells a document that lies beyond a cap, so that nobody has walked it.
    pub fn beyond_caps(&self) -> bool {
        self.document.node(self.id).flags.has(Flags::BEYOND_CAPS)
    }
}

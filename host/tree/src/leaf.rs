//! What a document is made of, as others see it: leaves, keys, ways through containers.

use std::borrow::Cow;
use std::fmt;

use crate::document::Document;
use crate::escape;
use crate::kinds::{LeafKind, Role, ValueType};
use crate::node::{Flags, Kind, NONE, Node, NodeId};
use crate::project::Access;
use crate::section::SectionId;

/// How a value hangs in its container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<'d> {
    /// The member of an object with this key.
    Key(Cow<'d, str>),
    /// The element of an array at this place, from 0.
    Index(usize),
}

/// The values directly below a node. See [`Document::children`].
#[derive(Clone)]
pub struct Children<'d> {
    pub(crate) nodes: &'d [Node],
    pub(crate) next: u32,
    pub(crate) end: u32,
}

impl Iterator for Children<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.next >= self.end {
            return None;
        }
        let id = NodeId(self.next);
        self.next = self.nodes[id.index()].next;
        Some(id)
    }
}

/// One scalar of the body.
#[derive(Clone, Copy)]
pub struct Leaf<'d> {
    pub(crate) document: &'d Document,
    pub(crate) id: NodeId,
}

impl<'d> Leaf<'d> {
    /// Its place in the index.
    #[must_use]
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Its decoded text as received: a string's content with lone surrogates as U+FFFD, or the spelling of another scalar.
    #[must_use]
    pub fn text(&self) -> LeafText<'d> {
        LeafText::new(self.document.content_text(self.id))
    }

    /// Its JSON type.
    #[must_use]
    pub fn value_type(&self) -> ValueType {
        match self.document.node(self.id).kind {
            Kind::Number => ValueType::Number,
            Kind::True | Kind::False => ValueType::Boolean,
            Kind::Null => ValueType::Null,
            _ => ValueType::Text,
        }
    }

    /// What its format says it is.
    #[must_use]
    pub fn kind(&self) -> LeafKind {
        self.document.projection().kind(self.id)
    }

    /// Who may change it.
    #[must_use]
    pub fn access(&self) -> Access {
        self.document.projection().access(self.id)
    }

    /// The nearest object key above it, or "".
    #[must_use]
    pub fn key(&self) -> Cow<'d, str> {
        let mut at = self.id.0;
        while at != NONE {
            let node = self.document.node(NodeId(at));
            if node.key != (0, 0) {
                return self.document.key_text(node);
            }
            at = node.parent;
        }
        Cow::Borrowed("")
    }

    /// The innermost section around it.
    #[must_use]
    pub fn section(&self) -> Option<SectionId> {
        self.document.section_of(self.id)
    }

    /// Role of its message.
    #[must_use]
    pub fn role(&self) -> Role {
        self.section().map_or(Role::Other, |section| self.document.section(section).role)
    }

    /// The tool's name where it belongs to a call, a result or a definition.
    #[must_use]
    pub fn tool(&self) -> Option<&'d str> {
        let document = self.document;
        document.section_of(self.id).and_then(|section| document.section(section).tool.as_deref())
    }

    /// Whether its text spells a document that lies beyond a cap, so that nobody has walked it.
    #[must_use]
    pub fn beyond_caps(&self) -> bool {
        self.document.node(self.id).flags.has(Flags::BEYOND_CAPS)
    }
}

impl fmt::Debug for Leaf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leaf({}, {} {:?})", self.id.0, self.kind(), self.text())
    }
}

/// One key of an object.
#[derive(Clone, Debug)]
pub struct Key<'d> {
    /// The member whose key it is.
    pub node: NodeId,
    /// Its decoded text.
    pub text: LeafText<'d>,
}

/// Text of the user's request. Printing it by accident prints its length.
#[derive(Clone, PartialEq, Eq)]
pub struct LeafText<'d>(Cow<'d, str>);

impl<'d> LeafText<'d> {
    pub(crate) fn new(text: impl Into<Cow<'d, str>>) -> Self {
        LeafText(text.into())
    }

    /// The text itself, for whoever may see it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text itself, taken out.
    #[must_use]
    pub fn into_cow(self) -> Cow<'d, str> {
        self.0
    }
}

impl fmt::Debug for LeafText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of text", self.0.len())
    }
}

/// Decodes JSON escapes in a text as often as they are nested, for texts beyond the caps.
///
/// Stops when nothing changes any more or after eight rounds, more than any honest client nests.
#[must_use]
pub fn unescape_deeply(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..8 {
        if !text.contains('\\') {
            break;
        }
        text = escape::unescape(&text);
    }
    text
}

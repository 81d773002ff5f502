//! One request body: its bytes, the index of where every value lies in them, and what its format says about each.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use bytestring::ByteString;

use crate::error::{ParseError, ParseErrorKind};
use crate::escape;
use crate::kinds::Format;
use crate::leaf::{Children, Key, Leaf, LeafText, Segment};
use crate::node::{Flags, Kind, Layer, NONE, Node, NodeId};
use crate::project::{self, Projection};
use crate::scan::{self, Limits};
use crate::section::{Section, SectionId};

/// A request body as it was received. Immutable; edits live in a [`crate::Draft`] beside it.
pub struct Document {
    source: Source,
    format: Format,
    nodes: Vec<Node>,
    layers: Vec<Layer>,
    projection: Projection,
}

/// The received bytes.
enum Source {
    /// JSON, hence UTF-8.
    Json(ByteString),
    /// Anything else, and the text that it is shown as.
    Raw { bytes: Bytes, text: String },
}

impl Document {
    /// Reads a body as JSON and names its parts by `format`.
    ///
    /// # Errors
    /// A [`ParseError`] with the place where the body stops being JSON, or the limit that it exceeds.
    pub fn parse(source: Bytes, format: Format, limits: &Limits) -> Result<Document, ParseError> {
        let mut document = Document::index(source, format, limits)?;
        document.projection = project::project(&document);
        Ok(document)
    }

    /// Reads a body as JSON and names its parts by the format whose shape it has.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn detect(source: Bytes, limits: &Limits) -> Result<Document, ParseError> {
        let mut document = Document::index(source, Format::Generic, limits)?;
        document.format = project::format_of_shape(&document);
        document.projection = project::project(&document);
        Ok(document)
    }

    /// Reads a body, and names nothing yet.
    fn index(source: Bytes, format: Format, limits: &Limits) -> Result<Document, ParseError> {
        let source = ByteString::try_from(source.clone()).map_err(|_| {
            let valid = std::str::from_utf8(&source).map_or_else(|error| error.valid_up_to(), str::len);
            ParseError::at(ParseErrorKind::InvalidUtf8, &source, valid)
        })?;
        let index = scan::index(&source, limits)?;
        Ok(Document {
            source: Source::Json(source),
            format,
            nodes: index.nodes,
            layers: index.layers,
            projection: Projection::default(),
        })
    }

    /// Takes a body that is no JSON as one leaf that holds all of it.
    #[must_use]
    pub fn raw(source: Bytes) -> Document {
        let mut node = Node::new(Kind::Raw, 0, (0, 0), NONE, 0, 0);
        let text = String::from_utf8_lossy(&source).into_owned();
        node.end = u32::try_from(source.len()).unwrap_or(u32::MAX);
        node.next = 1;
        let mut document = Document {
            source: Source::Raw { bytes: source, text },
            format: Format::Generic,
            nodes: vec![node],
            layers: Vec::new(),
            projection: Projection::default(),
        };
        document.projection = project::project(&document);
        document
    }

    /// The received bytes. A clone shares them.
    #[must_use]
    pub fn source(&self) -> &Bytes {
        match &self.source {
            Source::Json(text) => text.as_bytes(),
            Source::Raw { bytes, .. } => bytes,
        }
    }

    /// The format whose names the sections bear.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the body is no JSON.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        matches!(self.source, Source::Raw { .. })
    }

    /// The `model` asked for.
    #[must_use]
    pub fn model(&self) -> Option<Cow<'_, str>> {
        self.leaf(self.member(self.root(), "model")?).map(|leaf| leaf.text().into_cow())
    }

    /// Whether the request asks for a stream of events (`"stream": true`).
    #[must_use]
    pub fn streams(&self) -> bool {
        self.member(self.root(), "stream").is_some_and(|node| self.node(node).kind == Kind::True)
    }

    /// The outermost value.
    #[must_use]
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    /// How many values the index holds, containers and embedded documents included.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The values directly below a node, in order; the root of an embedded document below its string.
    #[must_use]
    pub fn children(&self, parent: NodeId) -> Children<'_> {
        let node = self.node(parent);
        let next = if node.is_container() { parent.0 + 1 } else { node.next };
        // The one child of a string is its document, through which paths run as if it were the string itself.
        let (next, end) = match node.flags.has(Flags::EMBEDS) {
            true => (next + 1, node.next),
            false => (next, node.next),
        };
        Children { nodes: &self.nodes, next, end }
    }

    /// The container around a value. Embedded documents have no node of their own here: their members hang below the string.
    #[must_use]
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.node(node).parent;
        if parent == NONE {
            return None;
        }
        Some(if self.is_embedded_root(NodeId(parent)) {
            NodeId(self.nodes[parent as usize].parent)
        } else {
            NodeId(parent)
        })
    }

    /// Whether a node is the object or array that a string spells.
    pub(crate) fn is_embedded_root(&self, node: NodeId) -> bool {
        let node = self.node(node);
        node.parent != NONE && self.nodes[node.parent as usize].layer != node.layer
    }

    /// Whether a node is an element of an array.
    pub(crate) fn is_element(&self, node: NodeId) -> bool {
        self.parent(node).is_some_and(|list| self.node(list).kind == Kind::Array)
    }

    /// How a value hangs in its container; `None` for the root.
    #[must_use]
    pub fn segment(&self, id: NodeId) -> Option<Segment<'_>> {
        let node = self.node(id);
        if node.parent == NONE || self.is_embedded_root(id) {
            return None;
        }
        Some(if node.key == (0, 0) {
            Segment::Index(node.slot as usize)
        } else {
            Segment::Key(self.key_text(node))
        })
    }

    /// Places of a node and of everything below it.
    #[must_use]
    pub fn subtree(&self, node: NodeId) -> Range<usize> {
        node.index()..self.node(node).next as usize
    }

    /// Where a value lies in the body: its own bytes, or those of the outermost string whose document it belongs to.
    #[must_use]
    pub fn body_span(&self, id: NodeId) -> Range<usize> {
        let mut node = self.node(id);
        while node.layer != 0 {
            node = self.node(self.layers[node.layer as usize - 1].outer);
        }
        node.span()
    }

    /// Messages, content parts, tool calls and options, in body order; parents before children.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.projection.sections
    }

    /// The innermost section that a node belongs to.
    #[must_use]
    pub fn section_of(&self, node: NodeId) -> Option<SectionId> {
        self.projection.section_of(node)
    }

    /// The section itself.
    #[must_use]
    pub fn section(&self, id: SectionId) -> &Section {
        &self.projection.sections[id.index()]
    }

    /// Every scalar of the body, in body order. A string that spells a document is walked instead of being a leaf.
    pub fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> + '_ {
        (0..self.nodes.len())
            .filter(|&at| !self.nodes[at].is_container())
            .map(|at| Leaf { document: self, id: NodeId(at as u32) })
    }

    /// The leaf at a node; `None` for containers.
    #[must_use]
    pub fn leaf(&self, id: NodeId) -> Option<Leaf<'_>> {
        (!self.nodes.get(id.index())?.is_container()).then_some(Leaf { document: self, id })
    }

    /// A value that can be set: a leaf, or a string that spells a document, which a person may set as a whole.
    #[must_use]
    pub fn settable(&self, id: NodeId) -> Option<Leaf<'_>> {
        let node = self.nodes.get(id.index())?;
        (!node.is_container() || node.flags.has(Flags::EMBEDS)).then_some(Leaf { document: self, id })
    }

    /// Every key of every object, embedded documents included, in body order. Keys are read-only.
    pub fn keys(&self) -> impl Iterator<Item = Key<'_>> + '_ {
        self.nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.key != (0, 0))
            .map(|(at, node)| Key { node: NodeId(at as u32), text: LeafText::new(self.key_text(node)) })
    }

    /// The leaves of a message that say something: all but its marks for caches, which clients move every turn.
    pub fn lasting_leaves(&self, message: NodeId) -> impl Iterator<Item = Leaf<'_>> + '_ {
        let is_mark = move |leaf: &Leaf<'_>| {
            let way = std::iter::successors(Some(leaf.id()), |&node| self.parent(node));
            way.take_while(|&node| node != message).any(|node| self.has_key(node, "cache_control"))
        };
        let leaves = self.subtree(message).filter_map(|at| self.leaf(NodeId::from_index(at)));
        leaves.filter(move |leaf| !is_mark(leaf))
    }

    /// The first member of an object with this key.
    #[must_use]
    pub fn member(&self, object: NodeId, key: &str) -> Option<NodeId> {
        self.children(object).find(|&child| self.has_key(child, key))
    }

    /// Whether a node is the member of an object with this key.
    pub(crate) fn has_key(&self, id: NodeId, key: &str) -> bool {
        let node = self.node(id);
        node.key != (0, 0) && self.key_text(node) == key
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub(crate) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    pub(crate) fn projection(&self) -> &Projection {
        &self.projection
    }

    /// The text that a layer's offsets are of.
    pub(crate) fn layer_text(&self, layer: u32) -> &str {
        match (layer, &self.source) {
            (0, Source::Json(text)) => text,
            (0, Source::Raw { text, .. }) => text,
            (layer, _) => &self.layers[layer as usize - 1].text,
        }
    }

    /// The decoded content of any scalar, and of a string that spells a document.
    pub(crate) fn content_text(&self, id: NodeId) -> Cow<'_, str> {
        let node = self.node(id);
        if node.kind == Kind::Raw {
            return Cow::Borrowed(self.layer_text(0));
        }
        let raw = &self.layer_text(node.layer)[node.content()];
        if node.flags.has(Flags::ESCAPED) { Cow::Owned(escape::unescape(raw)) } else { Cow::Borrowed(raw) }
    }

    /// How the content of a string begins: the text of its first bytes, without decoding the rest.
    pub(crate) fn text_start(&self, id: NodeId, bytes: usize) -> Cow<'_, str> {
        let node = self.node(id);
        let raw = &self.layer_text(node.layer)[node.content()];
        let cut = &raw[..raw.floor_char_boundary(bytes.min(raw.len()))];
        if !node.flags.has(Flags::ESCAPED) {
            return Cow::Borrowed(cut);
        }
        // An escape that the cut went through is left out; a pair of surrogates is the longest, with 12 bytes.
        let whole = match cut.rfind('\\') {
            Some(escape) if cut.len() < raw.len() && cut.len() - escape < 12 => &cut[..escape],
            _ => cut,
        };
        Cow::Owned(escape::unescape(whole))
    }

    /// The decoded key of a member, or "" for an element of an array: clients send arrays where an API has objects.
    pub(crate) fn key_text(&self, node: &Node) -> Cow<'_, str> {
        if node.key == (0, 0) {
            return Cow::Borrowed("");
        }
        let raw = &self.layer_text(node.layer)[node.key.0 as usize + 1..node.key.1 as usize - 1];
        if raw.contains('\\') { Cow::Owned(escape::unescape(raw)) } else { Cow::Borrowed(raw) }
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("format", &self.format)
            .field("bytes", &self.source().len())
            .field("nodes", &self.nodes.len())
            .field("sections", &self.projection.sections.len())
            .finish()
    }
}

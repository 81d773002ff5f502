//! Where every value of a body lies, without a word on what it means.
//!
//! An [`Index`] is the received bytes and one record per value. It knows JSON and no format; a [`crate::Document`] adds what the
//! format says.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use crate::error::{ParseError, ParseErrorKind};
use crate::escape;
use crate::kinds::ValueType;
use crate::node::{Flags, JsonKind, LayerId, NONE, Node, NodeId, TextLayer};
use crate::scan::{self, Limits};
use crate::text::LeafText;

/// A body and the place of every value in it. Immutable.
pub struct Index {
    source: IndexedText,
    nodes: Vec<Node>,
    layers: Vec<TextLayer>,
}

/// The received bytes.
enum IndexedText {
    /// JSON, hence UTF-8: all of it was checked.
    Json(Bytes),
    /// Anything else, and the text that it is shown as.
    Raw { bytes: Bytes, text: String },
}

/// How a value hangs in its container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<'i> {
    /// The member of an object with this key.
    Key(Cow<'i, str>),
    /// The element of an array at this place, from 0.
    Index(usize),
}

/// One key of an object.
#[derive(Clone, Debug)]
pub struct Key<'i> {
    /// The member whose key it is.
    pub node: NodeId,
    /// Its decoded text.
    pub text: LeafText<'i>,
}

impl Index {
    /// Reads a body as JSON.
    pub(crate) fn parse(source: Bytes, limits: &Limits) -> Result<Index, ParseError> {
        let text = simdutf8::basic::from_utf8(&source).map_err(|_| {
            let valid = std::str::from_utf8(&source).map_or_else(|error| error.valid_up_to(), str::len);
            ParseError::at(ParseErrorKind::InvalidUtf8, &source, valid)
        })?;
        let scan::ScannedText { nodes, layers } = scan::scan(text, limits)?;
        Ok(Index { source: IndexedText::Json(source), nodes, layers })
    }

    /// Takes a body that is no JSON as one value that holds all of it.
    pub(crate) fn raw(source: Bytes) -> Index {
        let text = String::from_utf8_lossy(&source).into_owned();
        let mut node = Node::new(JsonKind::Raw, 0, (0, 0), NONE, 0, LayerId::BODY);
        node.end = u32::try_from(source.len()).unwrap_or(u32::MAX);
        node.next = 1;
        Index { source: IndexedText::Raw { bytes: source, text }, nodes: vec![node], layers: Vec::new() }
    }

    /// The received bytes. A clone shares them.
    pub fn source(&self) -> &Bytes {
        match &self.source {
            IndexedText::Json(bytes) | IndexedText::Raw { bytes, .. } => bytes,
        }
    }

    /// Bytes of memory, about.
    pub(crate) fn memory(&self) -> usize {
        let layers: usize = self.layers.iter().map(|layer| layer.text.capacity()).sum();
        let shown = if let IndexedText::Raw { text, .. } = &self.source { text.capacity() } else { 0 };
        self.source().len() + shown + self.nodes.capacity() * size_of::<Node>() + layers
    }

    /// Whether the body is no JSON.
    pub fn is_raw(&self) -> bool {
        matches!(self.source, IndexedText::Raw { .. })
    }

    /// The outermost value.
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    /// How many values the index holds, containers and embedded documents included.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The values directly below a node, in order; the root of an embedded document below its string.
    pub fn children(&self, parent: NodeId) -> impl Iterator<Item = NodeId> {
        let node = self.node(parent);
        let first = if node.is_container() { parent.0 + 1 } else { node.next };
        // The one child of a string is its document, through which paths run as if it were the string itself.
        let mut next = first + u32::from(node.flags.has(Flags::EMBEDS));
        std::iter::from_fn(move || {
            let id = (next < node.next).then_some(NodeId(next))?;
            next = self.node(id).next;
            Some(id)
        })
    }

    /// The container around a value. Embedded documents have no node of their own here: their members hang below the string.
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
        self.parent(node).is_some_and(|list| self.node(list).kind == JsonKind::Array)
    }

    /// How a value hangs in its container; `None` for the root.
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

    /// A value and all around it, the innermost first.
    pub fn way_up(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(node), |&at| self.parent(at))
    }

    /// Where a node and everything below it stand in a table by node.
    pub(crate) fn nodes_in(&self, node: NodeId) -> Range<NodeId> {
        node..NodeId(self.node(node).next)
    }

    /// The values directly below an array; none below any other value.
    pub(crate) fn elements(&self, list: NodeId) -> impl Iterator<Item = NodeId> {
        let is_list = self.kind(list) == JsonKind::Array;
        self.children(list).take_while(move |_| is_list)
    }

    /// Places of a node and of everything below it.
    pub fn subtree(&self, node: NodeId) -> Range<usize> {
        node.index()..self.node(node).next as usize
    }

    /// Where a value lies in the body: its own bytes, or those of the outermost string whose document it belongs to.
    pub fn body_span(&self, id: NodeId) -> Range<usize> {
        self.node(self.outermost(id)).span()
    }

    /// The value itself, or the outermost string whose document it belongs to.
    pub(crate) fn outermost(&self, mut id: NodeId) -> NodeId {
        while let Some(place) = self.node(id).layer.place() {
            id = self.layers[place].outer;
        }
        id
    }

    /// Every key of every object, embedded documents included, in body order. Keys are read-only.
    pub fn keys(&self) -> impl Iterator<Item = Key<'_>> + '_ {
        (0..self.nodes.len()).filter_map(|at| self.key(NodeId(at as u32)))
    }

    /// The first member of an object with this key.
    pub fn member(&self, object: NodeId, key: &str) -> Option<NodeId> {
        self.children(object).find(|&child| self.has_key(child, key))
    }

    /// Whether a node is the member of an object with this key.
    pub(crate) fn has_key(&self, id: NodeId, key: &str) -> bool {
        let node = self.node(id);
        if node.key == (0, 0) {
            return false;
        }
        if node.flags.has(Flags::KEY_ESCAPED) {
            return self.key_text(node) == key;
        }
        &self.layer_bytes(node.layer)[node.key.0 as usize + 1..node.key.1 as usize - 1] == key.as_bytes()
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The string that spells the document of a layer; `None` for the body.
    pub(crate) fn outer(&self, layer: LayerId) -> Option<NodeId> {
        layer.place().map(|place| self.layers[place].outer)
    }

    /// The layer that a string's document lies in; `None` for all other values.
    pub(crate) fn layer_within(&self, id: NodeId) -> Option<LayerId> {
        let embeds = self.node(id).flags.has(Flags::EMBEDS);
        embeds.then(|| self.nodes[id.index() + 1].layer)
    }

    pub(crate) fn kind(&self, id: NodeId) -> JsonKind {
        self.node(id).kind
    }

    /// The JSON type of a scalar; `None` for a container, a string that spells a document included.
    pub(crate) fn scalar(&self, id: NodeId) -> Option<ValueType> {
        let node = self.node(id);
        (!node.is_container()).then(|| node.kind.value_type())
    }

    /// Whether a value is a string, one that spells a document included.
    pub(crate) fn is_string(&self, id: NodeId) -> bool {
        matches!(self.node(id).kind, JsonKind::String | JsonKind::Raw)
    }

    /// How a string is spelled that is long enough for a file.
    pub(crate) fn long_string(&self, id: NodeId) -> Option<&[u8]> {
        const LEAST: usize = 24;
        let node = self.node(id);
        let is_long = matches!(node.kind, JsonKind::String) && node.span().len() > LEAST;
        is_long.then(|| &self.layer_bytes(node.layer)[node.content()])
    }

    /// Whether something can be set there: a scalar, or a string that spells a document.
    pub(crate) fn is_settable(&self, id: NodeId) -> bool {
        self.nodes.get(id.index()).is_some_and(|node| !node.is_container() || node.flags.has(Flags::EMBEDS))
    }

    /// The bytes that a layer's offsets are of. That of the body is the text of it.
    pub(crate) fn layer_bytes(&self, layer: LayerId) -> &[u8] {
        match (layer.place(), &self.source) {
            (None, IndexedText::Json(bytes)) => bytes,
            (None, IndexedText::Raw { text, .. }) => text.as_bytes(),
            (Some(place), _) => self.layers[place].text.as_bytes(),
        }
    }

    /// A stretch of a layer's text that begins and ends between characters.
    pub(crate) fn stretch(&self, layer: LayerId, at: Range<usize>) -> &str {
        let whole = "all of it was checked, and values begin and end between characters";
        simdutf8::basic::from_utf8(&self.layer_bytes(layer)[at]).expect(whole)
    }

    /// The decoded content of any scalar, and of a string that spells a document.
    pub(crate) fn content_text(&self, id: NodeId) -> Cow<'_, str> {
        match self.content_spelling(id) {
            (raw, true) => Cow::Owned(escape::unescape(raw)),
            (text, false) => Cow::Borrowed(text),
        }
    }

    /// How the content of a scalar is spelled, and whether with escapes. A body that is no JSON is taken as it is shown.
    pub(crate) fn content_spelling(&self, id: NodeId) -> (&str, bool) {
        let node = self.node(id);
        match &self.source {
            IndexedText::Raw { text, .. } => (text, false),
            IndexedText::Json(_) => {
                (self.stretch(node.layer, node.content()), node.flags.has(Flags::ESCAPED))
            }
        }
    }

    /// The key of a value, where it is the member of an object.
    pub fn key(&self, id: NodeId) -> Option<Key<'_>> {
        let node = self.node(id);
        (node.key != (0, 0)).then(|| Key { node: id, text: LeafText::new(self.key_text(node)) })
    }

    /// How the content of a string begins: the text of its first bytes, without decoding the rest.
    pub(crate) fn text_start(&self, id: NodeId, bytes: usize) -> Cow<'_, str> {
        let node = self.node(id);
        let content = node.content();
        let raw = &self.layer_bytes(node.layer)[content.clone()];
        let is_continued = |at: &usize| raw.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let end = (0..=bytes.min(raw.len())).rev().find(|at| !is_continued(at)).unwrap_or(0);
        let cut = self.stretch(node.layer, content.start..content.start + end);
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

    /// Whether the content of a string begins with words of ASCII characters. A few bytes are read.
    pub(crate) fn starts_with(&self, id: NodeId, words: &str) -> bool {
        let node = self.node(id);
        let first = self.layer_bytes(node.layer)[node.content()].first();
        let may = first.is_some_and(|byte| *byte == b'\\' || Some(byte) == words.as_bytes().first());
        // A character of the words is spelled with six bytes at most; what a cut leaves out has fewer than twelve.
        may && self.text_start(id, 6 * words.len() + 12).starts_with(words)
    }

    /// The decoded key of a node, or "" where it has none.
    pub(crate) fn key_of(&self, id: NodeId) -> Cow<'_, str> {
        self.key_text(self.node(id))
    }

    /// The decoded key of a node or of the nearest one above it that has one, or "".
    pub(crate) fn nearest_key(&self, id: NodeId) -> Cow<'_, str> {
        let mut at = id.0;
        while at != NONE {
            let node = self.node(NodeId(at));
            if node.key != (0, 0) {
                return self.key_text(node);
            }
            at = node.parent;
        }
        Cow::Borrowed("")
    }

    /// The decoded key of a member, or "" for an element of an array: clients send arrays where an API has objects.
    pub(crate) fn key_text(&self, node: &Node) -> Cow<'_, str> {
        if node.key == (0, 0) {
            return Cow::Borrowed("");
        }
        let raw = self.stretch(node.layer, node.key.0 as usize + 1..node.key.1 as usize - 1);
        match node.flags.has(Flags::KEY_ESCAPED) {
            true => Cow::Owned(escape::unescape(raw)),
            false => Cow::Borrowed(raw),
        }
    }
}

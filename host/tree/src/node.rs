//! The flat index: one small record per value, in pre-order.

use std::ops::Range;

use crate::kinds::ValueType;

/// Place of a value in the index of one document. Pre-order: a container comes right before its content.
/// The default is the outermost value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// The place as a number, for tables beside the index.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The node at a place, as [`NodeId::index`] gave it.
    ///
    /// # Panics
    /// Where the number does not fit 32 bits, which no index reaches.
    pub fn from_index(index: usize) -> Self {
        NodeId(u32::try_from(index).expect("an index holds fewer than 2^32 nodes"))
    }
}

/// The text that offsets are of: the body, or the content of a string that spells a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LayerId(u32);

impl LayerId {
    /// The body itself.
    pub(crate) const BODY: LayerId = LayerId(0);

    /// The layer of an embedded document, by its place in the list of their texts.
    pub(crate) fn embedded(place: usize) -> Self {
        LayerId(u32::try_from(place + 1).expect("there are fewer documents than nodes"))
    }

    /// The place in the list of the texts of embedded documents; `None` for the body.
    pub(crate) fn place(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

/// No parent.
pub(crate) const NONE: u32 = u32::MAX;

/// What stands at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Object,
    Array,
    String,
    Number,
    True,
    False,
    Null,
    /// The whole of a body that is no JSON.
    Raw,
}

impl JsonKind {
    /// The byte that closes a container.
    pub(crate) fn closer(self) -> u8 {
        if self == JsonKind::Object { b'}' } else { b']' }
    }

    /// The JSON type of a scalar of this kind; a container counts as the text that it may be.
    pub(crate) fn value_type(self) -> ValueType {
        match self {
            JsonKind::Number => ValueType::Number,
            JsonKind::True | JsonKind::False => ValueType::Boolean,
            JsonKind::Null => ValueType::Null,
            JsonKind::String | JsonKind::Raw | JsonKind::Object | JsonKind::Array => ValueType::Text,
        }
    }
}

/// Marks of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u8);

impl Flags {
    /// A string with at least one escape.
    pub(crate) const ESCAPED: u8 = 1;
    /// A string that is wholly a JSON object or array, whose content follows as nodes.
    pub(crate) const EMBEDS: u8 = 2;
    /// A string that looks like an embedded document, but lies beyond a cap.
    pub(crate) const BEYOND_CAPS: u8 = 4;
    /// A member whose key has at least one escape.
    pub(crate) const KEY_ESCAPED: u8 = 8;

    pub(crate) fn set(&mut self, mark: u8) {
        self.0 |= mark;
    }

    pub(crate) fn has(self, mark: u8) -> bool {
        self.0 & mark != 0
    }

    /// All marks at once, in the lowest four bits.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }
}

/// One value: where it lies in the text of its layer, and where it hangs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Span of the member's key with its quotes; empty in arrays.
    pub(crate) key: (u32, u32),
    pub(crate) parent: u32,
    /// First node behind the subtree.
    pub(crate) next: u32,
    /// Place among its siblings.
    pub(crate) slot: u32,
    /// The text that the offsets are of.
    pub(crate) layer: LayerId,
    pub(crate) kind: JsonKind,
    pub(crate) flags: Flags,
}

impl Node {
    pub(crate) fn new(
        kind: JsonKind,
        start: usize,
        key: (u32, u32),
        parent: u32,
        slot: u32,
        layer: LayerId,
    ) -> Self {
        Node { start: start as u32, end: 0, key, parent, next: 0, slot, layer, kind, flags: Flags::default() }
    }

    /// Where the value's spelling lies, quotes included.
    pub(crate) fn span(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Where the spelling of a string's content lies, or that of another scalar.
    pub(crate) fn content(&self) -> Range<usize> {
        match self.kind {
            JsonKind::String => self.start as usize + 1..self.end as usize - 1,
            _ => self.span(),
        }
    }

    /// Whether other nodes hang below it.
    pub(crate) fn is_container(&self) -> bool {
        matches!(self.kind, JsonKind::Object | JsonKind::Array) || self.flags.has(Flags::EMBEDS)
    }
}

/// The decoded text of an embedded document.
#[derive(Debug)]
pub(crate) struct TextLayer {
    pub(crate) text: String,
    /// The string whose content it is.
    pub(crate) outer: NodeId,
}

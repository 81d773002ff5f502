//! JSON that an answer or an event is, read strictly.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;

use bytes::Bytes;
use leafgate_tree::{
    Access, Document, Format, Leaf, LeafText, Limits, NodeId, ParseError, ParseErrorKind, Segment, ValueType,
};
use serde_json::{Value, json};

use crate::said::Said;

/// Reads an answer, or an event of a stream. A text that is itself JSON stays one leaf here: it is
/// read as text.
///
/// # Errors
/// For what is no JSON, or exceeds what the tree takes.
pub fn parse(json: Bytes) -> Result<Document, ParseError> {
    let limits = Limits { embedded: 0, ..Limits::default() };
    Document::parse(json, Format::Generic, &limits)
}

/// Reads the same; bytes that are no characters become U+FFFD, as in a browser. Returns whether there were any: some clients
/// give up at them.
pub(crate) fn parse_mended(json: Bytes) -> Result<(Document, bool), ParseError> {
    match parse(json.clone()) {
        Err(error) if error.kind == ParseErrorKind::InvalidUtf8 => {
            Ok((parse(String::from_utf8_lossy(&json).into_owned().into())?, true))
        }
        read => Ok((read?, false)),
    }
}

/// A JSON text that is read for what it says.
///
/// Parsers disagree about what is odd: of two members with one key some take the first and some the
/// last, `Content` is `content` to some, `1e0` is the index 1 to some. Whatever is odd on the way to a
/// text or a call is noticed here: a client might read another one than the gate.
pub(crate) struct StrictReading<'d> {
    /// The document that is read.
    pub(crate) document: &'d Document,
    odd: Cell<bool>,
}

/// Larger than any index that a client sends or reads.
const MAX_INDEX: usize = 65_535;

impl<'d> StrictReading<'d> {
    /// Begins to read.
    pub(crate) fn new(document: &'d Document) -> Self {
        StrictReading { document, odd: Cell::new(false) }
    }

    /// Returns whether something was read that parsers disagree about.
    pub(crate) fn is_odd(&self) -> bool {
        self.odd.get()
    }

    /// Returns the outermost value.
    pub(crate) fn root(&self) -> NodeId {
        self.document.root()
    }

    /// Notes that something was read that clients read in different ways.
    pub(crate) fn is_read_differently(&self) {
        self.odd.set(true);
    }

    /// Returns the member with this key. Two of one key are odd, and so is one whose key differs in case
    /// alone, which some clients take for the same.
    pub(crate) fn member(&self, object: NodeId, key: &str) -> Option<NodeId> {
        let mut found = None;
        for node in self.document.children(object) {
            let Some(Segment::Key(own)) = self.document.segment(node) else { continue };
            if own == key && found.is_none() {
                found = Some(node);
            } else if own == key || is_twin(&own, key) {
                self.odd.set(true);
            }
        }
        found
    }

    /// Returns the member with this key that is not null, which clients take for none.
    pub(crate) fn present(&self, object: NodeId, key: &str) -> Option<NodeId> {
        let leaf = |node| self.document.leaf(node).is_some_and(|leaf| leaf.value_type() == ValueType::Null);
        self.member(object, key).filter(|&node| !leaf(node))
    }

    /// Returns the one member that has one of two names. Both at once are odd.
    pub(crate) fn either(&self, object: NodeId, keys: [&str; 2]) -> Option<NodeId> {
        let [first, second] = keys.map(|key| self.present(object, key));
        if first.is_some() && second.is_some() {
            self.odd.set(true);
        }
        first.or(second)
    }

    /// Returns the `type` of an object. Words of APIs are small; some clients take others for the same.
    pub(crate) fn kind(&self, object: NodeId) -> Option<String> {
        let kind = self.leaf_text(self.name(object, "type")?)?;
        if !kind
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte))
        {
            self.odd.set(true);
        }
        Some(kind)
    }

    /// Returns a member that is a text for people. Any other value than a string or null is odd.
    pub(crate) fn text(&self, object: NodeId, key: &str) -> Option<NodeId> {
        let node = self.member(object, key)?;
        let leaf = self.document.leaf(node);
        match leaf.map(|leaf| (leaf.value_type(), leaf.access())) {
            Some((ValueType::Text, Access::Open)) => Some(node),
            Some((ValueType::Null, _)) => None,
            _ => {
                self.odd.set(true);
                None
            }
        }
    }

    /// Returns whether an object has one of these members, and it is not null.
    pub(crate) fn has_any(&self, object: NodeId, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.present(object, key).is_some())
    }

    /// Returns a member that is a name: a string that is not empty. Any other value than a string or null is odd.
    pub(crate) fn name(&self, object: NodeId, key: &str) -> Option<NodeId> {
        let node = self.present(object, key)?;
        let leaf = self.document.leaf(node).filter(|leaf| leaf.value_type() == ValueType::Text);
        if leaf.is_none() {
            self.odd.set(true);
        }
        leaf.filter(|leaf| !leaf.text().expose().is_empty()).map(|leaf| leaf.id())
    }

    /// Returns the text of a member that is a word of the API.
    pub(crate) fn word(&self, object: NodeId, key: &str) -> Option<LeafText<'d>> {
        self.leaf(object, key).map(|leaf| leaf.text())
    }

    /// Returns whether a member is this word of the API.
    pub(crate) fn is(&self, object: NodeId, key: &str, word: &str) -> bool {
        self.word(object, key).is_some_and(|own| own.expose() == word)
    }

    /// Returns a member that is a string.
    pub(crate) fn leaf(&self, object: NodeId, key: &str) -> Option<Leaf<'d>> {
        let leaf = self.document.leaf(self.member(object, key)?)?;
        (leaf.value_type() == ValueType::Text).then_some(leaf)
    }

    /// Returns the text of a leaf.
    pub(crate) fn leaf_text(&self, leaf: NodeId) -> Option<String> {
        self.document.leaf(leaf).map(|leaf| leaf.text().into_cow().into_owned())
    }

    /// Returns whether a member is `true`.
    pub(crate) fn is_true(&self, object: NodeId, key: &str) -> bool {
        let leaf = self.member(object, key).and_then(|node| self.document.leaf(node));
        leaf.is_some_and(|leaf| leaf.value_type() == ValueType::Boolean && leaf.text().expose() == "true")
    }

    /// Returns a member that counts from 0. Any other spelling than digits is odd.
    pub(crate) fn index(&self, object: NodeId, key: &str) -> Option<usize> {
        let leaf = self.document.leaf(self.present(object, key)?);
        let number = leaf.filter(|leaf| leaf.value_type() == ValueType::Number).and_then(|leaf| {
            let text = leaf.text();
            let digits = text.expose().bytes().all(|byte| byte.is_ascii_digit());
            text.expose().parse().ok().filter(|&number: &usize| digits && number <= MAX_INDEX)
        });
        if number.is_none() {
            self.odd.set(true);
        }
        number
    }

    /// Returns the elements of a member that is an array. Any other value than an array or null is
    /// odd.
    pub(crate) fn elements(&self, object: NodeId, key: &str) -> Vec<NodeId> {
        self.member(object, key).map(|node| self.elements_of(node)).unwrap_or_default()
    }

    /// Returns the elements of an array. Any other value than an array or null is odd.
    pub(crate) fn elements_of(&self, array: NodeId) -> Vec<NodeId> {
        let is_null = |leaf: Leaf<'_>| leaf.value_type() == ValueType::Null;
        if self.document.leaf(array).is_some_and(|leaf| !is_null(leaf)) {
            self.odd.set(true);
        }
        let elements: Vec<_> = self.document.children(array).collect();
        if elements.iter().any(|&element| matches!(self.document.segment(element), Some(Segment::Key(_)))) {
            self.odd.set(true);
            return Vec::new();
        }
        elements
    }

    /// Returns whether a node is an array with elements.
    pub(crate) fn is_list(&self, node: NodeId) -> bool {
        let first = self.document.children(node).next();
        first.is_some_and(|first| matches!(self.document.segment(first), Some(Segment::Index(_))))
    }

    /// Returns whether a node is an object.
    pub(crate) fn is_object(&self, node: NodeId) -> bool {
        self.is_container(node) && self.document.source()[self.document.body_span(node)].starts_with(b"{")
    }

    /// Returns whether a node is an object or an array.
    pub(crate) fn is_container(&self, node: NodeId) -> bool {
        self.document.leaf(node).is_none()
    }

    /// Returns whether a node says nothing: null, an empty text, or a container without values.
    pub(crate) fn is_blank(&self, node: NodeId) -> bool {
        match self.document.leaf(node) {
            Some(leaf) => leaf.value_type() == ValueType::Null || leaf.text().expose().is_empty(),
            None => self.document.children(node).next().is_none(),
        }
    }

    /// Returns the members of an object with their keys.
    pub(crate) fn members(&self, object: NodeId) -> impl Iterator<Item = (Cow<'d, str>, NodeId)> + use<'d> {
        let document = self.document;
        document.children(object).filter_map(|node| match document.segment(node) {
            Some(Segment::Key(key)) => Some((key, node)),
            _ => None,
        })
    }

    /// Returns whether no object at a node or below it has a key twice.
    pub(crate) fn has_no_key_twice(&self, node: NodeId) -> bool {
        let mut keys = BTreeSet::new();
        self.members(node).all(|(key, _)| keys.insert(key))
            && self.document.children(node).all(|child| self.has_no_key_twice(child))
    }

    /// Returns the elements of a list with their indexes, which they say or have by their order. Two of one index are odd.
    pub(crate) fn numbered(&self, object: NodeId, key: &str) -> Vec<(usize, NodeId)> {
        let mut seen = BTreeSet::new();
        let number = |(place, element)| {
            let index = self.index(element, "index").unwrap_or(place);
            if !seen.insert(index) {
                self.odd.set(true);
            }
            (index, element)
        };
        self.elements(object, key).into_iter().enumerate().map(number).collect()
    }

    /// Returns whether what is said is an empty text, which says nothing.
    pub(crate) fn is_empty(&self, said: Said) -> bool {
        said.text().is_some_and(|(_, leaf)| self.is_blank(leaf))
    }
}

/// Whether some clients take one key for another.
fn is_twin(own: &str, key: &str) -> bool {
    if own.is_ascii() { own.eq_ignore_ascii_case(key) } else { folded(own) == key.to_ascii_lowercase() }
}

/// A key in the letters by which some clients know it: Go and .NET read without regard to case, and Go folds two letters
/// beyond ASCII.
pub(crate) fn folded(key: &str) -> String {
    let fold = |letter| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    key.chars().map(fold).collect()
}

/// A value as it is where nobody reads it differently: of two members with one key the last one counts.
pub(crate) fn value(document: &Document, node: NodeId) -> Value {
    value_of(document, node, &|_| true)
}

/// Does what [`value`] does, of the members that are to be kept.
pub(crate) fn value_of(document: &Document, node: NodeId, keeps: &dyn Fn(NodeId) -> bool) -> Value {
    let mut children = document.children(node).peekable();
    match children.peek().and_then(|&first| document.segment(first)) {
        Some(Segment::Key(_)) => {
            let member = |child| {
                let key = document.key(child).map(|key| key.text.into_cow().into_owned());
                (key.unwrap_or_default(), value_of(document, child, keeps))
            };
            Value::Object(children.filter(|&child| keeps(child)).map(member).collect())
        }
        Some(Segment::Index(_)) => children.map(|child| value_of(document, child, keeps)).collect(),
        None => match document.leaf(node) {
            Some(leaf) if leaf.value_type() == ValueType::Text => leaf.text().expose().into(),
            _ => serde_json::from_slice(&document.source()[document.body_span(node)]).unwrap_or_default(),
        },
    }
}

/// The scalars that an object of an event has under these keys.
pub(crate) fn scalars(event: &Document, object: NodeId, keys: &[&str]) -> Value {
    let mut scalars = json!({});
    for key in keys {
        let Some(leaf) = event.member(object, key).and_then(|node| event.leaf(node)) else { continue };
        scalars[key] = value(event, leaf.id());
    }
    scalars
}

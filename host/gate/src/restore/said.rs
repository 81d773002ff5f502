//! What an answer says, in words that all APIs share: which of its leaves are texts for people, and when they end.

use leafgate_tree::{Access, Document, Leaf, NodeId, ValueType};
use serde_json::{Value, json};

/// Reads one answer of an API.
pub(crate) trait Reader: Send {
    /// Returns what an answer says that came whole.
    fn whole(&mut self, answer: &Document) -> Vec<Said>;

    /// Returns what an event of a stream says.
    fn event(&mut self, event: &Document) -> Vec<Said>;

    /// Returns an event with more of a text, which `last` was the latest event of.
    fn added(&self, last: &Document, place: Place, held: &str) -> Added;
}

/// The kinds of text for people, over all APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Text {
    Content,
    Refusal,
    Reasoning,
    /// Reasoning as DeepSeek, vLLM and others name it.
    ReasoningContent,
    /// A summary of reasoning.
    Summary,
}

/// Which of a stream's texts: of which choice, item or block, of which part of it, and of which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) item: usize,
    pub(crate) part: usize,
    pub(crate) text: Text,
}

/// What an event says about texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// This leaf is the answer's name, by which the next request may go on from it.
    Id(NodeId),
    /// This leaf goes on with a text.
    More(Place, NodeId),
    /// This leaf is a whole text.
    Whole(NodeId),
    /// A text is complete with this event.
    End(Place),
    /// All texts of an item are.
    EndItem(usize),
    /// All texts are.
    EndAll,
}

/// An event that is added.
pub(crate) struct Added {
    pub(crate) name: Option<&'static str>,
    pub(crate) data: Value,
}

/// A member that is a text and may be written.
pub(crate) fn text(document: &Document, object: NodeId, key: &str) -> Option<NodeId> {
    let leaf = document.leaf(document.member(object, key)?)?;
    (leaf.value_type() == ValueType::Text && leaf.access() == Access::Open).then_some(leaf.id())
}

/// A member that is a word of the API.
pub(crate) fn is(document: &Document, object: NodeId, key: &str, word: &str) -> bool {
    text_leaf(document, object, key).is_some_and(|leaf| leaf.text().expose() == word)
}

pub(crate) fn text_leaf<'d>(document: &'d Document, object: NodeId, key: &str) -> Option<Leaf<'d>> {
    let leaf = document.leaf(document.member(object, key)?)?;
    (leaf.value_type() == ValueType::Text).then_some(leaf)
}

/// A member that counts from 0.
pub(crate) fn number(document: &Document, object: NodeId, key: &str) -> Option<usize> {
    document.leaf(document.member(object, key)?)?.text().expose().parse().ok()
}

/// The elements of a member that is an array.
pub(crate) fn elements<'d>(
    document: &'d Document,
    object: NodeId,
    key: &str,
) -> impl Iterator<Item = NodeId> + 'd {
    document.member(object, key).into_iter().flat_map(|array| document.children(array))
}

/// The scalars that an event has at its top under these keys.
pub(crate) fn scalars(event: &Document, keys: &[&str]) -> Value {
    let mut scalars = json!({});
    for key in keys {
        let Some(leaf) = event.member(event.root(), key).and_then(|node| event.leaf(node)) else { continue };
        scalars[key] = match leaf.value_type() {
            ValueType::Text => Value::from(leaf.text().expose()),
            _ => serde_json::from_str(leaf.text().expose()).unwrap_or_default(),
        };
    }
    scalars
}

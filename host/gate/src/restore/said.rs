//! What an answer says, in words that all APIs share: which of its leaves are texts for people, in
//! which order a client joins them, and when they end.

use std::cell::Cell;

use leafgate_tree::{Access, Document, Leaf, LeafText, NodeId, Segment, ValueType};
use serde_json::{Value, json};

/// Reads one answer of an API.
pub(crate) trait Reader: Send {
    /// Returns what an answer says that came whole.
    fn whole(&mut self, answer: &Reading<'_>) -> Vec<Said>;

    /// Returns what an event of a stream says.
    fn event(&mut self, event: &Reading<'_>) -> Vec<Said>;

    /// Returns an event with more of a text, which `last` was the latest event of.
    fn added(&self, last: &Document, place: TextPlace, held: &str) -> Added;

    /// Returns whether each event bears its type as its name, without which clients pass it over.
    fn names_events(&self) -> bool {
        false
    }

    /// Returns whether a stream says its texts again, whole.
    fn repeats(&self) -> bool {
        false
    }

    /// Returns whether answers have names by which the next request may go on from them.
    fn names_answers(&self) -> bool {
        false
    }
}

/// The kinds of text for people, over all APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TextKind {
    Content,
    Refusal,
    Reasoning,
    /// Reasoning as DeepSeek, vLLM and others name it.
    ReasoningContent,
    /// A summary of reasoning.
    Summary,
    /// What a tool is called with.
    Call,
}

/// Which of an answer's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextPlace {
    /// Which answer, where several were asked for.
    pub(crate) choice: usize,
    pub(crate) at: Position,
    pub(crate) text: TextKind,
}

/// Where in its choice a text stands: clients join texts in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// The item or block.
    pub(crate) item: usize,
    /// Which of the item's lists of parts.
    pub(crate) list: usize,
    pub(crate) part: usize,
}

impl Position {
    /// Behind all texts of a choice.
    pub(crate) const LAST: Position = Position { item: usize::MAX, list: usize::MAX, part: usize::MAX };

    /// Behind all texts of an item.
    pub(crate) fn end_of(item: usize) -> Self {
        Position { item, ..Position::LAST }
    }
}

/// What an answer or an event says about texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// This leaf is the answer's name, by which the next request may go on from it.
    Id(NodeId),
    /// This leaf goes on with a text.
    More(TextPlace, NodeId),
    /// This leaf is shown with the texts, and nothing is restored in it.
    Shown(TextPlace, NodeId),
    /// This leaf says a text again, whole; or for the first time, where no event said it before.
    Repeat(TextPlace, NodeId),
    /// This leaf shows a text again, or for the first time, and nothing is restored in it.
    ShownAgain(TextPlace, NodeId),
    /// About a call of a tool, whose place has the kind [`TextKind::Call`].
    Call(TextPlace, CallSaid),
    /// The texts of a choice up to this position are complete.
    End(usize, Position),
    /// All texts are.
    EndAll,
}

/// What an answer or an event says about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallSaid {
    /// This leaf names the tool.
    Begins(NodeId),
    /// This leaf goes on with the arguments, as text.
    More(NodeId),
    /// This leaf is all of the arguments, as text; or says them again.
    Whole { tool: NodeId, arguments: NodeId },
    /// This leaf says the arguments again, as text, of the tool that was named before.
    Again(NodeId),
    /// This object is all of the arguments.
    Object { tool: NodeId, arguments: NodeId },
    /// The arguments are complete.
    End,
}

impl Said {
    /// The text that a leaf belongs to, and the leaf.
    pub(crate) fn text(self) -> Option<(TextPlace, NodeId)> {
        match self {
            Said::More(place, leaf)
            | Said::Shown(place, leaf)
            | Said::Repeat(place, leaf)
            | Said::ShownAgain(place, leaf) => Some((place, leaf)),
            Said::Id(_) | Said::Call(..) | Said::End(..) | Said::EndAll => None,
        }
    }
}

/// An event that is added.
pub(crate) struct Added {
    pub(crate) name: Option<&'static str>,
    pub(crate) data: Value,
}

/// A JSON text that is read for what it says.
///
/// Parsers disagree about what is odd: of two members with one key some take the first and some the
/// last, `1e0` is the index 1 to some. Whatever is odd on the way to a text is noticed here, and
/// then nothing is restored: a client might read another text than the gate.
pub(crate) struct Reading<'d> {
    document: &'d Document,
    odd: Cell<bool>,
}

/// Larger than any index that a client sends or reads.
const MAX_INDEX: usize = 65_535;

impl<'d> Reading<'d> {
    pub(crate) fn new(document: &'d Document) -> Self {
        Reading { document, odd: Cell::new(false) }
    }

    /// Returns whether something was read that parsers disagree about.
    pub(crate) fn is_odd(&self) -> bool {
        self.odd.get()
    }

    pub(crate) fn root(&self) -> NodeId {
        self.document.root()
    }

    /// Returns the member with this key. Two of one key are odd.
    pub(crate) fn member(&self, object: NodeId, key: &str) -> Option<NodeId> {
        let has_key =
            |&node: &NodeId| matches!(self.document.segment(node), Some(Segment::Key(own)) if own == key);
        let mut members = self.document.children(object).filter(has_key);
        let first = members.next()?;
        if members.next().is_some() {
            self.odd.set(true);
        }
        Some(first)
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

    /// Returns whether a member is `true`.
    pub(crate) fn is_true(&self, object: NodeId, key: &str) -> bool {
        let leaf = self.member(object, key).and_then(|node| self.document.leaf(node));
        leaf.is_some_and(|leaf| leaf.value_type() == ValueType::Boolean && leaf.text().expose() == "true")
    }

    /// Returns a member that counts from 0. Any other spelling than digits is odd.
    pub(crate) fn index(&self, object: NodeId, key: &str) -> Option<usize> {
        let leaf = self.document.leaf(self.member(object, key)?);
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
}

/// The scalars that an object of an event has under these keys.
pub(crate) fn scalars(event: &Document, object: NodeId, keys: &[&str]) -> Value {
    let mut scalars = json!({});
    for key in keys {
        let Some(leaf) = event.member(object, key).and_then(|node| event.leaf(node)) else { continue };
        scalars[key] = match leaf.value_type() {
            ValueType::Text => Value::from(leaf.text().expose()),
            _ => serde_json::from_str(leaf.text().expose()).unwrap_or_default(),
        };
    }
    scalars
}

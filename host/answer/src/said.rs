//! What an answer says, in words that all APIs share: which of its leaves are texts and calls, in which order a client
//! joins them, and when they end.

use leafgate_tree::{Document, NodeId};

use crate::event::StreamEvent;
use crate::reading::StrictReading;

/// Reads one answer of an API, whole or event by event. What clients may read in another way is noted in the reading.
pub(crate) trait Says: Send {
    /// Returns what an answer says that came whole.
    fn whole(&mut self, answer: &StrictReading<'_>) -> Vec<Said>;

    /// Returns what an event of a stream says.
    fn event(&mut self, event: &StrictReading<'_>) -> Vec<Said>;

    /// Returns an event with more of a text, which `last` was the latest event of.
    fn added(&self, last: &Document, place: TextPlace, held: &str) -> StreamEvent;

    /// Returns whether an object anywhere in an answer is a call that the client runs.
    fn is_call(&self, answer: &StrictReading<'_>, object: NodeId) -> bool;

    /// Returns whether an event begins a part in which not the model speaks, which is read as a whole.
    fn begins_unspoken(&self, _: &StrictReading<'_>) -> bool {
        false
    }
}

/// The kinds of text, over all APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextKind {
    /// What the model says.
    Content,
    /// Why it refuses.
    Refusal,
    /// What it thinks.
    Reasoning,
    /// Reasoning as DeepSeek, vLLM and others name it.
    ReasoningContent,
    /// Reasoning as Copilot names it.
    ReasoningText,
    /// A summary of reasoning.
    Summary,
    /// What a tool is called with.
    Call,
}

impl TextKind {
    /// Returns whether it is reasoning, in one name or another.
    pub fn is_reasoning(self) -> bool {
        match self {
            TextKind::Reasoning
            | TextKind::ReasoningContent
            | TextKind::ReasoningText
            | TextKind::Summary => true,
            TextKind::Content | TextKind::Refusal | TextKind::Call => false,
        }
    }
}

/// Which of an answer's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPlace {
    /// Which answer, where several were asked for.
    pub choice: usize,
    /// Where in its choice.
    pub at: Position,
    /// What it is.
    pub text: TextKind,
}

impl TextPlace {
    /// A text of an item, or the call that it is, in an API without choices.
    pub(crate) fn of_item(item: usize, text: TextKind) -> Self {
        TextPlace { choice: 0, at: Position { item, ..Position::default() }, text }
    }
}

/// Where in its choice a text stands: clients join texts in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The item or block.
    pub item: usize,
    /// Which of the item's lists of parts.
    pub list: usize,
    /// Which part of the list.
    pub part: usize,
}

impl Position {
    /// Behind all texts of a choice.
    pub const LAST: Position = Position { item: usize::MAX, list: usize::MAX, part: usize::MAX };

    /// Behind all texts of an item.
    pub fn end_of(item: usize) -> Self {
        Position { item, ..Position::LAST }
    }
}

/// What an answer or an event says. Leaves are those of its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// This leaf is the answer's name, by which the next request may go on from it.
    Id(NodeId),
    /// This leaf is the kind of an item or block.
    Item(usize, NodeId),
    /// A leaf says a text.
    Text {
        /// Which one.
        place: TextPlace,
        /// The leaf. It goes on with the text.
        leaf: NodeId,
        /// It says the text again, whole; or for the first time, where no event said it before.
        again: bool,
        /// It is shown with the texts, and nothing is changed in it.
        sealed: bool,
    },
    /// About a call of a tool, whose place has the kind [`TextKind::Call`].
    Call(TextPlace, CallSaid),
    /// The texts and calls of a choice up to this position are complete.
    End(usize, Position),
    /// All items were said again; there are so many.
    Items(usize),
    /// All is complete.
    EndAll,
}

/// What an answer or an event says about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSaid {
    /// The call begins, or names itself again.
    Begins(Called),
    /// This leaf goes on with the arguments, as text.
    More(NodeId),
    /// These are all of the arguments; or they are said again.
    Whole(Called, Arguments),
    /// This leaf says the arguments again, as text, of the tool that was named before.
    Again(NodeId),
    /// The arguments are complete.
    End,
}

/// Who is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called {
    /// What holds the call: an element of a list, or a member of a message.
    pub element: NodeId,
    /// What results name the call by.
    pub id: Option<NodeId>,
    /// The tool.
    pub tool: Tool,
    /// How its arguments are spelled, where that shows.
    pub form: Option<Form>,
}

impl Called {
    /// What an element that names its call says: that, and all of its arguments where they are there.
    pub(crate) fn says(self, arguments: Option<Arguments>) -> Vec<CallSaid> {
        let whole = arguments.map(|arguments| CallSaid::Whole(self, arguments));
        [CallSaid::Begins(self)].into_iter().chain(whole).collect()
    }
}

/// What a call says about its tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// This leaf is its name.
    Named(NodeId),
    /// The kind of the call is all there is.
    Kind(&'static str),
    /// Nothing yet: the name comes in another event.
    Unnamed,
}

impl Tool {
    /// Returns its name, as far as it is said.
    pub fn name(self, document: &Document) -> String {
        match self {
            Tool::Named(leaf) => {
                document.leaf(leaf).map(|leaf| leaf.text().into_cow().into_owned()).unwrap_or_default()
            }
            Tool::Kind(kind) => kind.to_owned(),
            Tool::Unnamed => String::new(),
        }
    }
}

/// All arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Where they stand.
    pub node: NodeId,
    /// How they are spelled.
    pub form: Form,
    /// They come back from the client as they were, so nothing is restored in them.
    pub is_sealed: bool,
}

impl Arguments {
    /// Arguments that are JSON.
    pub(crate) fn json(node: NodeId) -> Self {
        Arguments { node, form: Form::Json, is_sealed: false }
    }
}

/// How an API spells the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Any text.
    Text,
    /// A text that is JSON.
    JsonText,
    /// JSON.
    Json,
}

impl Said {
    /// What is said of the call that an item is, in an API without choices.
    pub(crate) fn item_calls(item: usize, call: CallSaid) -> Self {
        Said::Call(TextPlace::of_item(item, TextKind::Call), call)
    }

    /// The text that a leaf belongs to, and the leaf.
    pub fn text(self) -> Option<(TextPlace, NodeId)> {
        let Said::Text { place, leaf, .. } = self else { return None };
        Some((place, leaf))
    }

    /// The choice that it is about; the first where it is about all.
    pub(crate) fn choice(self) -> usize {
        match self {
            Said::End(choice, _) | Said::Call(TextPlace { choice, .. }, _) => choice,
            _ => self.text().map_or(0, |(place, _)| place.choice),
        }
    }

    /// Whether it is a text that rules read: one that may be changed, or one that says words to people beside a seal. What
    /// is thought beside a seal is the provider's.
    pub fn is_judged(self) -> bool {
        self.text().is_some_and(|(place, _)| !self.is_sealed() || !place.text.is_reasoning())
    }

    /// Whether it is a text in which nothing may be changed.
    pub fn is_sealed(self) -> bool {
        matches!(self, Said::Text { sealed: true, .. })
    }
}

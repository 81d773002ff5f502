//! What a client can take from an answer, heard event by event: texts, calls and reasoning in their order.
//!
//! Here is the one notion of what is odd. An answer is odd where two clients that read it by their lights may take
//! something else from it: keys twice or in another case, an event whose name is not its type, a call in two forms or
//! with two ids, a text or an item that is repeated differently, an index or id used twice, a choice that nobody asked
//! for, texts out of order or some of them not as the others, and whatever is said behind the end. Nobody judges such an
//! answer by one reading and sends it on to be read by another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use leafgate_api::Api;
use leafgate_tree::{Document, NodeId, ValueType};

use crate::apis::{AnswerWire, wire};
use crate::event::StreamEvent;
use crate::reading::{StrictReading, value};
use crate::reply::{Call, CallKind};
use crate::said::{Arguments, CallSaid, Called, Form, Position, Said, Says, TextKind, TextPlace};

/// So many texts and calls an answer may have. Others have a handful, and whoever judges or restores them pays for each.
const MOST_PLACES: usize = 65_536;

/// What was heard of one answer.
pub struct Account {
    says: Box<dyn Says>,
    wire: &'static AnswerWire,
    /// What each text said.
    texts: BTreeMap<TextPlace, String>,
    calls: BTreeMap<TextPlace, HeardCall>,
    ids: BTreeMap<(usize, String), TextPlace>,
    items: BTreeMap<usize, String>,
    ended: BTreeSet<(usize, Position)>,
    /// Where each choice says its latest text, and which it spoke last.
    latest: BTreeMap<usize, Position>,
    spoken: BTreeMap<usize, TextPlace>,
    is_over: bool,
    is_of_several: bool,
    /// Whether what says something bears a name, once the first has come: clients read by name, or by data.
    bears_names: Option<bool>,
}

/// An event, or an answer that came whole, and what it says.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Its data.
    pub document: Arc<Document>,
    /// What that says, in order.
    pub said: Vec<Said>,
    /// Some clients read it in another way.
    pub is_odd: bool,
}

/// A call, as far as it was heard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeardCall {
    id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    form: Option<Form>,
    /// All of the arguments were said at once.
    is_whole: bool,
    /// Where an answer that came whole has it.
    place: Option<(Called, Option<Arguments>)>,
}

impl Account {
    /// Begins to hear an answer of an API. `sealed` says whether its reasoning comes with an encrypted copy.
    pub fn new(api: Api, sealed: bool) -> Self {
        let wire = wire(api);
        Account {
            says: (wire.says)(sealed),
            wire,
            texts: BTreeMap::new(),
            calls: BTreeMap::new(),
            ids: BTreeMap::new(),
            items: BTreeMap::new(),
            ended: BTreeSet::new(),
            latest: BTreeMap::new(),
            spoken: BTreeMap::new(),
            is_over: false,
            is_of_several: false,
            bears_names: None,
        }
    }

    /// Returns whether this is a whole answer of the API, or an error in its place.
    pub(crate) fn is_answer(&self, answer: &Document) -> bool {
        let reading = StrictReading::new(answer);
        let is_one = |node| reading.has_any(node, self.wire.answer);
        match self.wire.lists && reading.is_list(reading.root()) {
            true => answer.children(reading.root()).all(is_one),
            false => is_one(reading.root()),
        }
    }

    /// Says whether several choices were asked for, which clients tell apart by their index. Who asked for one takes for it
    /// what each event has first.
    #[must_use]
    pub fn of_several(self, is_of_several: bool) -> Self {
        Account { is_of_several, ..self }
    }

    /// Hears an answer that came whole.
    pub fn whole(&mut self, document: Document) -> Heard {
        self.hear(document, None, |says, answer| says.whole(answer))
    }

    /// Hears an event, which bears a name where one is given.
    pub fn event(&mut self, name: Option<&[u8]>, document: Document) -> Heard {
        self.hear(document, Some(name), |says, event| says.event(event))
    }

    /// Returns an event with more of a text, which `last` was the latest event of.
    pub fn added(&self, last: &Document, place: TextPlace, held: &str) -> StreamEvent {
        self.says.added(last, place, held)
    }

    /// Returns whether a stream may say its texts again, whole.
    pub fn repeats(&self) -> bool {
        self.wire.repeats
    }

    /// Returns whether answers have names by which the next request may go on from them.
    pub fn names_answers(&self) -> bool {
        self.wire.names_answers
    }

    /// Returns the calls that were heard, in the order of their places.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.values().map(HeardCall::call).collect()
    }

    /// Returns what each choice said of a kind, in the order of its places.
    pub(crate) fn texts(&self) -> BTreeMap<(usize, TextKind), String> {
        let mut joined = BTreeMap::new();
        for (place, text) in &self.texts {
            joined.entry((place.choice, place.text)).or_insert_with(String::new).push_str(text);
        }
        joined
    }

    pub(crate) fn call(&self, place: TextPlace) -> Option<&HeardCall> {
        self.calls.get(&place)
    }

    /// Where the calls of an answer that came whole stand, in the order of their places.
    pub(crate) fn places(&self) -> Vec<(Called, Option<Arguments>)> {
        self.calls.values().filter_map(|call| call.place).collect()
    }

    /// Returns where texts stand that people read beside what the model says: in an event, each as a whole, or in an answer
    /// that came whole.
    pub fn beside(&self, heard: &Heard, is_event: bool) -> Vec<NodeId> {
        crate::beside::leaves(&*self.says, self.wire.beside, heard, is_event)
    }

    /// Returns whether an event begins a part in which not the model speaks. Such a one is read when it is there as a
    /// whole.
    pub fn begins_unspoken(&self, heard: &Heard) -> bool {
        self.says.begins_unspoken(&StrictReading::new(&heard.document))
    }

    fn hear(
        &mut self,
        document: Document,
        name: Option<Option<&[u8]>>,
        read: impl FnOnce(&mut dyn Says, &StrictReading<'_>) -> Vec<Said>,
    ) -> Heard {
        let reading = StrictReading::new(&document);
        let said = read(&mut *self.says, &reading);
        let is_named = name.is_none_or(|name| self.is_named(name, &reading));
        let mut is_sound = true;
        if let (Some(name), false) = (name, said.is_empty()) {
            is_sound = *self.bears_names.get_or_insert(name.is_some()) == name.is_some();
        }
        for one in &said {
            is_sound &= self.take(&reading, *one, name.is_some());
            is_sound &= name.is_none() || self.is_of_several || one.choice() == 0;
        }
        let is_bounded = self.texts.len().max(said.len()) + self.calls.len() <= MOST_PLACES;
        let is_odd = reading.is_odd() || !is_named || !is_sound || !is_bounded;
        Heard { document: Arc::new(document), said, is_odd }
    }

    /// Whether an event bears the name that its data says: some clients read by name and some by data. Without a type, it
    /// may have the name that events have by default.
    fn is_named(&self, name: Option<&[u8]>, event: &StrictReading<'_>) -> bool {
        let kind = event.word(event.root(), "type");
        match (name, kind) {
            (None, None) => true,
            (None, Some(_)) => !self.wire.names_events,
            (Some(name), None) => name == b"message",
            (Some(name), Some(kind)) => kind.expose().as_bytes() == name,
        }
    }

    /// Takes what is said; returns whether it goes with what was said before.
    fn take(&mut self, reading: &StrictReading<'_>, said: Said, is_event: bool) -> bool {
        if self.is_behind_the_end(reading, said) {
            return false;
        }
        match said {
            Said::Id(_) => true,
            Said::Item(at, kind) => {
                let kind = text(reading, kind);
                // Some clients join items as they are announced, and some by their index.
                if self.items.keys().last().is_some_and(|last| at < *last) && !self.items.contains_key(&at) {
                    return false;
                }
                *self.items.entry(at).or_insert_with(|| kind.clone()) == kind
            }
            Said::Text { place, leaf, again, .. } => {
                let words = text(reading, leaf);
                if words.is_empty() {
                    return true;
                }
                if let Some(own) = self.texts.get(&place).filter(|_| again) {
                    return *own == words;
                }
                // Some clients join texts as they come, and some by their place or kind.
                let latest = self.latest.entry(place.choice).or_default();
                let mut follows = place.at >= *latest;
                *latest = place.at.max(*latest);
                if !place.text.is_reasoning() {
                    let last = self.spoken.insert(place.choice, place);
                    follows &= last == Some(place) || !self.texts.contains_key(&place);
                }
                self.texts.entry(place).or_default().push_str(&words);
                follows || !is_event
            }
            Said::Call(place, said) => self.take_call(reading, place, said),
            // A text ends with its part again, and servers send why a choice ends more than once; an item ends once.
            Said::End(choice, at) => {
                let is_item = at == Position::end_of(at.item) && at != Position::LAST;
                self.ended.insert((choice, at)) || !is_item
            }
            Said::Items(count) => self.items.keys().last().is_none_or(|last| last + 1 == count),
            Said::EndAll => {
                self.is_over = true;
                true
            }
        }
    }

    /// Whether something is said that was complete already. What says it again is compared.
    fn is_behind_the_end(&self, reading: &StrictReading<'_>, said: Said) -> bool {
        let has_ended = |place: TextPlace| {
            let ends = [place.at, Position::end_of(place.at.item), Position::LAST];
            ends.into_iter().any(|end| self.ended.contains(&(place.choice, end)))
        };
        match said {
            Said::Id(_) | Said::End(..) | Said::EndAll => false,
            _ if reading.is_empty(said) => false,
            Said::Text { place, again: false, .. } | Said::Call(place, CallSaid::More(_)) => {
                self.is_over || has_ended(place)
            }
            Said::Item(..) | Said::Text { .. } | Said::Call(..) | Said::Items(_) => self.is_over,
        }
    }

    fn take_call(&mut self, reading: &StrictReading<'_>, place: TextPlace, said: CallSaid) -> bool {
        match said {
            CallSaid::Begins(called) => self.begin(reading, place, called),
            CallSaid::Whole(called, arguments) => {
                let (said, is_sound) = spelled(reading, arguments);
                let is_same = self.begin(reading, place, called);
                self.calls.entry(place).or_default().place = Some((called, Some(arguments)));
                is_sound & is_same & self.all(place, said)
            }
            CallSaid::Again(leaf) => self.all(place, text(reading, leaf)),
            CallSaid::More(leaf) => self.calls.get_mut(&place).is_some_and(|call| {
                let more = text(reading, leaf);
                call.arguments.push_str(&more);
                more.is_empty() || !(call.is_whole || call.name.is_empty())
            }),
            CallSaid::End => true,
        }
    }

    /// Takes who is called: a second time it is the same, and its id is no other call's.
    fn begin(&mut self, reading: &StrictReading<'_>, place: TextPlace, called: Called) -> bool {
        let id = called.id.map(|leaf| text(reading, leaf)).unwrap_or_default();
        let name = called.tool.name(reading.document);
        let is_own = id.is_empty() || *self.ids.entry((place.choice, id.clone())).or_insert(place) == place;
        let call = self.calls.entry(place).or_default();
        let is_same = |own: &mut String, said: String| {
            if own.is_empty() {
                *own = said;
                return true;
            }
            said.is_empty() || *own == said
        };
        let is_spelled_so = call.form.is_none() || called.form.is_none() || call.form == called.form;
        call.form = call.form.or(called.form);
        call.place = call.place.or(Some((called, None)));
        is_same(&mut call.id, id) & is_same(&mut call.name, name) & is_own & is_spelled_so
    }

    /// Takes all of the arguments of a call; again, they are the same.
    fn all(&mut self, place: TextPlace, said: String) -> bool {
        let Some(call) = self.calls.get_mut(&place) else { return false };
        let is_first = call.arguments.is_empty() && !call.is_whole;
        call.is_whole = true;
        if is_first {
            call.arguments = said;
            return true;
        }
        call.arguments == said
    }
}

impl HeardCall {
    pub(crate) fn call(&self) -> Call {
        Call {
            id: self.id.as_str().into(),
            name: self.name.as_str().into(),
            arguments: self.arguments.as_str().into(),
            kind: if self.form == Some(Form::Text) { CallKind::Custom } else { CallKind::Function },
        }
    }

    /// Whether its arguments are an object, and no text.
    pub(crate) fn is_object(&self) -> bool {
        self.form == Some(Form::Json)
    }
}

/// The text of a leaf.
fn text(reading: &StrictReading<'_>, leaf: NodeId) -> String {
    reading.leaf_text(leaf).unwrap_or_default()
}

/// All arguments as text, and whether clients read the same in them: JSON without a key twice. Arguments that are a text are
/// judged as they stand.
fn spelled(reading: &StrictReading<'_>, arguments: Arguments) -> (String, bool) {
    let document = reading.document;
    match document.leaf(arguments.node).map(|leaf| leaf.value_type()) {
        Some(ValueType::Text) => (text(reading, arguments.node), true),
        Some(ValueType::Null) => (String::new(), true),
        _ => (value(document, arguments.node).to_string(), reading.has_no_key_twice(arguments.node)),
    }
}

//! The APIs: one module and one [`AnswerWire`] each. Only this file knows them all.

mod chat;
mod gemini;
mod messages;
mod responses;

use std::collections::BTreeMap;
use std::sync::Arc;

use leafgate_api::Api;
use serde_json::{Value, json};

use crate::event::StreamEvent;
use crate::json::{Again, Object, count, member, merge, text};
use crate::reply::{Failure, Finish, Head, Reply, Usage};
use crate::said::Says;

/// Writes a reply as the JSON answer of an API. What the API has no place for is left out.
pub fn write_answer(api: Api, reply: &Reply, head: &Head) -> Value {
    let wire = wire(api);
    let whole = (wire.write)(reply, head);
    match wire.wrapped_in {
        Some(key) => json!({ key: whole }),
        None => whole,
    }
}

/// Returns the event stream that a JSON answer of an API stands for, all that a reply has no place for
/// included; `None` for what is no answer, such as an error. `usage` says whether the request asked for
/// the event with the costs, which chat completions send only then.
pub fn answer_events(api: Api, whole: &Value, usage: bool) -> Option<Vec<StreamEvent>> {
    let (wire, outer) = (wire(api), whole.as_object()?);
    let Some(key) = wire.wrapped_in else { return (wire.events)(outer, usage) };
    let pieces = (wire.events)(outer.get(key)?.as_object()?, usage)?;
    // What stands beside the answer stands beside each piece of it.
    let wrapped = |piece: StreamEvent| {
        let mut event = outer.clone();
        event.insert(key.to_owned(), Arc::unwrap_or_clone(piece.data?));
        Some(StreamEvent::plain(event.into()))
    };
    pieces.into_iter().map(wrapped).collect()
}

/// Returns how an API spells answers.
pub(crate) fn wire(api: Api) -> &'static AnswerWire {
    match api {
        Api::Chat => &chat::WIRE,
        Api::Responses => &responses::WIRE,
        Api::Messages => &messages::WIRE,
        Api::Gemini => &gemini::WIRE,
        Api::CodeAssist => &gemini::CODE_ASSIST,
    }
}

/// Choices, blocks or items of one stream that are kept.
const MAX_ITEMS: usize = 2048;

/// A stream that is put together to the answer that it stands for.
#[derive(Clone)]
pub(crate) struct AnswerAssembly {
    wire: &'static AnswerWire,
    root: Object,
    /// Its choices, blocks or items, by their index.
    items: BTreeMap<usize, Object>,
    /// What is said of each text of an item, by its list and part, before the item comes whole.
    said: BTreeMap<(usize, &'static str, usize), String>,
    /// What stands around the answer.
    beside: Object,
    /// There is something of an answer.
    came: bool,
}

impl AnswerAssembly {
    pub(crate) fn new(api: Api) -> Self {
        AnswerAssembly {
            wire: wire(api),
            root: Object::new(),
            items: BTreeMap::new(),
            said: BTreeMap::new(),
            beside: Object::new(),
            came: false,
        }
    }

    /// Takes an event; returns whether all of it has a place.
    pub(crate) fn take(&mut self, event: Value) -> bool {
        let Value::Object(mut event) = event else { return false };
        let Some(key) = self.wire.wrapped_in else { return (self.wire.put)(self, event) };
        let piece = event.remove(key);
        merge(&mut self.beside, event, Again::Replace);
        match piece {
            Some(Value::Object(piece)) => (self.wire.put)(self, piece),
            other => other.is_none(),
        }
    }

    /// The answer that the stream stands for; `None` where nothing of one came.
    pub(crate) fn whole(mut self) -> Option<Value> {
        (self.wire.settle)(&mut self);
        let AnswerAssembly { wire, mut root, items, mut beside, came, .. } = self;
        // An error is alone.
        if !items.is_empty() || root.contains_key("id") || !root.contains_key("error") {
            let items = items.into_values().map(Value::Object);
            root.insert(wire.list.to_owned(), items.collect());
        }
        let Some(key) = wire.wrapped_in else { return came.then_some(root.into()) };
        beside.extend(came.then(|| (key.to_owned(), root.into())));
        (!beside.is_empty()).then_some(beside.into())
    }

    /// A choice, block or item, begun or not.
    fn item(&mut self, at: usize) -> Option<&mut Object> {
        (at < MAX_ITEMS).then(|| self.items.entry(at).or_default())
    }
}

/// How an API spells answers, in words and ways.
pub(crate) struct AnswerWire {
    /// The member that holds the answer, where something else stands around it.
    pub(crate) wrapped_in: Option<&'static str>,
    /// Puts an event to what came before it; returns whether all of it has a place.
    put: fn(&mut AnswerAssembly, Object) -> bool,
    /// Completes what was put together.
    settle: fn(&mut AnswerAssembly),
    /// Why the model stopped, as far as a whole answer says it itself.
    pub(crate) finish: fn(&Object) -> Option<Finish>,
    /// What a further request repeats of a whole answer.
    pub(crate) turn: fn(&Value) -> Vec<Value>,
    /// Writes a reply as a whole answer.
    write: fn(&Reply, &Head) -> Value,
    /// Adds a text to a whole answer; `None` where it has no place for one.
    pub(crate) append: fn(&mut Value, &str) -> Option<()>,
    /// The stream that a whole answer stands for.
    events: fn(&Object, bool) -> Option<Vec<StreamEvent>>,
    /// Makes what reads an answer, given whether its reasoning comes with an encrypted copy.
    pub(crate) says: fn(bool) -> Box<dyn Says>,
    /// The members of which an answer has one.
    pub(crate) answer: &'static [&'static str],
    /// Whether a list of answers is one.
    pub(crate) lists: bool,
    /// Whether each event bears its type as its name, without which clients pass it over.
    pub(crate) names_events: bool,
    /// Whether a stream may say its texts again, whole.
    pub(crate) repeats: bool,
    /// Whether answers have names by which the next request may go on from them.
    pub(crate) names_answers: bool,
    /// Where an event has its answer or the parts of it, as far as texts stand in it beside what the model says.
    pub(crate) beside: &'static [&'static str],
    /// The member that holds the choices, blocks or items.
    pub(crate) list: &'static str,
    /// The member with the probabilities of words; `None` where there is none.
    pub(crate) probabilities: Option<&'static str>,
    /// How an answer is written while it comes about; `None` where nothing of it leaves before its end.
    pub(crate) live: Option<LiveTerms>,
    /// The members that hold the id, the model and the time.
    head: [&'static str; 3],
    /// Why a model stops. Of several words for one reason the first is written.
    reasons: &'static [(&'static str, Finish)],
    /// The member that says what the answer cost.
    usage: &'static str,
    /// The counts within it.
    counts: &'static [CountRow],
}

/// Where an answer counts something, as a pointer within its usage; what that is, of which all counts are added up; and
/// what is written there, if anything.
type CountRow = (&'static str, Count, fn(Usage) -> Option<u64>);

/// Where the events of an answer have their parts, for one that is written while it comes about.
pub(crate) struct LiveTerms {
    /// How many events stand before the parts, and behind them.
    pub(crate) around: (usize, usize),
    /// Whether what it cost is an event of its own.
    pub(crate) costs_apart: bool,
    /// Whether each part is an element of [`AnswerWire::list`]; all texts are one otherwise.
    pub(crate) has_parts: bool,
    /// Where an event says the place of a part, or where texts are one, of a call.
    pub(crate) index: &'static str,
    /// Where it has a piece of what is said, and of the reasoning.
    pub(crate) content: &'static str,
    pub(crate) reasoning: &'static str,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq)]
enum Count {
    Input,
    Cached,
    Written,
    Output,
    Reasoning,
    /// Input and output together, for answers that say no more.
    Total,
    /// The same beside counts that say more: it is written alone.
    Sum,
}

/// A count that is written where there is something to count.
fn if_any(count: u64) -> Option<u64> {
    (count > 0).then_some(count)
}

impl AnswerWire {
    /// The object within a whole answer that says who answered and why it ended.
    pub(crate) fn root<'v>(&self, whole: &'v Object) -> &'v Object {
        self.wrapped_in.and_then(|key| member(whole, key)).unwrap_or(whole)
    }

    /// Why a model stopped.
    fn reason(&self, word: Option<&Value>) -> Option<Finish> {
        let word = word?.as_str()?;
        let known = self.reasons.iter().find(|(own, _)| *own == word);
        Some(known.map_or(Finish::Other, |(_, finish)| *finish))
    }

    /// The word for why a model stops; where there is none, the one for an ordinary end.
    fn word(&self, finish: Finish) -> &'static str {
        let known = self.reasons.iter().find(|(_, own)| *own == finish);
        known.or(self.reasons.first()).map_or("", |(word, _)| word)
    }

    pub(crate) fn head(&self, root: &Object) -> Head {
        let [id, model, created] = self.head;
        Head {
            id: text(root, id).into(),
            model: text(root, model).into(),
            created: root.get(created).map(count).unwrap_or_default(),
        }
    }

    /// What the answer cost, where it says it.
    pub(crate) fn usage(&self, root: &Object) -> Option<Usage> {
        let usage = root.get(self.usage).filter(|usage| usage.is_object())?;
        let sum = |wanted: Count| {
            let counts = self.counts.iter().filter(|(_, own, _)| *own == wanted);
            let counts = counts.filter_map(|(at, ..)| usage.pointer(at)).map(count);
            counts.fold(0, u64::saturating_add)
        };
        let (input, output) = (sum(Count::Input), sum(Count::Output));
        Some(Usage {
            input,
            cached: sum(Count::Cached),
            written: sum(Count::Written),
            output: if output == 0 { sum(Count::Total).saturating_sub(input) } else { output },
            reasoning: sum(Count::Reasoning),
        })
    }

    /// Writes what an answer cost.
    fn write_usage(&self, usage: Usage) -> Value {
        let mut written = json!({});
        for (at, _, number) in self.counts {
            let Some(number) = number(usage) else { continue };
            match at[1..].split_once('/') {
                Some((outer, inner)) => written[outer][inner] = number.into(),
                None => written[&at[1..]] = number.into(),
            }
        }
        written
    }
}

/// The error of a body or an event: an object with a message, or just a message. Its kind is a
/// `type`, a `code` or, of Google, a `status`.
pub(crate) fn failure(of: &Object) -> Option<Failure> {
    match of.get("error")? {
        Value::String(message) => Some(Failure { message: message.as_str().into(), ..Failure::default() }),
        Value::Object(error) => {
            let kinds = ["type", "code", "status"].map(|key| text(error, key));
            let kind = kinds.into_iter().find(|kind| !kind.is_empty()).unwrap_or_default();
            Some(Failure { kind: kind.into(), message: text(error, "message").into() })
        }
        _ => None,
    }
}

/// The tool of a call that has no name and whose kind is not known: it may be one for clients.
const UNKNOWN: &str = "unknown-tool";

/// A name for a call that has none. Results are told apart by it.
fn call_id(id: &str, at: usize) -> String {
    if id.is_empty() { format!("call_{at}") } else { id.to_owned() }
}

//! What clients take from the bytes of an answer.
//!
//! A [`Client`] reads as some real client does: it chooses one of the ways in which parsers, event
//! readers and SDKs differ. Together the clients say what *any* client may find in an answer, and
//! that is what must have been judged. They share no code with the gate.
//!
//! Where a client may take either of two things (a call that is spelled as a function and as a
//! custom tool), it takes both here: what is promised is promised of each.

mod json;
mod lines;
mod reads;

pub use json::Json;
pub use leafgate_api::Api;
use lines::Event;

/// Which of two members with one key counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twins {
    /// The first, as for simdjson's `find_field`.
    First,
    /// The last, as for nearly all others.
    Last,
}

/// Which keys are a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// The same letters.
    Exact,
    /// In any case, as in Go and .NET; Go folds the long s and the Kelvin sign as well.
    AnyCase,
}

/// What says of which kind an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// The member `type` of its data.
    ByType,
    /// Its name: an event without one is passed over where the API names its events, and one with a
    /// name where it does not.
    ByName,
}

/// How pieces become calls and texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// By the index that they bear, and names in pieces too; of items and parts, as each is done.
    ByIndex,
    /// In the order in which they come, texts too: what has an id begins, what has none goes on, and the first choice or
    /// candidate of each event is the one that was asked for, whatever its index.
    InOrder,
    /// By their position, the first name for good, and as the closing event says it.
    AsClosed,
}

/// Which lines of a stream carry data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// As the standard has it.
    Standard,
    /// Trimmed, in any case, behind byte order marks, with or without `data:`, ended or not.
    Trimmed,
    /// The same, ended by all that Unicode calls the end of a line.
    Split,
}

/// A way in which an answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Which of two members counts.
    pub twins: Twins,
    /// Which keys are a key.
    pub keys: Keys,
    /// What says of which kind an event is.
    pub kinds: Kinds,
    /// How pieces become calls and texts.
    pub pieces: Pieces,
    /// Which lines carry data.
    pub lines: Lines,
}

/// A call that a client would run.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenCall {
    /// The tool; of items that name none, their kind.
    pub tool: String,
    /// What it is called with: a string where the API has arguments as text.
    pub arguments: Json,
}

/// What a client has found in an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Its calls.
    pub calls: Vec<SeenCall>,
    /// Its texts, of each part, block, item and choice by itself.
    pub texts: Vec<String>,
    /// The same, joined over parts, blocks, items and choices, as they begin or as they come.
    pub joined: Vec<String>,
}

/// Returns what the clients find in an answer of an API, an event stream or JSON in one piece. Of
/// clients between which nothing in it makes a difference, one stands for all.
pub fn seen(api: Api, stream: bool, answer: &[u8]) -> Vec<(Client, Seen)> {
    let text = String::from_utf8_lossy(answer);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut cut: Vec<(Lines, Vec<Event>)> = Vec::new();
    for lines in [Lines::Standard, Lines::Trimmed, Lines::Split] {
        let events = if stream { lines::events(text, lines) } else { lines::whole(text) };
        if cut.iter().all(|(_, others)| *others != events) {
            cut.push((lines, events));
        }
    }
    let kinds = if stream { &[Kinds::ByType, Kinds::ByName][..] } else { &[Kinds::ByType] };
    let mut found = Vec::new();
    for (lines, events) in cut {
        for keys in [Keys::Exact, Keys::AnyCase] {
            let (first, last) = (settled(&events, keys, Twins::First), settled(&events, keys, Twins::Last));
            let both = [(Twins::First, &first), (Twins::Last, &last)];
            for (twins, events) in both.into_iter().take(if first == last { 1 } else { 2 }) {
                for &kinds in kinds {
                    for pieces in [Pieces::ByIndex, Pieces::InOrder, Pieces::AsClosed] {
                        let client = Client { twins, keys, kinds, pieces, lines };
                        found.push((client, reads::answer(client, api, stream, events)));
                    }
                }
            }
        }
    }
    found
}

/// The events of a stream by the standard: the name of each, where it bears one, and its data.
pub fn named_events(stream: &str) -> Vec<(Option<String>, Json)> {
    lines::events(stream, Lines::Standard).into_iter().map(|Event { name, data }| (name, data)).collect()
}

/// Events as a parser gives them that knows one member of each key.
fn settled(events: &[Event], keys: Keys, twins: Twins) -> Vec<Event> {
    let settle = |event: &Event| Event { name: event.name.clone(), data: event.data.settled(keys, twins) };
    events.iter().map(settle).collect()
}

/// A key in the letters that a client compares.
fn key(own: &str, keys: Keys) -> String {
    match keys {
        Keys::Exact => own.to_owned(),
        Keys::AnyCase => {
            own.chars().flat_map(char::to_lowercase).map(|c| if c == 'ſ' { 's' } else { c }).collect()
        }
    }
}

/// Members that hold what a tool is called with. No library knows its keys: it gives a map or the JSON itself, and in those
/// keys differ in case (Google's `map[string]any` and `Struct`, Anthropic's `json.RawMessage` and `JsonElement`).
const CALLED_WITH: [&str; 3] = ["args", "arguments", "input"];

impl Json {
    fn settled(&self, keys: Keys, twins: Twins) -> Json {
        match self {
            Json::Null | Json::Scalar(_) | Json::Text(_) => self.clone(),
            Json::List(elements) => {
                Json::List(elements.iter().map(|element| element.settled(keys, twins)).collect())
            }
            Json::Object(members) => {
                let mut kept: Vec<(String, Json)> = Vec::with_capacity(members.len());
                for (own, value) in members {
                    let key = key(own, keys);
                    let within = if CALLED_WITH.contains(&&*key) { Keys::Exact } else { keys };
                    match kept.iter_mut().find(|(other, _)| *other == key) {
                        Some(_) if twins == Twins::First => {}
                        Some((_, other)) => *other = value.settled(within, twins),
                        None => kept.push((key, value.settled(within, twins))),
                    }
                }
                Json::Object(kept)
            }
        }
    }
}

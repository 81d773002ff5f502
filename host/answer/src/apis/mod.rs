//! The APIs: one module each, behind [`Wire`]. Only this file knows them all.

mod chat;
mod code_assist;
mod gemini;
mod messages;
mod responses;

use std::fmt;

use serde_json::Value;

use crate::json::{Object, text};
use crate::loss::{Loss, Losses, Lost};
use crate::reply::{Delta, Failure, Finish, Head, Reply};
use crate::said::Says;

/// An API whose answers are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Api {
    /// [OpenAI chat completions](https://platform.openai.com/docs/api-reference/chat), and the many
    /// that speak it.
    Chat,
    /// [OpenAI Responses](https://platform.openai.com/docs/api-reference/responses).
    Responses,
    /// [Anthropic Messages](https://docs.anthropic.com/en/api/messages).
    Messages,
    /// [Gemini](https://ai.google.dev/api/generate-content).
    Gemini,
    /// Gemini Code Assist, which Gemini CLI asks with a login of Google.
    CodeAssist,
}

impl Api {
    /// All of them.
    pub const ALL: [Api; 5] = [Api::Chat, Api::Responses, Api::Messages, Api::Gemini, Api::CodeAssist];

    /// Its name in our own words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Api::Chat => "openai-chat",
            Api::Responses => "openai-responses",
            Api::Messages => "anthropic-messages",
            Api::Gemini => "gemini",
            Api::CodeAssist => "code-assist",
        }
    }

    /// Writes a reply as the JSON answer of this API.
    #[must_use]
    pub fn write(self, reply: &Reply, head: &Head) -> Written {
        let mut losses = Losses::default();
        let json = self.wire().write(reply, head, &mut losses);
        // What an API has no word for shows when it is read again.
        let again = self.wire().read(&json, &mut Losses::default()).unwrap_or_default().reply;
        if again.finish != reply.finish {
            losses.add(Lost::Finish, "");
        }
        if reply.usage.is_some() && again.usage != reply.usage {
            losses.add(Lost::Usage, "");
        }
        Written { json, losses }
    }

    /// Returns the event stream that a JSON answer of this API stands for, all that a reply has no
    /// place for included; `None` for what is no answer, such as an error. `usage` says whether the
    /// request asked for the event with the costs, which chat completions send only then.
    #[must_use]
    pub fn events(self, whole: &Value, usage: bool) -> Option<Vec<Event>> {
        self.wire().events(whole.as_object()?, usage)
    }

    /// Adds a text behind all that a whole answer says to people, and returns whether it could: an
    /// answer that calls tools is no last word.
    pub fn append(self, whole: &mut Value, text: &str) -> bool {
        self.wire().append(whole, text).is_some()
    }

    pub(crate) fn wire(self) -> &'static dyn Wire {
        match self {
            Api::Chat => &chat::Chat,
            Api::Responses => &responses::Responses,
            Api::Messages => &messages::Messages,
            Api::Gemini => &gemini::Gemini,
            Api::CodeAssist => &code_assist::CodeAssist,
        }
    }
}

/// A reply as an answer of an API.
#[derive(Clone, PartialEq)]
pub struct Written {
    /// The answer.
    pub json: Value,
    /// What the API has no place for.
    pub losses: Losses,
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let losses: Vec<&Loss> = self.losses.iter().collect();
        f.debug_struct("Written").field("losses", &losses).finish_non_exhaustive()
    }
}

/// An event of a stream. Its `Display` is the framed event.
#[derive(Clone, PartialEq, Eq)]
pub struct Event {
    name: Option<String>,
    data: String,
}

impl Event {
    /// An event that bears its type in its data alone.
    fn plain(data: &Value) -> Event {
        Event { name: None, data: data.to_string() }
    }

    /// An event that bears its type twice: as its name, and in its data.
    fn typed(data: &Value) -> Event {
        Event { name: data["type"].as_str().map(str::to_owned), data: data.to_string() }
    }

    /// The same event with other data.
    pub(crate) fn with(self, data: &Value) -> Event {
        Event { data: data.to_string(), ..self }
    }

    /// The name, where the API names its events.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What it carries: one line.
    #[must_use]
    pub fn data(&self) -> &str {
        &self.data
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            writeln!(f, "event: {name}")?;
        }
        write!(f, "data: {}\n\n", self.data)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event of {} bytes", self.data.len())
    }
}

/// How an API spells answers.
pub(crate) trait Wire: Sync {
    /// What reads an answer. `sealed` says whether its reasoning comes with an encrypted copy.
    fn says(&self, sealed: bool) -> Box<dyn Says>;

    /// What puts a stream together.
    fn assembly(&self) -> Box<dyn Assembly>;

    /// Reads a whole answer; `None` for what is none.
    fn read(&self, whole: &Value, losses: &mut Losses) -> Option<Read>;

    /// What a further request repeats of a whole answer.
    fn turn(&self, whole: &Value) -> Vec<Value>;

    /// Writes a reply as a whole answer.
    fn write(&self, reply: &Reply, head: &Head, losses: &mut Losses) -> Value;

    /// Adds a text to a whole answer; `None` where it has no place for one.
    fn append(&self, whole: &mut Value, text: &str) -> Option<()>;

    /// The stream that a whole answer stands for.
    fn events(&self, whole: &Object, usage: bool) -> Option<Vec<Event>>;
}

/// A stream that is put together to the answer that it stands for.
pub(crate) trait Assembly: Send {
    /// Takes an event and returns what it adds to the reply.
    fn take(&mut self, event: Value, losses: &mut Losses) -> Vec<Delta>;

    /// The whole answer; `None` where nothing of one came.
    fn whole(self: Box<Self>) -> Option<Value>;

    /// The answer as far as it came.
    fn so_far(&self) -> Option<Value>;
}

/// What a whole answer says.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) reply: Reply,
    pub(crate) head: Head,
    pub(crate) failure: Option<Failure>,
}

impl Read {
    /// An answer that is an error, or ends in one.
    fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.reply.finish = Some(Finish::Failed);
    }

    /// The answer of an upstream that refused.
    fn failed(failure: Failure) -> Read {
        let mut read = Read::default();
        read.fail(failure);
        read
    }
}

/// The error of a body or an event: an object with a message, or just a message. Its kind is a
/// `type`, a `code` or, of Google, a `status`.
fn failure(of: &Object) -> Option<Failure> {
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

/// An answer that begins with an error has nothing else to say.
fn is_error(of: &Object, unless: &str) -> bool {
    !of.contains_key(unless) && failure(of).is_some()
}

/// The tool of a call that has no name and whose kind is not known: it may be one for clients.
const UNKNOWN: &str = "unknown-tool";

/// Stands between two texts of reasoning, which are paragraphs or have headings.
const BETWEEN_REASONING: &str = "\n\n";

/// A name for a call that has none. Results are told apart by it.
fn call_id(id: &str, at: usize) -> String {
    if id.is_empty() { format!("call_{at}") } else { id.to_owned() }
}

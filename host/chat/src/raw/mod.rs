//! `Raw.ChatMessage[]` of prompt-tsx (`rawTypes.ts`): what VS Code's chat holds before it is turned into a request.
//!
//! Roles and kinds of parts are numbers, and the file that defines them calls both lists open. A number that nobody knows is therefore
//! no error: the message or part is kept out and noted. Every message and part remembers where it came from.

mod read;
mod write;

pub(crate) use read::{call, message, parts, thinking};
pub use write::to_json;
pub(crate) use write::{call as call_json, optional};

/// Who speaks: `ChatRole`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// 0.
    System,
    /// 1.
    User,
    /// 2.
    Assistant,
    /// 3.
    Tool,
}

impl Role {
    const ALL: [Role; 4] = [Role::System, Role::User, Role::Assistant, Role::Tool];

    fn from_number(number: i64) -> Option<Role> {
        usize::try_from(number).ok().and_then(|number| Role::ALL.get(number).copied())
    }

    fn number(self) -> i64 {
        self as i64
    }
}

/// One message. It has no `Debug`: its texts are the user's.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// Where it came from, as an RFC 6901 pointer into the input.
    pub at: String,
    /// Who speaks.
    pub role: Role,
    /// The parts of its content.
    pub content: Vec<Part>,
    /// The speaker's name, on any role.
    pub name: Option<String>,
    /// The calls of an assistant message.
    pub calls: Vec<ToolCall>,
    /// The call that a tool message answers.
    pub call_id: Option<String>,
    /// `copilot_references` and `copilot_confirmations`, which travel on the message itself.
    pub carried: Vec<(&'static str, String)>,
}

impl Message {
    pub(crate) fn new(at: impl Into<String>, role: Role, content: Vec<Part>) -> Self {
        let at = at.into();
        Message { at, role, content, name: None, calls: Vec::new(), call_id: None, carried: Vec::new() }
    }
}

/// Members of a message that are handed on as they are.
pub(crate) const CARRIED: [&str; 2] = ["copilot_references", "copilot_confirmations"];

/// One part of a message's content.
#[derive(Clone, PartialEq, Eq)]
pub struct Part {
    /// Where it came from.
    pub at: String,
    /// What it is.
    pub kind: PartKind,
}

impl Part {
    pub(crate) fn text(at: impl Into<String>, text: impl Into<String>) -> Self {
        Part { at: at.into(), kind: PartKind::Text(text.into()) }
    }
}

/// What a part is: `ChatCompletionContentPartKind`.
#[derive(Clone, PartialEq, Eq)]
pub enum PartKind {
    /// 1: words.
    Text(String),
    /// 0: an image.
    Image {
        /// An address, or the image itself as a data URL.
        url: String,
        /// `low`, `high` or `auto`.
        detail: Option<String>,
        /// Its media type; only Copilot's own API asks for it.
        media_type: Option<String>,
    },
    /// 2: whatever an endpoint understands.
    Opaque {
        /// The value, as it is spelled.
        value: String,
        /// Bits of the outputs that may have it (1 raw, 2 OpenAI, 4 VS Code); `None` and 0 are all.
        scope: Option<i64>,
        /// How many tokens the value counts as, as it is spelled. No API is sent this number.
        token_usage: Option<String>,
        /// What the value means, where that is known.
        meaning: Meaning,
    },
    /// 3: a place up to which an endpoint may remember the prompt.
    CacheBreakpoint {
        /// `ephemeral`, in all that was seen.
        cache_type: Option<String>,
    },
    /// 4: a document.
    Document {
        /// Base64.
        data: String,
        /// Its media type.
        media_type: String,
    },
}

/// What an opaque value means to the endpoints of VS Code's chat: its `type`.
#[derive(Clone, PartialEq, Eq)]
pub enum Meaning {
    /// `thinking`: reasoning of the model, which its provider may have signed or encrypted.
    Thinking(Thinking),
    /// `stateful_marker`: the response up to which the server remembers the conversation.
    StatefulMarker(String),
    /// `context_management`: an item of the Responses API, as it is spelled.
    Compaction(String),
    /// `phase_data`: the phase of an assistant message of the Responses API.
    Phase(String),
    /// `input_text`, `input_image`, `input_file`: an item of the Responses API.
    ResponsesInput,
    /// Anything else.
    Other,
}

/// Reasoning of the model.
#[derive(Clone, PartialEq, Eq)]
pub struct Thinking {
    /// The provider's id.
    pub id: Option<String>,
    /// The words, where the provider shows them.
    pub text: String,
    /// A signature over the words or, without words, the encrypted reasoning.
    pub encrypted: Option<String>,
}

/// A call of a tool.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Where it came from.
    pub at: String,
    /// Pairs it with its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is called with: JSON, as the model wrote it.
    pub arguments: String,
}

/// The texts of a content, in order.
pub(crate) fn texts(content: &[Part]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|part| match &part.kind {
        PartKind::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

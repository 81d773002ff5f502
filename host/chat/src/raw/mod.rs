//! `Raw.ChatMessage[]` of prompt-tsx (`rawTypes.ts`): the messages of VS Code's chat before they
//! become a request.
//!
//! Roles and kinds of parts are numbers, and the file that defines them calls both lists open. So
//! an unknown number is no error: the message or part is left out and noted. Every message and part
//! keeps its place in the input.

mod read;
mod write;

pub(crate) use read::{call, message, parts, thinking};
pub use write::to_json;
pub(crate) use write::{call as call_json, optional};

/// The role of a message: `ChatRole`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawRole {
    /// 0.
    System,
    /// 1.
    User,
    /// 2.
    Assistant,
    /// 3.
    Tool,
}

impl RawRole {
    const ALL: [RawRole; 4] = [RawRole::System, RawRole::User, RawRole::Assistant, RawRole::Tool];

    fn number(self) -> i64 {
        self as i64
    }
}

/// One message. It has no `Debug`, because its texts are the user's.
#[derive(Clone, PartialEq, Eq)]
pub struct RawMessage {
    /// Its place in the input, as an RFC 6901 pointer.
    pub at: String,
    /// Its role.
    pub role: RawRole,
    /// The parts of its content.
    pub content: Vec<RawPart>,
    /// The author's name, on any role.
    pub name: Option<String>,
    /// The calls of an assistant message.
    pub calls: Vec<ToolCall>,
    /// The call that a tool message answers.
    pub call_id: Option<String>,
    /// `copilot_references` and `copilot_confirmations`, members of the message itself.
    pub carried: Vec<(&'static str, String)>,
}

impl RawMessage {
    pub(crate) fn new(at: impl Into<String>, role: RawRole, content: Vec<RawPart>) -> Self {
        let at = at.into();
        RawMessage { at, role, content, name: None, calls: Vec::new(), call_id: None, carried: Vec::new() }
    }
}

/// Members of a message that are passed on as they are.
pub(crate) const CARRIED: [&str; 2] = ["copilot_references", "copilot_confirmations"];

/// One part of a message's content.
#[derive(Clone, PartialEq, Eq)]
pub struct RawPart {
    /// Its place in the input.
    pub at: String,
    /// Its kind.
    pub kind: PartKind,
}

impl RawPart {
    pub(crate) fn text(at: impl Into<String>, text: impl Into<String>) -> Self {
        RawPart { at: at.into(), kind: PartKind::Text(text.into()) }
    }
}

/// The kind of a part: `ChatCompletionContentPartKind`.
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
    /// 2: a value that an endpoint understands.
    Opaque {
        /// The value, as it is spelled.
        value: String,
        /// Bits of the outputs that may have it (1 raw, 2 OpenAI, 4 VS Code). `None` and 0 are all.
        scope: Option<i64>,
        /// The number of tokens that the value counts for, as it is spelled. It is sent to no API.
        token_usage: Option<String>,
        /// The meaning of the value, if it is known.
        meaning: Meaning,
    },
    /// 3: a place up to which an endpoint may cache the prompt.
    CacheBreakpoint {
        /// `ephemeral` in all recordings.
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

/// The meaning of an opaque value to the endpoints of VS Code's chat: its `type`.
#[derive(Clone, PartialEq, Eq)]
pub enum Meaning {
    /// `thinking`: reasoning of the model, perhaps signed or encrypted by its provider.
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
    /// The words, if the provider shows them.
    pub text: String,
    /// A signature over the words or, without words, the encrypted reasoning.
    pub encrypted: Option<String>,
}

/// A call of a tool.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Its place in the input.
    pub at: String,
    /// Its id, which pairs it with its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments: JSON, as the model wrote it.
    pub arguments: String,
}

/// Returns the texts of a content, in order.
pub(crate) fn texts(content: &[RawPart]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|part| match &part.kind {
        PartKind::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

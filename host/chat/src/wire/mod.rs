//! Raw messages as an API takes them: the request that VS Code's chat makes of them.
//!
//! The conversion follows that client, lossy as it is, so that the result shows what a model would
//! read. A value that is dropped or changed is noted with its place. It never edits a request that
//! passes the gate.

mod chat;
mod messages;
mod responses;

use leafgate_api::Api;

use crate::json::Json;
use crate::loss::Losses;
use crate::raw::RawMessage;

/// The APIs that messages are converted for: chat completions with the additions of Copilot's.
pub const CONVERTED: &[Api] = &[Api::Chat, Api::Responses, Api::Messages];

/// Returns the members of a request body that hold the conversation: `messages`, or `system` and
/// `messages`, or `input`; `None` for an API that is none of [`CONVERTED`].
#[must_use]
pub fn to_wire(messages: &[RawMessage], api: Api, losses: &mut Losses) -> Option<Json> {
    match api {
        Api::Chat => Some(chat::body(messages, losses)),
        Api::Responses => Some(responses::body(messages, losses)),
        Api::Messages => Some(self::messages::body(messages, losses)),
        Api::Gemini | Api::CodeAssist => None,
    }
}

const NAME: &str = "the API has no names on messages";
const NOT_USABLE: &str = "the API has no such part";
const BREAKPOINT: &str = "the API has no cache breakpoints";
const DOCUMENT: &str = "the API takes no documents here";
const JOINED: &str = "several parts are joined into one text";
const BLANK: &str = "the API takes no text of white space alone";
const NO_CALL_ID: &str = "a result that names no call cannot be sent";

/// Notes what stands beside role, content and calls.
fn note_envelope(message: &RawMessage, losses: &mut Losses) {
    if message.name.is_some() {
        losses.note(format!("{}/name", message.at), NAME);
    }
    for (key, _) in &message.carried {
        losses.note(format!("{}/{key}", message.at), NOT_USABLE);
    }
}

/// Notes where several texts become one.
fn note_joined(message: &RawMessage, losses: &mut Losses) {
    if crate::raw::texts(&message.content).count() > 1 {
        losses.note(&message.at, JOINED);
    }
}

/// What JavaScript's `trim` removes: white space of Unicode and the byte order mark, but not
/// U+0085.
fn is_js_space(c: char) -> bool {
    c == '\u{feff}' || c.is_whitespace() && c != '\u{85}'
}

fn is_blank(text: &str) -> bool {
    text.chars().all(is_js_space)
}

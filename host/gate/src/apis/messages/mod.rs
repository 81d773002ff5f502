//! Anthropic's Messages, and what a request to them would cost.

pub(super) mod echo;
mod error;

use leafgate_answer::Api as AnswerApi;
use leafgate_assemble::Counted;
use leafgate_tree::{Document, Format, ValueType};

use super::{Conversation, Endpoint, Wants, gemini, openai};
use crate::dialect::Dialect;
use crate::echo::{Echo, Echoed};
use crate::session::{BodyHints, CLAUDE_CODE, Name};

pub(super) use error::Anthropic;

/// Characters of a UUID.
const UUID: usize = 36;

pub(crate) struct Messages;

/// What a request to Messages would cost. It holds the same texts, and is answered with a number.
pub(crate) struct CountTokens;

impl Endpoint for Messages {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn serves(&self, path: &str, _: Option<&str>) -> bool {
        openai::endpoint(path) == Some("messages")
            || vertex_model(path).is_some_and(|model| model != VERTEX_COUNT)
    }

    fn model(&self, path: &str) -> Option<String> {
        vertex_model(path).map(str::to_owned)
    }

    fn with_model(&self, path: &str, model: &str) -> Option<String> {
        vertex_model(path)?;
        gemini::with_model(path, model)
    }

    fn format(&self) -> Option<Format> {
        Some(Format::AnthropicMessages)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &Anthropic
    }

    fn conversation(&self) -> Option<&'static dyn Conversation> {
        Some(&Messages)
    }

    fn echo(&self, echo: &Echo<'_>) -> Option<Echoed> {
        Some(if echo.streams { Echoed::Events(echo::events(echo)) } else { Echoed::Json(echo::whole(echo)) })
    }
}

impl Conversation for Messages {
    fn answers(&self) -> AnswerApi {
        AnswerApi::Messages
    }

    fn hints(&self, request: &Document) -> BodyHints {
        let user = user_id(request);
        let session = user.as_deref().and_then(claude_code_session);
        let name = session.map(|id| Name::given(CLAUDE_CODE, id));
        BodyHints { name, wide: user.into_iter().collect() }
    }
}

impl Endpoint for CountTokens {
    fn name(&self) -> &'static str {
        "count-tokens"
    }

    fn serves(&self, path: &str, _: Option<&str>) -> bool {
        openai::endpoint(path) == Some("messages/count_tokens") || vertex_model(path) == Some(VERTEX_COUNT)
    }

    fn wants(&self, _: &str) -> Wants {
        Wants::Count(Counted::Flat)
    }

    fn format(&self) -> Option<Format> {
        Some(Format::AnthropicMessages)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &Anthropic
    }

    fn echo(&self, echo: &Echo<'_>) -> Option<Echoed> {
        Some(Echoed::Json(echo::count(echo)))
    }
}

/// What Vertex AI calls the model that counts.
const VERTEX_COUNT: &str = "count-tokens";

/// The model that a path of Vertex AI names ([Claude on Vertex
/// AI](https://docs.anthropic.com/en/api/claude-on-vertex-ai)).
fn vertex_model(path: &str) -> Option<&str> {
    let (model, method) = gemini::model_and_method(path)?;
    let is_raw = matches!(method, "rawPredict" | "streamRawPredict");
    (is_raw && path.contains("/publishers/anthropic/")).then_some(model)
}

/// `metadata.user_id`, by which Anthropic's API knows a client's user.
fn user_id(request: &Document) -> Option<String> {
    let metadata = request.member(request.root(), "metadata")?;
    let leaf = request.settable(request.member(metadata, "user_id")?)?;
    (leaf.value_type() == ValueType::Text).then(|| leaf.text().into_cow().into_owned())
}

/// Claude Code writes its session into the user's id: `user_…_account_…_session_<uuid>`, or a JSON
/// object with a `session_id`.
fn claude_code_session(user_id: &str) -> Option<&str> {
    let id = match user_id.rsplit_once("_session_") {
        Some((_, id)) => id,
        None => user_id.split_once("\"session_id\":")?.1.trim_start().strip_prefix('"')?.split('"').next()?,
    };
    let is_uuid = id.len() == UUID && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_uuid.then_some(id)
}

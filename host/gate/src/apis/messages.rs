//! Anthropic's Messages, and what a request to them would cost.

use http::StatusCode;
use leafgate_answer::{Api, StreamEvent};
use leafgate_assemble::Counted;
use leafgate_tree::{Document, Format, ValueType};
use serde_json::json;

use super::{Endpoint, Wants, gemini, openai};
use crate::apis::dialect::ApiDialect;
use crate::apis::echo::Echoed;
use crate::session::{CLAUDE_CODE, Name, NameHints};

/// Characters of a UUID.
const UUID: usize = 36;

pub(super) static MESSAGES: Endpoint = Endpoint {
    serves: |_, path, _| {
        openai::endpoint(path) == Some("messages")
            || vertex_model(path).is_some_and(|model| model != VERTEX_COUNT)
    },
    format: Some(Format::AnthropicMessages),
    model: |path| vertex_model(path).map(str::to_owned),
    with_model: |path, model| {
        vertex_model(path)?;
        gemini::with_model(path, model)
    },
    wants: |_| Wants::Turn,
    answers: Some(Api::Messages),
    hints: |request| {
        let user = user_id(request);
        let session = user.as_deref().and_then(claude_code_session);
        let name = session.map(|id| Name::given(CLAUDE_CODE, id));
        NameHints { name, wide: user.into_iter().collect() }
    },
    echo: |echo| echo.spoken("msg_echo"),
    ..Endpoint::other("messages", &ANTHROPIC)
};

/// What a request to Messages would cost. It holds the same texts, and is answered with a number.
pub(super) static COUNT_TOKENS: Endpoint = Endpoint {
    serves: |_, path, _| {
        openai::endpoint(path) == Some("messages/count_tokens") || vertex_model(path) == Some(VERTEX_COUNT)
    },
    format: Some(Format::AnthropicMessages),
    wants: |_| Wants::Count(Counted::Flat),
    echo: |echo| Some(Echoed::Json(json!({ "input_tokens": echo.tokens() }))),
    ..Endpoint::other("count-tokens", &ANTHROPIC)
};

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

/// What Anthropic's clients send with every request.
const VERSION: &str = "anthropic-version";

/// Anthropic's errors: a `type` and an `error` with a type and a message. In a stream, an event of
/// the name `error` with the same body.
pub(super) static ANTHROPIC: ApiDialect = ApiDialect {
    is_rooted: |path| path.starts_with("/v1/"),
    has_path: |path| {
        openai::endpoint(path).and_then(|endpoint| endpoint.split('/').next()) == Some("messages")
    },
    has_headers: |headers| headers.contains_key(VERSION),
    other: &OTHER,
    provider: "anthropic",
    error: |refusal| {
        json!({
            "type": "error",
            "error": { "type": error_type(refusal.status), "message": refusal.message },
        })
    },
    end_stream: |error, _| {
        let mut error = error.clone();
        // Servers of this API have other ones' errors, and clients know an event by its type.
        error["type"] = "error".into();
        vec![StreamEvent::typed(error)]
    },
    // The event that Messages has for it.
    keepalive: b"event: ping\ndata: {\"type\": \"ping\"}\n\n",
};

static OTHER: Endpoint = Endpoint::other("anthropic", &ANTHROPIC);

/// The [type of an error](https://docs.anthropic.com/en/api/errors) that goes with a status.
fn error_type(status: StatusCode) -> &'static str {
    match status {
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        status if status.is_server_error() => "api_error",
        _ => "invalid_request_error",
    }
}

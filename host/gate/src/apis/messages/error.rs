//! Anthropic's errors: a `type` and an `error` with a type and a message. In a stream, an event of
//! the name `error` with the same body.

use http::StatusCode;
use leafgate_answer::StreamEvent;
use serde_json::json;

use crate::apis::dialect::ApiDialect;
use crate::apis::{Endpoint, openai};

/// What Anthropic's clients send with every request.
const VERSION: &str = "anthropic-version";

pub(in crate::apis) static ANTHROPIC: ApiDialect = ApiDialect {
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

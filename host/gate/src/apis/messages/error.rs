//! Anthropic's errors: a `type` and an `error` with a type and a message. In a stream, an event of
//! the name `error` with the same body.

use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::apis::{Endpoint, Other, openai};
use crate::dialect::Dialect;
use crate::refusal::Refusal;
use crate::sse;

/// What Anthropic's clients send with every request.
const VERSION: &str = "anthropic-version";

pub(in crate::apis) struct Anthropic;

static OTHER: Other = Other { name: "anthropic", dialect: &Anthropic };

impl Dialect for Anthropic {
    fn is_rooted(&self, path: &str) -> bool {
        path.starts_with("/v1/")
    }

    fn has_path(&self, path: &str) -> bool {
        openai::endpoint(path).and_then(|endpoint| endpoint.split('/').next()) == Some("messages")
    }

    fn has_headers(&self, headers: &HeaderMap) -> bool {
        headers.contains_key(VERSION)
    }

    fn other(&self) -> &'static dyn Endpoint {
        &OTHER
    }

    fn provider(&self) -> &'static str {
        "anthropic"
    }

    fn error(&self, refusal: &Refusal) -> Value {
        json!({
            "type": "error",
            "error": { "type": error_type(refusal.status()), "message": refusal.message() },
        })
    }

    fn end_stream(&self, error: &Value, _again: bool, stream: &mut String) {
        sse::event(stream, Some("error"), error);
    }

    /// The event that Messages has for it.
    fn keepalive(&self) -> &'static [u8] {
        b"event: ping\ndata: {\"type\": \"ping\"}\n\n"
    }
}

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

//! Google's errors ([google.rpc.Status](https://cloud.google.com/apis/design/errors)), of whole
//! answers and in streams alike, whether it serves Gemini or Code Assist.

use http::StatusCode;
use leafgate_answer::StreamEvent;
use serde_json::json;

use super::{is_googles, is_internal, resource};
use crate::apis::Endpoint;
use crate::apis::dialect::ApiDialect;

/// What Google's clients send with every request.
const HEADERS: [&str; 2] = ["x-goog-api-key", "x-goog-api-client"];

pub(in crate::apis) static GEMINI: ApiDialect = ApiDialect {
    is_rooted: |path| resource(path).is_some(),
    has_path: is_googles,
    has_headers: |headers| HEADERS.iter().any(|name| headers.contains_key(*name)),
    other: &OTHER,
    provider: "gcp.gemini",
    error: |refusal| {
        json!({ "error": {
            "code": refusal.status.as_u16(),
            "message": refusal.message,
            "status": status_word(refusal.status),
            "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": refusal.code.as_str().to_ascii_uppercase(),
                "domain": "leafgate",
            }],
        }})
    },
    end_stream: |error, _| vec![StreamEvent::plain(json!({ "error": error["error"] }))],
    // An answer of no candidates: Google's clients take a comment for a piece of JSON.
    keepalive: b"data: {\"candidates\": []}\n\n",
};

static OTHER: Endpoint = Endpoint::other("google", &GEMINI);

pub(in crate::apis) static CODE_ASSIST: ApiDialect = ApiDialect {
    is_rooted: is_internal,
    has_path: is_internal,
    has_headers: |_| false,
    other: &OF_CODE_ASSIST,
    keepalive: b"data: {\"response\": {\"candidates\": []}}\n\n",
    ..GEMINI
};

static OF_CODE_ASSIST: Endpoint = Endpoint::other("code-assist-other", &CODE_ASSIST);

/// The [code](https://cloud.google.com/apis/design/errors#handling_errors) that goes with a status.
fn status_word(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "UNAUTHENTICATED",
        StatusCode::FORBIDDEN => "PERMISSION_DENIED",
        StatusCode::NOT_FOUND => "NOT_FOUND",
        StatusCode::TOO_MANY_REQUESTS => "RESOURCE_EXHAUSTED",
        StatusCode::INTERNAL_SERVER_ERROR => "INTERNAL",
        StatusCode::GATEWAY_TIMEOUT => "DEADLINE_EXCEEDED",
        status if status.is_server_error() => "UNAVAILABLE",
        _ => "INVALID_ARGUMENT",
    }
}

//! Google's errors ([google.rpc.Status](https://cloud.google.com/apis/design/errors)), of whole
//! answers and in streams alike, whether it serves Gemini or Code Assist.

use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::{is_googles, is_internal, resource};
use crate::apis::{Endpoint, Other};
use crate::dialect::Dialect;
use crate::refusal::Refusal;
use crate::sse;

/// What Google's clients send with every request.
const HEADERS: [&str; 2] = ["x-goog-api-key", "x-goog-api-client"];

pub(in crate::apis) struct Google {
    /// What serves a path of no endpoint.
    other: &'static Other,
    /// Whether answers are those of Code Assist.
    wraps: bool,
}

pub(in crate::apis) static GEMINI: Google = Google { other: &OTHER, wraps: false };
static OTHER: Other = Other { name: "google", dialect: &GEMINI };

pub(in crate::apis) static CODE_ASSIST: Google = Google { other: &OF_CODE_ASSIST, wraps: true };
static OF_CODE_ASSIST: Other = Other { name: "code-assist-other", dialect: &CODE_ASSIST };

impl Dialect for Google {
    fn is_rooted(&self, path: &str) -> bool {
        if self.wraps { is_internal(path) } else { resource(path).is_some() }
    }

    fn has_path(&self, path: &str) -> bool {
        if self.wraps { is_internal(path) } else { is_googles(path) }
    }

    fn has_headers(&self, headers: &HeaderMap) -> bool {
        !self.wraps && HEADERS.iter().any(|name| headers.contains_key(*name))
    }

    fn other(&self) -> &'static dyn Endpoint {
        self.other
    }

    fn provider(&self) -> &'static str {
        "gcp.gemini"
    }

    fn error(&self, refusal: &Refusal) -> Value {
        json!({ "error": {
            "code": refusal.status().as_u16(),
            "message": refusal.message(),
            "status": status_word(refusal.status()),
            "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": refusal.code().as_str().to_ascii_uppercase(),
                "domain": "leafgate",
            }],
        }})
    }

    fn end_stream(&self, error: &Value, _again: bool, stream: &mut String) {
        sse::event(stream, None, &json!({ "error": error["error"] }));
    }

    /// An answer of no candidates: Google's clients take a comment for a piece of JSON.
    fn keepalive(&self) -> &'static [u8] {
        match self.wraps {
            true => b"data: {\"response\": {\"candidates\": []}}\n\n",
            false => b"data: {\"candidates\": []}\n\n",
        }
    }
}

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

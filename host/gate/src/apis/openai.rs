//! What OpenAI's APIs share: where they begin, their errors, and what is wider than a conversation.

use http::HeaderMap;
use leafgate_tree::Document;
use serde_json::{Value, json};

use super::{Endpoint, Other, segment};
use crate::dialect::Dialect;
use crate::refusal::Refusal;
use crate::sse;

/// Where APIs begin: OpenAI's, and those that took its paths over; Azure's versioned API; Azure's
/// older one; the one that ChatGPT's subscriptions pay for.
const ROOTS: [&str; 4] = ["/v1/", "/openai/v1/", "/openai/", "/backend-api/codex/"];

/// What clients ask for below a base URL that names no root. Others have no such clients.
const ROOTLESS: &str = "responses";

/// Azure names the model in the path, in one segment.
const DEPLOYMENTS: &str = "deployments/";

/// Members of a body that name a user or a cache.
const WIDE: [&str; 3] = ["prompt_cache_key", "user", "safety_identifier"];

/// OpenAI's errors: an `error` with four members. In a stream, any event with an `error` makes its
/// clients raise.
pub(super) struct Openai;

static OTHER: Other = Other { name: "openai", dialect: &Openai };

impl Dialect for Openai {
    fn is_rooted(&self, path: &str) -> bool {
        endpoint(path).is_some()
    }

    fn has_path(&self, path: &str) -> bool {
        let first = endpoint(path).and_then(|endpoint| endpoint.split('/').next());
        matches!(first, Some("chat" | "responses" | "embeddings" | "completions"))
    }

    fn has_headers(&self, _: &HeaderMap) -> bool {
        true
    }

    fn other(&self) -> &'static dyn Endpoint {
        &OTHER
    }

    fn error(&self, refusal: &Refusal) -> Value {
        json!({ "error": {
            "message": refusal.message(),
            "type": if refusal.status().is_server_error() { "server_error" } else { "invalid_request_error" },
            "param": null,
            "code": refusal.code().as_str(),
        }})
    }

    fn end_stream(&self, error: &Value, _again: bool, stream: &mut String) {
        sse::event(stream, None, &json!({ "error": error["error"] }));
    }

    /// A comment, which clients skip by the grammar of event streams (WHATWG HTML, 9.2.5).
    fn keepalive(&self) -> &'static [u8] {
        b": keepalive\n\n"
    }
}

/// A path without what stands before the API's own names.
pub(super) fn endpoint(path: &str) -> Option<&str> {
    let Some(rest) = ROOTS.iter().find_map(|root| path.strip_prefix(root)) else {
        return path.strip_prefix('/').filter(|rest| is_rootless(rest));
    };
    let deployment = rest.strip_prefix(DEPLOYMENTS).filter(|_| path.starts_with("/openai/"));
    Some(deployment.and_then(|rest| rest.split_once('/')).map_or(rest, |(_, endpoint)| endpoint))
}

/// The deployment that a path of Azure names.
pub(super) fn deployment(path: &str) -> Option<&str> {
    let (name, _) =
        ROOTS.iter().find_map(|root| path.strip_prefix(root))?.strip_prefix(DEPLOYMENTS)?.split_once('/')?;
    path.starts_with("/openai/").then_some(name)
}

/// A path of Azure that asks another deployment.
pub(super) fn with_deployment(path: &str, name: &str) -> Option<String> {
    let held = deployment(path)?;
    let at = path.find(DEPLOYMENTS)? + DEPLOYMENTS.len();
    Some(format!("{}{}{}", &path[..at], segment(name), &path[at + held.len()..]))
}

fn is_rootless(rest: &str) -> bool {
    rest.strip_prefix(ROOTLESS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What a body names that is wider than a conversation.
pub(super) fn wide(request: &Document) -> Vec<String> {
    super::texts(request, &WIDE)
}

//! What OpenAI's APIs share: where they begin, their errors, and what is wider than a conversation.

use leafgate_answer::StreamEvent;
use leafgate_tree::Document;
use serde_json::json;

use super::beside::is_below;
use super::{Endpoint, segment};
use crate::apis::dialect::ApiDialect;

/// Where APIs begin: OpenAI's, and those that took its paths over; Azure's versioned API; Azure's
/// older one; the one that ChatGPT's subscriptions pay for; Google's for OpenAI's clients.
const ROOTS: [&str; 5] = ["/v1/", "/openai/v1/", "/openai/", "/backend-api/codex/", "/v1beta/openai/"];

/// What clients ask for below a base URL that names no root, as Copilot's is.
const ROOTLESS: [&str; 4] = ["chat/completions", "responses", "completions", "embeddings"];

/// Where a path names the model, in one segment: Azure's deployments, and the engines of OpenAI's
/// first API, which Copilot's completions still have.
const MODELS: [&str; 3] = ["/openai/v1/deployments/", "/openai/deployments/", "/v1/engines/"];

/// Members of a body that name a user or a cache.
const WIDE: [&str; 3] = ["prompt_cache_key", "user", "safety_identifier"];

/// OpenAI's errors: an `error` with four members. In a stream, any event with an `error` makes its
/// clients raise.
pub(super) static OPENAI: ApiDialect = ApiDialect {
    is_rooted: |path| endpoint(path).is_some(),
    has_path: |path| {
        let first = endpoint(path).and_then(|endpoint| endpoint.split('/').next());
        matches!(first, Some("chat" | "responses" | "embeddings" | "completions"))
    },
    has_headers: |_| true,
    other: &OTHER,
    provider: "openai",
    error: |refusal| {
        json!({ "error": {
            "message": refusal.message,
            "type": if refusal.status.is_server_error() { "server_error" } else { "invalid_request_error" },
            "param": null,
            "code": refusal.code.as_str(),
        }})
    },
    end_stream: |error, _| vec![StreamEvent::plain(json!({ "error": error["error"] }))],
    // A comment, which clients skip by the grammar of event streams (WHATWG HTML, 9.2.5).
    keepalive: b": keepalive\n\n",
};

static OTHER: Endpoint = Endpoint::other("openai", &OPENAI);

/// A path without what stands before the API's own names.
pub(super) fn endpoint(path: &str) -> Option<&str> {
    let in_path = deployment(path).map(|(_, _, endpoint)| endpoint);
    let rooted = || ROOTS.iter().find_map(|root| path.strip_prefix(root));
    in_path.or_else(rooted).or_else(|| path.strip_prefix('/').filter(|rest| is_rootless(rest)))
}

/// What a path that names a model has before it, the model, and what follows.
fn deployment(path: &str) -> Option<(&str, &str, &str)> {
    let root = MODELS.into_iter().find(|root| path.starts_with(root))?;
    let (name, endpoint) = path[root.len()..].split_once('/')?;
    Some((root, name, endpoint))
}

/// The model that a path names.
pub(super) fn model(path: &str) -> Option<String> {
    deployment(path).map(|(_, name, _)| name.to_owned())
}

/// A path that asks another model than the one that it names.
pub(super) fn with_model(path: &str, model: &str) -> Option<String> {
    let (root, _, endpoint) = deployment(path)?;
    Some(format!("{root}{}/{endpoint}", segment(model)))
}

fn is_rootless(rest: &str) -> bool {
    ROOTLESS.into_iter().any(|name| is_below(rest, name))
}

/// What a body names that is wider than a conversation.
pub(super) fn wide(request: &Document) -> Vec<String> {
    super::texts(request, request.root(), &WIDE)
}

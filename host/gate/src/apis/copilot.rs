//! GitHub Copilot, on an upstream that is Copilot's.
//!
//! Its models are asked by the paths of the other APIs. What its clients ask beside that is walked leaf by leaf here, since it
//! repeats prompts and names files; the answers say which model to ask, or how a task in the cloud is called, and hold no
//! model's words.

use bytes::Bytes;
use http::{Method, StatusCode, request};
use leafgate_answer::parse;
use leafgate_policy::endpoint;
use leafgate_tree::Format;

use super::beside::is_below;
use super::{Endpoint, Wants, openai};
use crate::target::UpstreamKind;
use leafgate_http::{Code, Refusal};

/// The paths of requests in which no conversation stands.
const PATHS: [&str; 5] = ["/auto", "/models/session", "/models/session/intent", "/search", "/skills"];

/// Where its list of models stands.
const MODELS: &str = "/models";

/// How that list says of a model that it answers over a WebSocket, which the gate does not speak.
const SOCKET: &str = "ws:/responses";

/// Which of its models to ask, and what to search.
pub(super) static BESIDE: Endpoint = Endpoint {
    serves: |_, path, _| PATHS.contains(&path),
    format: Some(Format::Generic),
    wants: |_| Wants::Data,
    ..Endpoint::other("copilot", &openai::OPENAI)
};

/// Agents in the cloud. What such a request looks like, its shape must tell: an agent that is talked to
/// gets a conversation.
pub(super) static AGENTS: Endpoint = Endpoint {
    serves: |_, path, _| is_below(path, "/agents"),
    wants: |_| Wants::Data,
    is_talked_to: true,
    ..Endpoint::other("copilot-agents", &openai::OPENAI)
};

/// Refuses what is asked of a server of tools. Copilot's clients ask theirs at the base URL that they have for models.
pub(crate) fn refuse_mcp(path: &str) -> Result<(), Refusal> {
    if !is_below(&endpoint(path), "/mcp") {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::NOT_FOUND,
        Code::Unsupported,
        "servers of tools (MCP) are not reached through this gate, which looks into what goes to models: switch \
         this one off in the client, or give it an address of its own",
    ))
}

/// Whether a request asks for the list of models, from which [`without_sockets`] takes something.
pub(crate) fn asks_for_models(kind: UpstreamKind, parts: &request::Parts) -> bool {
    kind == UpstreamKind::Copilot && parts.method == Method::GET && parts.uri.path() == MODELS
}

/// A list of models that offers no WebSocket; all its other bytes stay. What is no such list stays whole.
pub(crate) fn without_sockets(answer: &Bytes) -> Bytes {
    let Ok(document) = parse(answer.clone()) else { return answer.clone() };
    let models =
        document.member(document.root(), "data").into_iter().flat_map(|data| document.children(data));
    let lists = models.filter_map(|model| document.member(model, "supported_endpoints"));
    document.without(lists, |node| document.leaf(node).is_some_and(|leaf| leaf.text().expose() == SOCKET))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_models_loses_its_sockets_and_nothing_else() {
        for (endpoints, left) in [
            (r#"["/responses", "ws:/responses"]"#, r#"["/responses"]"#),
            (r#"["ws:/responses" , "/responses"]"#, r#"["/responses"]"#),
            (r#"[ "/a","ws:\/responses" , "/b" ,"ws:/responses", "ws:/responses" ]"#, r#"[ "/a" , "/b" ]"#),
            (r#"[ "ws:/responses", "ws:/responses" ]"#, "[  ]"),
            (r#"["/responses", {"ws:/responses": 1}]"#, r#"["/responses", {"ws:/responses": 1}]"#),
            ("null", "null"),
        ] {
            let of = |endpoints: &str| {
                format!(
                    "{{\"data\": [{{\"id\":\"m\",  \"supported_endpoints\": {endpoints}, \"x\": 1e0}}, 7]}}\n"
                )
            };
            assert_eq!(without_sockets(&of(endpoints).into()), of(left), "{endpoints}");
        }
        for other in ["", "[]", "{\"data\": \"ws:/responses\"}", "\"ws:/responses\"", "{\"data\""] {
            assert_eq!(without_sockets(&Bytes::from(other)), other);
        }
    }
}

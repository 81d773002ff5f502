//! The APIs that the gate speaks, told apart by path.
//!
//! What differs between them hangs on one value: what a body is read as, the words of a refusal ([`crate::dialect`]), where an answer
//! holds text for people ([`crate::restore`]), and how the built-in upstream answers ([`crate::echo`]). A path decides, and no body:
//! whatever a request holds, its client understands the words of the API that it asked.

use http::{HeaderMap, Method};
use leafgate_tree::Format;

/// An API, or a part of one that has bodies of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// What a request to Messages would cost. It holds the same texts, and is answered with a number.
    CountTokens,
    /// OpenAI's embeddings.
    Embeddings,
    /// OpenAI's text completions, from before there was chat.
    Completions,
    /// Any other request, refused in these words.
    Other(Dialect),
}

/// Whose errors an API's errors look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Openai,
    Anthropic,
}

/// What Anthropic's clients send with every request.
const ANTHROPIC_VERSION: &str = "anthropic-version";

/// Where APIs begin: OpenAI and Anthropic, Azure's versioned API, Azure's older one.
const ROOTS: [&str; 3] = ["/v1/", "/openai/v1/", "/openai/"];

/// Azure names the model in the path, in one segment.
const DEPLOYMENTS: &str = "deployments/";

impl Api {
    /// The API that a request asks. An unknown path is nobody's, and is answered by what its header says.
    pub(crate) fn of(method: &Method, path: &str, headers: &HeaderMap) -> Api {
        let endpoint = endpoint(path).unwrap_or_default();
        match endpoint {
            _ if method != Method::POST => {}
            "chat/completions" => return Api::Chat,
            "responses" => return Api::Responses,
            "messages" => return Api::Messages,
            "messages/count_tokens" => return Api::CountTokens,
            "embeddings" => return Api::Embeddings,
            "completions" => return Api::Completions,
            _ => {}
        }
        Api::Other(match endpoint.split('/').next() {
            Some("messages") => Dialect::Anthropic,
            Some("chat" | "responses" | "embeddings" | "completions") => Dialect::Openai,
            _ if headers.contains_key(ANTHROPIC_VERSION) => Dialect::Anthropic,
            _ => Dialect::Openai,
        })
    }

    /// What a body is read as; `None` where its shape must tell.
    pub(crate) fn format(self) -> Option<Format> {
        match self {
            Api::Chat => Some(Format::OpenaiChat),
            Api::Responses => Some(Format::OpenaiResponses),
            Api::Messages | Api::CountTokens => Some(Format::AnthropicMessages),
            Api::Embeddings | Api::Completions => Some(Format::Generic),
            Api::Other(_) => None,
        }
    }

    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Api::Messages | Api::CountTokens => Dialect::Anthropic,
            Api::Chat | Api::Responses | Api::Embeddings | Api::Completions => Dialect::Openai,
            Api::Other(dialect) => dialect,
        }
    }

    /// Whether the answer is the model's turn in a conversation: tokens are restored in it, and it may come as a stream.
    pub(crate) fn converses(self) -> bool {
        matches!(self, Api::Chat | Api::Responses | Api::Messages)
    }
}

/// Whether a path is one that requests with a body may go to.
pub(crate) fn is_served(path: &str) -> bool {
    endpoint(path).is_some()
}

/// A path without what stands before the API's own names.
fn endpoint(path: &str) -> Option<&str> {
    let rest = ROOTS.iter().find_map(|root| path.strip_prefix(root))?;
    let deployment = rest.strip_prefix(DEPLOYMENTS).filter(|_| path.starts_with("/openai/"));
    Some(deployment.and_then(|rest| rest.split_once('/')).map_or(rest, |(_, endpoint)| endpoint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(method: Method, path: &str) -> Api {
        Api::of(&method, path, &HeaderMap::new())
    }

    #[test]
    fn each_path_has_its_api() {
        for (path, expected) in [
            ("/v1/chat/completions", Api::Chat),
            ("/v1/responses", Api::Responses),
            ("/v1/messages", Api::Messages),
            ("/v1/messages/count_tokens", Api::CountTokens),
            ("/v1/embeddings", Api::Embeddings),
            ("/v1/completions", Api::Completions),
            ("/openai/deployments/my-gpt.4o/chat/completions", Api::Chat),
            ("/openai/deployments/d/embeddings", Api::Embeddings),
            ("/openai/deployments/d/completions", Api::Completions),
            ("/openai/responses", Api::Responses),
            ("/openai/v1/responses", Api::Responses),
            ("/openai/v1/chat/completions", Api::Chat),
        ] {
            assert_eq!(api(Method::POST, path), expected, "{path}");
            assert_eq!(api(Method::GET, path), Api::Other(expected.dialect()), "GET {path}");
        }
    }

    #[test]
    fn what_is_near_a_path_is_another() {
        for path in [
            "/v1/chat/completions/",
            "/v1//chat/completions",
            "/v1/responses/resp_1/cancel",
            "/v1/responses/compact",
            "/v1/deployments/d/chat/completions",
            "/openai/deployments/a/b/chat/completions",
            "/openai/deployments/chat",
            "/chat/completions",
            "/",
        ] {
            assert_eq!(api(Method::POST, path), Api::Other(Dialect::Openai), "{path}");
        }
        assert_eq!(api(Method::POST, "/v1/messages/batches"), Api::Other(Dialect::Anthropic));
    }

    #[test]
    fn where_no_path_tells_the_header_does() {
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static(ANTHROPIC_VERSION),
            http::HeaderValue::from_static("2023-06-01"),
        )]);
        let of = |path| Api::of(&Method::POST, path, &headers);
        assert_eq!(of("/elsewhere"), Api::Other(Dialect::Anthropic));
        assert_eq!(of("/v1/models"), Api::Other(Dialect::Anthropic));
        assert_eq!(of("/v1/chat/completions"), Api::Chat);
    }
}

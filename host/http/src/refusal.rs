//! What the gate answers where it does not pass a request on.
//!
//! Every refusal is one value. Who serves an API renders it in the words of that, so that an SDK raises its own exception with our
//! words in it. It has two messages. The client's names the rule, the reason, the pointer or the limit, and what to
//! do. The operator's says what only the log should hold, as the chain of causes of a failed connection. Neither holds text of a leaf
//! or a header value.
//!
//! SDKs retry 408, 409, 429 and 5xx and read 401 and 403 as a failed login. A refusal would be the same the next time, so it carries
//! `x-should-retry: false`, which the official SDKs honour. Only trouble that may pass leaves that header out: with the upstream, and
//! with too many bodies at a time.
//!
//! So what rules refuse is a 400.

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// A request that is not passed on, and why.
#[derive(Debug)]
pub struct Refusal {
    /// The status of the answer.
    pub status: StatusCode,
    /// Its cause.
    pub code: Code,
    /// What the client reads.
    pub message: String,
    /// What the operator reads beside it, in the log: what a client need not know, as what the network said.
    pub operator_message: Option<String>,
    /// The shape of an answer in which the client reads the message as the model's words, where it is no error to it.
    pub manner: Option<Box<Manner>>,
    /// Headers of the answer beside those that all refusals have.
    pub added: Vec<(HeaderName, HeaderValue)>,
}

leafgate_words::words! {
    /// The machine-readable cause: `error.code` in OpenAI's dialect; Anthropic's has no place for it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Code {
        /// The policy said no, or asked for a person where no more can wait for one.
        Blocked = "leafgate_blocked",
        /// A turn was given up before it was sent.
        Cancelled = "leafgate_cancelled",
        /// Nobody decided about a turn in time.
        TimedOut = "leafgate_timed_out",
        /// The same request came again on another connection.
        Replaced = "leafgate_replaced",
        /// The listener was addressed by a foreign name or from a foreign page.
        Foreign = "leafgate_foreign_origin",
        /// Method, path, content type or framing that the gate does not serve.
        Unsupported = "leafgate_unsupported",
        /// A body that cannot be read as what it says it is.
        Malformed = "leafgate_malformed",
        /// Larger than a limit.
        TooLarge = "leafgate_too_large",
        /// The client stopped sending its request.
        Stalled = "leafgate_stalled",
        /// The gate has too much to do at the moment.
        Busy = "leafgate_busy",
        /// The gate itself failed; the request did not leave.
        Internal = "leafgate_internal",
        /// No usable answer from the upstream; the next try may have one.
        Upstream = "leafgate_upstream",
        /// The upstream sends clients elsewhere.
        Redirect = "leafgate_upstream_redirect",
    }
    /// Returns its word.
    pub fn as_str = 0;
}

impl Refusal {
    /// A refusal that a client reads as this message.
    pub fn new(status: StatusCode, code: Code, message: impl Into<String>) -> Self {
        Refusal {
            status,
            code,
            message: message.into(),
            operator_message: None,
            manner: None,
            added: Vec::new(),
        }
    }

    /// 400: not what it claims to be.
    pub fn malformed(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, Code::Malformed, message)
    }

    /// 413: over a limit, which the message names.
    pub fn too_large(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Code::TooLarge, message)
    }

    /// 415: a kind of body that rules cannot look into.
    pub fn unsupported_body(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::Unsupported, message)
    }

    /// 500: the gate failed before the request left.
    pub fn internal(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal, message)
    }

    /// 502: the upstream gave no usable answer.
    pub fn upstream(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::BAD_GATEWAY, Code::Upstream, message)
    }

    /// Adds a header to the answer.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.added.push((name, value));
        self
    }

    /// Whether the same request may go better the next time.
    pub fn may_pass_later(&self) -> bool {
        matches!(self.code, Code::Upstream | Code::Busy)
    }

    /// Returns the headers of the answer, besides what says of its body.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if !self.may_pass_later() {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        headers.extend(self.added.iter().cloned());
        headers
    }
}

/// How the answer to a request is shaped, whatever it says.
#[derive(Clone, Debug)]
pub struct Manner {
    /// The model that it asks.
    pub model: String,
    /// Whether it asks for a stream of events.
    pub streams: bool,
    /// Whether the client wants the price of a streamed answer.
    pub usage: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trouble_with_the_upstream_may_be_retried() {
        let retry = |refusal: Refusal| refusal.headers().get(SHOULD_RETRY).cloned();
        assert_eq!(retry(Refusal::upstream("gone")), None);
        for refusal in [
            Refusal::malformed("no"),
            Refusal::internal("no"),
            Refusal::new(StatusCode::BAD_GATEWAY, Code::Redirect, "there"),
        ] {
            assert_eq!(retry(refusal).unwrap(), "false");
        }
    }
}

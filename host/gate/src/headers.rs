//! Which header fields pass an intermediary, and which end at it.
//!
//! Hop-by-hop fields (RFC 9110, 7.6.1) speak about one connection; what frames a body is written anew for the body that really leaves.
//! Everything else passes in its order, credentials included. No value is ever logged.

use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName,
    HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

/// Fields that end here in both directions, besides those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 10] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// What of a request's header changes on the way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestChanges {
    /// The body leaves decoded.
    pub(crate) decoded: bool,
    /// The answer must come uncompressed: tokens in it are to be restored.
    pub(crate) plain_answer: bool,
}

/// The header of the request to the upstream. Host and framing are the client library's to write.
pub(crate) fn of_request(received: &HeaderMap, changes: RequestChanges) -> HeaderMap {
    let mut sent = pass(received, |name| {
        *name == HOST
            || *name == EXPECT
            || *name == CONTENT_LENGTH
            || (changes.decoded && *name == CONTENT_ENCODING)
            || (changes.plain_answer && *name == ACCEPT_ENCODING)
    });
    if changes.plain_answer {
        sent.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    sent
}

/// The header of the answer to the client; `resized` when its body may have another length than the upstream said.
pub(crate) fn of_response(received: &HeaderMap, resized: bool) -> HeaderMap {
    pass(received, |name| resized && *name == CONTENT_LENGTH)
}

/// Built anew rather than by removal, because `HeaderMap::remove` changes the order of what stays.
fn pass(received: &HeaderMap, dropped: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let named = named_by_connection(received);
    let mut passed = HeaderMap::with_capacity(received.len());
    for (name, value) in received {
        if !HOP_BY_HOP.contains(name) && !named.contains(name) && !dropped(name) {
            passed.append(name.clone(), value.clone());
        }
    }
    passed
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        headers.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn what_belongs_to_one_connection_ends_here() {
        let received = map(&[
            ("host", "localhost:4141"),
            ("authorization", "Bearer x"),
            ("connection", "keep-alive, X-Private"),
            ("x-private", "1"),
            ("keep-alive", "timeout=5"),
            ("proxy-authorization", "Basic x"),
            ("te", "trailers"),
            ("trailer", "x"),
            ("upgrade", "h2c"),
            ("http2-settings", "AAMAAABkAAQ"),
            ("expect", "100-continue"),
            ("transfer-encoding", "chunked"),
            ("content-length", "3"),
            ("openai-beta", "assistants=v2"),
            ("content-encoding", "gzip"),
            ("accept-encoding", "gzip, br"),
        ]);
        let sent = of_request(&received, RequestChanges::default());
        assert_eq!(names(&sent), ["authorization", "openai-beta", "content-encoding", "accept-encoding"]);
        let sent = of_request(&received, RequestChanges { decoded: true, plain_answer: true });
        assert_eq!(names(&sent), ["authorization", "openai-beta", "accept-encoding"]);
        assert_eq!(sent[ACCEPT_ENCODING], "identity");
    }

    #[test]
    fn repeated_fields_and_their_order_pass() {
        let received =
            map(&[("x-b", "1"), ("x-a", "2"), ("x-b", "3"), ("set-cookie", "a"), ("set-cookie", "b")]);
        let passed = of_response(&received, false);
        assert_eq!(passed, received);
        assert_eq!(names(&passed), names(&received));
    }

    #[test]
    fn the_length_of_a_restored_answer_is_dropped() {
        let received = map(&[("content-length", "3"), ("content-type", "application/json")]);
        assert_eq!(names(&of_response(&received, false)), ["content-length", "content-type"]);
        assert_eq!(names(&of_response(&received, true)), ["content-type"]);
    }
}

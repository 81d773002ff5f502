//! Which header fields pass an intermediary, and which end at it.
//!
//! Hop-by-hop fields (RFC 9110, 7.6.1) speak about one connection; what frames a body is written anew for the body that really leaves.
//! Everything else passes in its order, credentials included. No value is ever logged.
//!
//! `Connection` may name further fields that end here. One that names a field which everybody on the way must see would have the gate
//! change what the request means: without `content-encoding` its body would be other bytes to the upstream. It is refused.

use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

use crate::refusal::Refusal;

/// The field of a request that says what rules tagged it with. One that came from a client ends here.
pub const TAGS: HeaderName = HeaderName::from_static("leafgate-tags");

/// Bytes of a field that names rules or tags. Servers and proxies refuse headers of a few kilobytes.
const MAX_LIST: usize = 1024;

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

/// Returns true for a field of a request that never leaves as it came, whatever else the request says.
pub fn ends_here(name: &HeaderName) -> bool {
    HOP_BY_HOP.contains(name) || [HOST, EXPECT, CONTENT_LENGTH, TAGS].contains(name)
}

/// Returns names of rules or tags as one field, as far as it has room for them; `None` for none.
pub fn list<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<HeaderValue> {
    let mut list = String::new();
    for name in names {
        if list.len() + name.len() > MAX_LIST {
            break;
        }
        if !list.is_empty() {
            list.push_str(", ");
        }
        list.push_str(name);
    }
    (!list.is_empty()).then(|| HeaderValue::from_str(&list).ok())?
}

/// The header of the request to the upstream. Host and framing are the client library's to write.
pub fn of_request(received: &HeaderMap, decoded: bool) -> HeaderMap {
    pass(received, |name| ends_here(name) || (decoded && *name == CONTENT_ENCODING))
}

/// The header of the answer to the client; `resized` when its body may have another length than the upstream said.
pub fn of_response(received: &HeaderMap, resized: bool) -> HeaderMap {
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

/// The fields that `Connection` names, but for those that are for everybody.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let names = values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok());
    names.filter(|name| !is_for_everybody(name)).collect()
}

/// Refuses a request whose `Connection` names a field that is for everybody, or nothing that can be read.
pub fn check_connection(headers: &HeaderMap) -> Result<(), Refusal> {
    for value in headers.get_all(CONNECTION) {
        let value =
            value.to_str().map_err(|_| Refusal::malformed("the Connection header is not plain ASCII"))?;
        let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
        for name in names {
            let name: HeaderName =
                name.parse().map_err(|_| Refusal::malformed("the Connection header names no field"))?;
            if is_for_everybody(&name) {
                return Err(Refusal::malformed(format!(
                    "the Connection header names `{name}`, which is not about one connection; leave it out there"
                )));
            }
        }
    }
    Ok(())
}

/// Fields that are for everybody on the way, whatever `Connection` says (RFC 9110, 7.6.1).
fn is_for_everybody(name: &HeaderName) -> bool {
    const FAMILIES: [&str; 8] =
        ["accept", "anthropic-", "content-", "if-", "openai-", "x-stainless-", "x-goog-", "x-ms-"];
    const FIELDS: [&str; 16] = [
        "api-key",
        "authorization",
        "cache-control",
        "chatgpt-account-id",
        "cookie",
        "date",
        "expect",
        "host",
        "idempotency-key",
        "origin",
        "range",
        "set-cookie",
        "transfer-encoding",
        "user-agent",
        "via",
        "x-api-key",
    ];
    let name = name.as_str();
    FIELDS.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
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
        let sent = of_request(&received, false);
        assert_eq!(names(&sent), ["authorization", "openai-beta", "content-encoding", "accept-encoding"]);
        let sent = of_request(&received, true);
        assert_eq!(names(&sent), ["authorization", "openai-beta", "accept-encoding"]);
    }

    #[test]
    fn a_field_for_everybody_is_not_taken_off_because_connection_names_it() {
        for name in
            ["content-encoding", "Content-Type", "authorization", "x-api-key", "transfer-encoding", "host"]
        {
            let headers = HeaderMap::from_iter([(CONNECTION, format!("close, {name}").parse().unwrap())]);
            let refusal = check_connection(&headers).unwrap_err();
            assert!(refusal.message.contains(&name.to_lowercase()), "{}", refusal.message);
        }
        for fine in ["close", "keep-alive, Upgrade, HTTP2-Settings", "te", "X-Private", ""] {
            let headers = HeaderMap::from_iter([(CONNECTION, fine.parse().unwrap())]);
            assert!(check_connection(&headers).is_ok(), "{fine}");
        }
        let broken = HeaderMap::from_iter([(CONNECTION, HeaderValue::from_bytes(b"\xe9").unwrap())]);
        assert!(check_connection(&broken).is_err());
        // An answer is no request that could be refused: it keeps the field.
        let answer = map(&[("connection", "content-encoding"), ("content-encoding", "gzip")]);
        assert_eq!(names(&of_response(&answer, false)), ["content-encoding"]);
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

//! What a request asks for beside its body: part of its identity, and of the digest of what a person saw.
//!
//! A request that comes again while the first one waits gets that one's body, and leaves under its own header: its credentials may
//! have been renewed meanwhile. So whatever else of a header could change what the upstream does must be the same, or it is another
//! request. Not counted is only what clients are known to change from one attempt to the next, and what frames one connection.

use std::sync::Arc;

use http::header::HeaderName;
use http::request;
use leafgate_desk::{Destination, PartsDigest};

use crate::upstreams::Lane;
use crate::{outside, path};
use leafgate_http::headers;

/// Fields of one attempt, by their whole names, besides credentials and what is about one connection.
const OWN: [&str; 4] = ["accept-encoding", "content-encoding", "date", "baggage"];

/// Parts of the names of fields that number, time or trace one attempt (`x-stainless-retry-count`, `traceparent`, `x-request-id`). VS
/// Code's `x-agent-task-id` repeats the last, and its `x-interaction-id` changes with whatever else is asked in the window.
const OF_ATTEMPT: [&str; 9] = [
    "retry",
    "attempt",
    "request-id",
    "requestid",
    "trace",
    "timeout",
    "correlation",
    "agent-task-id",
    "interaction-id",
];

/// Returns what a request to an upstream asks for beside its body.
pub(crate) fn destination(lane: &Lane, parts: &request::Parts) -> Destination {
    Destination {
        upstream: Arc::clone(&lane.address),
        method: parts.method.as_str().into(),
        path: outside::without_credentials(path::target(parts)).into(),
        options: options(lane, parts).into(),
    }
}

/// A digest: values of unknown fields may be anything, and must stand in no debug output.
fn options(lane: &Lane, parts: &request::Parts) -> String {
    let mut fields: Vec<(&str, &[u8])> = parts
        .headers
        .iter()
        .filter(|(name, _)| !is_own(name))
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    fields.sort_unstable();
    let mut parts = PartsDigest::default();
    // Two names may stand for one address, each judged in its own way.
    let name = lane.name().map(|name| ("upstream", name.as_bytes()));
    for (name, value) in name.into_iter().chain(fields) {
        parts.add(name);
        parts.add(value);
    }
    base16ct::lower::encode_string(&parts.finish())
}

fn is_own(name: &HeaderName) -> bool {
    let is_known = outside::CREDENTIALS.contains(name) || OWN.contains(&name.as_str());
    is_known || headers::ends_here(name) || OF_ATTEMPT.iter().any(|part| name.as_str().contains(part))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::config::{GateLimits, UpstreamConfig};
    use crate::target::UpstreamTarget;

    fn lane(name: Option<&str>) -> Lane {
        let name = name.map(|name| name.parse().unwrap());
        Lane::new(name, UpstreamConfig::new(UpstreamTarget::Echo), &GateLimits::default()).unwrap()
    }

    fn of(method: &str, headers: &[(&str, &str)]) -> Destination {
        let mut request = Request::builder().method(method).uri("/v1/messages?beta=true");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        destination(&lane(None), &request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn invariant_4_another_attempt_is_the_same_request_and_another_meaning_is_not() {
        let one = of("POST", &[("anthropic-version", "2023-06-01"), ("x-stainless-retry-count", "0")]);
        assert_eq!(
            one,
            of(
                "POST",
                &[
                    ("x-stainless-retry-count", "1"),
                    ("anthropic-version", "2023-06-01"),
                    ("authorization", "Bearer renewed"),
                    ("traceparent", "00-1-2-3"),
                    ("x-agent-task-id", "another"),
                    ("x-interaction-id", "another"),
                ]
            )
        );
        for (method, headers) in [
            ("DELETE", &[("anthropic-version", "2023-06-01")][..]),
            ("POST", &[][..]),
            ("POST", &[("anthropic-version", "2024-01-01")]),
            ("POST", &[("anthropic-version", "2023-06-01"), ("anthropic-beta", "files")]),
            ("POST", &[("anthropic-version", "2023-06-01"), ("x-http-method-override", "DELETE")]),
        ] {
            assert_ne!(one, of(method, headers), "{method} {headers:?}");
        }
        assert!(!format!("{one:?}").contains("2023-06-01"));
    }

    #[test]
    fn a_key_in_the_query_is_a_credential_like_one_in_the_header() {
        let to = |uri: &str| destination(&lane(None), &Request::post(uri).body(()).unwrap().into_parts().0);
        let path = "/v1beta/models/m:streamGenerateContent";
        let one = to(&format!("{path}?alt=sse&%6bey=first"));
        assert_eq!(&*one.path, format!("{path}?alt=sse&%6bey="));
        assert_eq!(one, to(&format!("{path}?alt=sse&%6bey=renewed")));
        assert_ne!(one, to(&format!("{path}?alt=json&%6bey=first")));
        // Another one of its name is no credential: it is searched, and shown.
        assert_eq!(&*to(&format!("{path}?key=first&key=second")).path, format!("{path}?key=&key=second"));
        // To other APIs it may be anything.
        assert_eq!(&*to("/v1/messages?key=first").path, "/v1/messages?key=first");
    }
}

//! What a request says outside its body: path, query and headers, as texts that rules search.
//!
//! A text is searched decoded, in the form in which the upstream reads it. What is left out is a short list: the credentials that a
//! client shows the upstream, and the fields that end at this gate.

use std::borrow::Cow;
use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE, HeaderName};
use http::request;
use leafgate_policy::{Outside, Part, endpoint};
use percent_encoding::percent_decode_str;

use crate::apis::gemini::is_googles;
use leafgate_http::headers;

/// What clients show the upstream who they are with. Rules look for these values elsewhere; here is their place.
pub(crate) const CREDENTIALS: [HeaderName; 6] = [
    AUTHORIZATION,
    COOKIE,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-goog-api-key"),
    HeaderName::from_static("ocp-apim-subscription-key"),
];

/// The parameter that holds the key of Google's APIs.
const GOOGLE_KEY: &str = "key";

/// Collects all texts of a request's head that leave with it.
pub(crate) fn texts_of(parts: &request::Parts) -> Arc<[Outside]> {
    let path = parts.uri.path();
    let mut texts = path_texts(path);
    texts.extend(query_texts(parts.uri.query().unwrap_or_default(), is_google(path)));
    for (name, value) in &parts.headers {
        if !CREDENTIALS.contains(name) && !headers::ends_here(name) {
            let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
            texts.push(Outside { part: Part::Header { name: name.as_str().to_owned() }, text });
        }
    }
    texts.into()
}

/// Returns what a header says, all its lines behind each other.
pub(crate) fn header(texts: &[Outside], wanted: &str) -> String {
    let lines = texts.iter().filter(|text| matches!(&text.part, Part::Header { name } if name == wanted));
    lines.map(|text| &*text.text).collect::<Vec<_>>().join(",")
}

/// The path as it came, and decoded as a whole: a value may hold a slash, encoded or not.
fn path_texts(path: &str) -> Vec<Outside> {
    let text = |text: String| Outside { part: Part::Path, text };
    let decoded = decoded(path);
    let mut texts = vec![text(path.to_owned())];
    if decoded != path {
        texts.push(text(decoded.into_owned()));
    }
    texts
}

/// The parameters, decoded as forms are: `+` is a blank there, and stays what it is in a second text of the same value.
fn query_texts(query: &str, google: bool) -> Vec<Outside> {
    let mut texts = Vec::new();
    let mut credential = google;
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let key = decoded(key).into_owned();
        // One is the credential; another one of its name is not.
        if key == GOOGLE_KEY && std::mem::take(&mut credential) {
            continue;
        }
        let mut push = |text: String| texts.push(Outside { part: Part::Query { key: key.clone() }, text });
        push(decoded(value).into_owned());
        if value.contains('+') {
            push(decoded(&value.replace('+', " ")).into_owned());
        }
    }
    texts
}

/// Path and query without the value of the parameter that is a credential. Every parameter keeps
/// its place and name.
pub(crate) fn without_credentials(path_and_query: &str) -> Cow<'_, str> {
    let Some((path, query)) = path_and_query.split_once('?') else { return Cow::Borrowed(path_and_query) };
    if !is_google(path) {
        return Cow::Borrowed(path_and_query);
    }
    let mut credential = true;
    let shown = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some((key, _)) if decoded(key) == GOOGLE_KEY && std::mem::take(&mut credential) => {
            &parameter[..=key.len()]
        }
        _ => parameter,
    });
    Cow::Owned(format!("{path}?{}", shown.collect::<Vec<_>>().join("&")))
}

/// Bytes that are no UTF-8 are shown as such; what stands around them is searched all the same.
fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

/// Returns true for the paths of Google's APIs, which take their key as a parameter.
fn is_google(path: &str) -> bool {
    is_googles(&endpoint(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(uri: &str, headers: &[(&str, &str)]) -> Vec<String> {
        let mut request = http::Request::get(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        texts_of(&parts).iter().map(|outside| format!("{}: {}", outside.part, outside.text)).collect()
    }

    #[test]
    fn path_and_query_are_searched_as_the_upstream_reads_them() {
        assert_eq!(
            texts("/v1/files/a%40b?q=x%2Fy+z&q=2&flag&=v", &[]),
            [
                "path: /v1/files/a%40b",
                "path: /v1/files/a@b",
                "query parameter q: x/y+z",
                "query parameter q: x/y z",
                "query parameter q: 2",
                "query parameter flag: ",
                "query parameter : v",
            ]
        );
    }

    #[test]
    fn every_header_is_searched_but_credentials_and_those_that_end_here() {
        let headers = [
            ("host", "localhost"),
            ("authorization", "Bearer a"),
            ("proxy-authorization", "Basic a"),
            ("x-api-key", "a"),
            ("api-key", "a"),
            ("x-goog-api-key", "a"),
            ("cookie", "a=b"),
            ("content-length", "2"),
            ("te", "trailers"),
            ("accept", "b"),
            ("user-agent", "c"),
            ("x-codex-turn-metadata", "d"),
            ("x-codex-turn-metadata", "e"),
        ];
        assert_eq!(
            texts("/", &headers)[1..],
            [
                "header accept: b",
                "header user-agent: c",
                "header x-codex-turn-metadata: d",
                "header x-codex-turn-metadata: e"
            ]
        );
    }

    #[test]
    fn a_key_of_google_is_a_credential_in_its_apis_only() {
        for path in ["/v1beta/models", "/v1/models/gemini-2.5-pro:generateContent"] {
            assert_eq!(
                texts(&format!("{path}?key=a&alt=sse"), &[])[1..],
                ["query parameter alt: sse"],
                "{path}"
            );
        }
        for path in ["/v1/models", "/v1/models/ft:gpt-4o:acme::abc"] {
            assert_eq!(texts(&format!("{path}?key=a"), &[])[1..], ["query parameter key: a"], "{path}");
        }
        assert_eq!(texts("/v1beta/models?key=a&key=b", &[])[1..], ["query parameter key: b"]);
    }
}

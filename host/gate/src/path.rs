//! What a server may make of a path: percent-decoding, and which paths could mean another one there.
//!
//! Servers disagree about a path that holds `%2e`, `%2f`, `\` or `;`: some decode once, some twice, some not at all. A path that any
//! of them could resolve to another one than was routed here, perhaps outside the upstream's prefix, is refused.

use std::borrow::Cow;
use std::str::FromStr;

use http::{Uri, request};
use leafgate_policy::endpoint;
use percent_encoding::percent_decode_str;

use leafgate_http::Refusal;

/// How often a path is decoded. Nobody encodes more than twice in earnest.
const MAX_DECODINGS: usize = 3;

/// Paths that a setting names: one, or with `*` at its end all that begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    path: Box<str>,
    /// Whether it names all that begin so.
    pub(crate) with_rest: bool,
}

/// A text that names no paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a path begins with `/`, and may have a `*` at its end for the rest")]
pub struct PathPatternError;

impl FromStr for PathPattern {
    type Err = PathPatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = text.strip_suffix('*').unwrap_or(text);
        if !path.starts_with('/') || path.contains(['*', '?', '#']) {
            return Err(PathPatternError);
        }
        let with_rest = path.len() < text.len();
        let path = if with_rest { path.into() } else { endpoint(path) };
        Ok(PathPattern { path: path.into(), with_rest })
    }
}

impl PathPattern {
    /// Returns whether a path, however it is spelled, is one of these.
    pub(crate) fn is(&self, path: &str) -> bool {
        let path = &*endpoint(path);
        if self.with_rest { path.starts_with(&*self.path) } else { path == &*self.path }
    }
}

/// Returns a URI with another path, and everything else as it was.
pub(crate) fn with_path(uri: &Uri, path: &str) -> Option<Uri> {
    let target = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// Path and query as received.
pub(crate) fn target(parts: &request::Parts) -> &str {
    parts.uri.path_and_query().map_or("/", |path| path.as_str())
}

/// Refuses a path that a server could resolve to another one.
pub(crate) fn refuse_ambiguous(path: &str) -> Result<(), Refusal> {
    let mut path = Cow::Borrowed(path);
    for _ in 0..=MAX_DECODINGS {
        check(&path)?;
        // Overlong and broken sequences: some servers read `%c0%ae` as a dot.
        let decoded = percent_decode_str(&path)
            .decode_utf8()
            .map_err(|_| Refusal::malformed("the path encodes bytes that are not UTF-8"))?;
        if decoded == path {
            return Ok(());
        }
        path = Cow::Owned(decoded.into_owned());
    }
    Err(Refusal::malformed(format!("the path is percent-encoded more than {MAX_DECODINGS} times")))
}

fn check(path: &str) -> Result<(), Refusal> {
    if path.chars().any(char::is_control) {
        return Err(Refusal::malformed("the path holds a control character"));
    }
    if path.split(['/', '\\']).any(is_dots) {
        return Err(Refusal::malformed("the path has a `.` or `..` segment; send the path it stands for"));
    }
    Ok(())
}

/// Returns true for `.` and `..`, with parameters (`..;a=b`) or blanks after them, which some servers cut off.
fn is_dots(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or_default().trim();
    name == "." || name == ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_a_server_could_resolve_elsewhere_is_refused() {
        for path in [
            "/v1/../admin",
            "/v1/./x",
            "/v1/..",
            "/v1/%2e%2E/admin",
            "/v1/.%2e/admin",
            "/v1/files/%2f..%2fadmin",
            "/v1/files/..%2fadmin",
            "/v1/files/%252e%252e/admin",
            "/v1/files/%25252e%25252e/admin",
            "/v1/..;/admin",
            "/v1/..;a=b/admin",
            "/v1/..%3b/admin",
            "/v1/.;/admin",
            "/v1/..%20/admin",
            "/v1/..\\admin",
            "/v1/x\\..\\admin",
            "/v1/%5c..%5cadmin",
            "/v1/%c0%ae%c0%ae/admin",
            "/v1/%00",
            "/v1/..%00/admin",
            "/v1/x%0d%0ahost: y",
            "/v1/%2525252525252e",
        ] {
            assert!(refuse_ambiguous(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_pattern_is_a_path_or_the_beginning_of_paths() {
        let is = |pattern: &str, path| pattern.parse::<PathPattern>().unwrap().is(path);
        assert!(is("/v1/messages", "/v1/messages") && !is("/v1/messages", "/v1/messages/count_tokens"));
        assert!(is("/v1/audio/*", "/v1/audio/speech") && !is("/v1/audio/*", "/v1/files"));
        assert!(is("/*", "/"));
        assert!(is("/v1/messages", "/v1//messages/") && is("/v1/messages/", "/v1/%6dessages"));
        for text in ["", "v1", "/v1/*/x", "/v1?x"] {
            assert_eq!(text.parse::<PathPattern>(), Err(PathPatternError), "{text}");
        }
    }

    #[test]
    fn names_with_dots_blanks_and_slashes_pass() {
        for path in [
            "/",
            "/v1/models/gpt-4.1",
            "/v1/files/a%2Fb/content",
            "/v1/files/...",
            "/v1/files/..a/.b",
            "/v1/models/ft:gpt-4o:acme::abc;v=1",
            "/v1/x%20y%C3%A9",
            "/v1/100%",
            "/v1/100%zz",
            "/v1beta/models/gemini-2.5-pro:generateContent",
        ] {
            assert!(refuse_ambiguous(path).is_ok(), "{path}");
        }
    }
}

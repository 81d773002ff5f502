//! Which requests the gate serves. Fail closed: a body is walked as JSON or the request is refused. As what it is walked, its
//! [`crate::apis::Api`] says.
//!
//! | request | answer |
//! |---|---|
//! | any method but GET and HEAD under `/v1/` or Azure's `/openai/`, with JSON | walked |
//! | the same without a body | passed: there is nothing to see |
//! | GET, HEAD of any path, without a body | passed |
//! | a WebSocket or other upgrade | 426, which clients answer by falling back to HTTP |
//! | an upload (`multipart/form-data`) to a path whose bodies no format reads | walked as one text, as far as it is text or media |
//! | any other body that is not JSON | 415, but where `raw` names the path: walked as one text |
//! | anything else | 404 or 405, saying what is served |

use http::header::{ALLOW, CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::request::Parts;
use http::{Method, StatusCode};

use crate::apis::{self, Api, copilot};
use crate::multipart;
use crate::path;
use crate::target::UpstreamKind;
use leafgate_http::{Code, MediaType, Refusal};

/// What the error of an unknown path names.
const SERVED: &str = "POST /v1/chat/completions, /v1/responses, /v1/messages and /v1beta/models/…:generateContent, other JSON requests under /v1/, /v1beta/, /openai/ and /backend-api/codex/, those of Copilot's clients where the upstream is Copilot's (`kind = \"copilot\"`), and GET";

/// Refuses a request to an upstream of this kind that is not served. Of one that is, a body is walked.
pub(crate) fn check(kind: UpstreamKind, parts: &Parts, has_body: bool, raw: bool) -> Result<(), Refusal> {
    refuse_upgrade(&parts.headers)?;
    let path = parts.uri.path();
    path::refuse_ambiguous(path)?;
    copilot::refuse_mcp(path)?;
    match parts.method {
        Method::GET | Method::HEAD if has_body => {
            let message = format!("a {} request with a body is refused; send it as POST", parts.method);
            return Err(Refusal::malformed(message));
        }
        Method::GET | Method::HEAD => return Ok(()),
        Method::POST | Method::PUT | Method::PATCH | Method::DELETE => {}
        _ => {
            let message = format!("this method is not served; served are {SERVED}");
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, Code::Unsupported, message)
                .with_header(ALLOW, HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE")));
        }
    }
    if !raw && !apis::is_served(kind, path) {
        let message = format!("this path is not served; served are {SERVED}");
        return Err(Refusal::new(StatusCode::NOT_FOUND, Code::Unsupported, message));
    }
    if has_body && !raw && !is_upload(kind, parts)? {
        refuse_unless_json(&parts.headers)?;
    }
    Ok(())
}

/// Java's HTTP client offers `h2c` with every request and takes no for an answer; the header is dropped there.
fn refuse_upgrade(headers: &HeaderMap) -> Result<(), Refusal> {
    let offers = headers.get_all(UPGRADE);
    if offers.iter().all(|offer| offer.as_bytes().eq_ignore_ascii_case(b"h2c")) {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::UPGRADE_REQUIRED,
        Code::Unsupported,
        "upgraded connections (WebSocket) cannot be looked into and are refused; use plain HTTP requests",
    )
    .with_header(UPGRADE, HeaderValue::from_static("HTTP/1.1"))
    .with_header(CONNECTION, HeaderValue::from_static("upgrade")))
}

/// Whether a body is an upload, on a path of which no rule expects messages.
fn is_upload(kind: UpstreamKind, parts: &Parts) -> Result<bool, Refusal> {
    let api = Api::of(kind, &parts.method, &parts.uri, &parts.headers);
    Ok(api.format.is_none() && multipart::boundary(&parts.headers)?.is_some())
}

/// A missing type is read as JSON: the body is walked or refused all the same.
fn refuse_unless_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let (essence, charset) = match MediaType::of(headers) {
        MediaType::Missing => return Ok(()),
        MediaType::Several => {
            return Err(Refusal::malformed("there is more than one content-type header"));
        }
        MediaType::One { essence, charset } => (essence, charset),
    };
    if !matches!(&*essence, "application/json" | "text/json") && !essence.ends_with("+json") {
        return Err(Refusal::unsupported_body(
            "a body that is not JSON cannot be looked into and is refused; send JSON with `content-type: application/json`, or name the path in the setting `raw`",
        ));
    }
    if charset.is_some_and(|charset| !matches!(&*charset, "utf-8" | "utf8" | "us-ascii")) {
        return Err(Refusal::unsupported_body(
            "JSON in a charset other than UTF-8 is refused; send it as UTF-8",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: &str, path: &str, headers: &[(&str, &str)], has_body: bool) -> Result<(), u16> {
        route_to(UpstreamKind::Models, method, path, headers, has_body)
    }

    fn route_to(
        kind: UpstreamKind,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        has_body: bool,
    ) -> Result<(), u16> {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        check(kind, &parts, has_body, false).map_err(|refusal| refusal.status.as_u16())
    }

    const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

    #[test]
    fn what_is_walked() {
        for path in [
            "/v1/chat/completions",
            "//v1/chat/completions/",
            "/v1/messages?beta=true",
            "/v1/nobody/knows",
            "/openai/responses",
            "/responses",
            "/chat/completions",
            "/embeddings",
            "/completions",
            "/v1/engines/m/completions",
            "/backend-api/codex/responses",
            "/backend-api/codex/responses/compact",
            "/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ] {
            assert_eq!(route("POST", path, JSON, true), Ok(()), "{path}");
            assert_eq!(route("POST", path, &[], true), Ok(()), "{path}: a missing type is read as JSON");
        }
        for kind in ["Application/JSON; charset=UTF-8", "application/merge-patch+json"] {
            assert_eq!(route("POST", "/v1/x", &[("content-type", kind)], true), Ok(()), "{kind}");
        }
        let upload = &[("content-type", "multipart/form-data; boundary=x")];
        for path in ["/v1/files", "/v1/audio/transcriptions", "/v1/images/edits"] {
            assert_eq!(route("POST", path, upload, true), Ok(()), "{path}");
        }
        for method in ["PUT", "PATCH", "DELETE"] {
            assert_eq!(route(method, "/v1/chat/completions", JSON, true), Ok(()), "{method}");
        }
    }

    #[test]
    fn copilot_has_paths_of_its_own_and_servers_of_tools_are_refused_everywhere() {
        let paths = [
            "/auto",
            "/models/session",
            "/models/session/intent",
            "/search",
            "/skills",
            "/agents/swe/v1/jobs",
        ];
        for path in paths {
            assert_eq!(route_to(UpstreamKind::Copilot, "POST", path, JSON, true), Ok(()), "{path}");
            assert_eq!(route("POST", path, JSON, true), Err(404), "{path}");
        }
        for &kind in UpstreamKind::ALL {
            for (method, path) in
                [("POST", "/mcp"), ("POST", "//%6dcp/readonly"), ("GET", "/mcp/"), ("DELETE", "/mcp")]
            {
                assert_eq!(route_to(kind, method, path, JSON, false), Err(404), "{method} {path}");
            }
            assert_eq!(route_to(kind, "GET", "/models", &[], false), Ok(()));
            assert_eq!(route_to(kind, "POST", "/autos", JSON, true), Err(404));
        }
    }

    #[test]
    fn what_passes() {
        for (method, path) in [
            ("GET", "/"),
            ("HEAD", "/"),
            ("GET", "/v1/models"),
            ("DELETE", "/v1/files/f"),
            ("POST", "/v1/b/cancel"),
        ] {
            assert_eq!(route(method, path, &[], false), Ok(()), "{method} {path}");
        }
        assert_eq!(route("GET", "/v1/models", &[("upgrade", "h2c")], false), Ok(()));
    }

    #[test]
    fn what_is_refused() {
        assert_eq!(route("GET", "/v1/models", &[], true), Err(400));
        assert_eq!(route("GET", "/v1/responses", &[("upgrade", "websocket")], false), Err(426));
        assert_eq!(route("POST", "/elsewhere", JSON, true), Err(404));
        assert_eq!(route("POST", "/v1", JSON, true), Err(404));
        assert_eq!(route("POST", "/openai", JSON, true), Err(404));
        assert_eq!(route("POST", "/responsesx", JSON, true), Err(404));
        assert_eq!(route("POST", "/backend-api/conversation", JSON, true), Err(404));
        assert_eq!(route("OPTIONS", "/v1/chat/completions", &[], false), Err(405));
        assert_eq!(route("TRACE", "/v1/chat/completions", &[], false), Err(405));
        assert_eq!(route("POST", "/v1/../admin", JSON, true), Err(400));
        assert_eq!(route("GET", "/v1/%2E%2e/admin", &[], false), Err(400));
        for kind in [
            "multipart/mixed; boundary=x",
            "application/x-www-form-urlencoded",
            "text/plain",
            "application/jsonl",
            "",
        ] {
            assert_eq!(route("POST", "/v1/files", &[("content-type", kind)], true), Err(415), "{kind}");
        }
        assert_eq!(
            route("POST", "/v1/x", &[("content-type", "application/json; charset=utf-16")], true),
            Err(415)
        );
        let upload = &[("content-type", "multipart/form-data; boundary=x")];
        for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
            assert_eq!(route("POST", path, upload, true), Err(415), "{path}: rules look for messages there");
        }
        let nameless = &[("content-type", "multipart/form-data")];
        assert_eq!(route("POST", "/v1/files", nameless, true), Err(400));
        assert_eq!(route("POST", "/v1/x", &[JSON[0], ("content-type", "text/plain")], true), Err(400));
    }
}

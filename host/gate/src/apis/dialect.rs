//! Errors and signs of life in the words of each API, such that the official clients raise their
//! own exceptions.
//!
//! An error has two forms: the body of an answer with a status, and the last events of a stream
//! that was begun. What makes clients raise differs, and stands in the file of each API.

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use leafgate_answer::StreamEvent;
use serde_json::Value;

use crate::apis::echo::{self, Echoed};
use crate::apis::{Api, Endpoint};
use leafgate_http::{Content, Refusal, content};

/// Whose errors an API's errors look like.
pub(crate) struct ApiDialect {
    /// Whether requests with a body may go to this path, whichever endpoint it is.
    pub(crate) is_rooted: fn(&str) -> bool,
    /// Whether a request to this path, which no endpoint serves, is answered in these words.
    pub(crate) has_path: fn(&str) -> bool,
    /// Whether a request to a path of nobody, with these headers, is answered in these words.
    pub(crate) has_headers: fn(&HeaderMap) -> bool,
    /// What such a request is taken for.
    pub(crate) other: &'static Endpoint,
    /// Whose words they are, as OpenTelemetry names providers.
    pub(crate) provider: &'static str,
    /// The body of an error. It has a member `error`.
    pub(crate) error: fn(&Refusal) -> Value,
    /// What ends a stream with an error: one of these words, or the upstream's. The flag says whether the
    /// same request may go better the next time.
    pub(crate) end_stream: fn(&Value, bool) -> Vec<StreamEvent>,
    /// A sign of life in a stream.
    pub(crate) keepalive: &'static [u8],
}

/// The body of an error that one of the APIs has sent or could have sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ErrorBody(Value);

impl ErrorBody {
    /// An error of the gate's own.
    pub(crate) fn of(refusal: &Refusal, api: Api) -> Self {
        ErrorBody((api.dialect.error)(refusal))
    }

    /// An upstream's error, where it is one: every dialect has a member `error`.
    pub(crate) fn read(answer: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(answer).ok()?;
        body.get("error").is_some_and(|error| !error.is_null()).then_some(ErrorBody(body))
    }

    /// What it says to people.
    pub(crate) fn message(&self) -> Option<&str> {
        let error = &self.0["error"];
        error.as_str().or_else(|| error["message"].as_str())
    }

    /// The whole body of an answer.
    pub(crate) fn json(&self) -> Bytes {
        Bytes::from(self.0.to_string())
    }

    /// What ends a stream of this API. `again` says whether the same request may go better the next
    /// time.
    pub(crate) fn events(&self, api: Api, again: bool) -> Bytes {
        framed(&(api.dialect.end_stream)(&self.0, again))
    }
}

fn framed(events: &[StreamEvent]) -> Bytes {
    events.iter().map(ToString::to_string).collect::<String>().into()
}

/// Returns what the model would answer if it said the message of a refusal, where that is wanted.
fn spoken(refusal: &Refusal, api: Api) -> Option<Echoed> {
    echo::say(api, refusal.manner.as_ref()?, &refusal.message)
}

/// Returns what ends a stream of this API that was begun: the message of a refusal as the model's words, or an error.
pub(crate) fn ending(refusal: &Refusal, api: Api) -> Bytes {
    match spoken(refusal, api) {
        Some(Echoed::Events(events)) => framed(&events),
        Some(Echoed::Json(_)) | None => ErrorBody::of(refusal, api).events(api, refusal.may_pass_later()),
    }
}

/// Returns the answer to a request that is refused, in the dialect of the API that was asked, or as the model would say it.
pub(crate) fn refused(refusal: Refusal, api: Api) -> Response<Content> {
    if let Some(spoken) = spoken(&refusal, api) {
        return spoken.into_response();
    }
    let mut response = Response::new(content::full(ErrorBody::of(&refusal, api).json()));
    *response.status_mut() = refusal.status;
    *response.headers_mut() = refusal.headers();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A sign of life in a stream of this API.
pub(crate) fn keepalive(api: Api) -> Bytes {
    Bytes::from_static(api.dialect.keepalive)
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use serde_json::json;

    use super::*;
    use crate::apis::named;
    use leafgate_http::Code;

    fn blocked(api: Api) -> ErrorBody {
        ErrorBody::of(&Refusal::new(StatusCode::BAD_REQUEST, Code::Blocked, "say \"why\""), api)
    }

    /// The names and data of a stream's events.
    fn read(events: &Bytes) -> Vec<(Option<String>, Value)> {
        let events = std::str::from_utf8(events).unwrap().strip_suffix("\n\n").unwrap();
        let read = |event: &str| {
            let (name, data) = event.rsplit_once('\n').unwrap_or(("", event));
            let data = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            (name.strip_prefix("event: ").map(str::to_owned), data)
        };
        events.split("\n\n").map(read).collect()
    }

    #[test]
    fn openai_has_a_code_and_anthropic_a_type() {
        let openai = json!({ "error": {
            "message": "say \"why\"", "type": "invalid_request_error", "param": null, "code": "leafgate_blocked",
        }});
        let anthropic = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "say \"why\"" } });
        for api in
            [named("chat"), named("responses"), named("embeddings"), named("completions"), named("openai")]
        {
            assert_eq!(blocked(api).0, openai, "{api:?}");
        }
        for api in [named("messages"), named("count-tokens"), named("anthropic")] {
            assert_eq!(blocked(api).0, anthropic, "{api:?}");
        }
    }

    #[test]
    fn the_types_of_anthropic_follow_the_status() {
        for (status, kind) in [
            (400, "invalid_request_error"),
            (403, "permission_error"),
            (404, "not_found_error"),
            (405, "invalid_request_error"),
            (413, "request_too_large"),
            (415, "invalid_request_error"),
            (426, "invalid_request_error"),
            (500, "api_error"),
            (502, "api_error"),
        ] {
            let refusal = Refusal::new(StatusCode::from_u16(status).unwrap(), Code::Blocked, "no");
            assert_eq!(ErrorBody::of(&refusal, named("messages")).0["error"]["type"], kind, "{status}");
        }
    }

    #[test]
    fn each_stream_ends_in_what_its_clients_raise_at() {
        let chat = read(&blocked(named("chat")).events(named("chat"), false));
        assert_eq!(chat, [(None, blocked(named("chat")).0)]);

        let gemini = read(&blocked(named("gemini-stream")).events(named("gemini-stream"), false));
        assert_eq!(gemini, [(None, blocked(named("gemini")).0)]);
        // Google's clients know an error by what its data begins with.
        assert!(gemini[0].1.to_string().starts_with("{\"error\":"));

        let messages = read(&blocked(named("messages")).events(named("messages"), false));
        assert_eq!(messages, [(Some("error".to_owned()), blocked(named("messages")).0)]);

        let responses = read(&blocked(named("responses")).events(named("responses"), false));
        let [(error_name, error), (failed_name, failed)] = &responses[..] else { panic!("{responses:?}") };
        assert_eq!((error_name.as_deref(), &error["type"]), (Some("error"), &json!("error")));
        assert_eq!(error["error"], blocked(named("responses")).0["error"]);
        for member in ["message", "code", "param"] {
            assert_eq!(error[member], error["error"][member]);
        }
        assert_eq!(
            (failed_name.as_deref(), &failed["type"]),
            (Some("response.failed"), &json!("response.failed"))
        );
        assert_eq!(
            failed["response"]["error"],
            json!({ "code": "invalid_prompt", "message": "say \"why\"" })
        );
    }

    #[test]
    fn what_may_go_better_says_so() {
        let gone = Refusal::upstream("gone");
        let responses = read(&ErrorBody::of(&gone, named("responses")).events(named("responses"), true));
        assert_eq!(responses[1].1["response"]["error"]["code"], "server_error");
    }

    #[test]
    fn the_words_of_an_upstream_stay_on_one_line() {
        let said = "{\n \"type\": \"error\",\n \"error\": {\"type\": \"overloaded_error\", \"message\": \"later\\nplease\"},\n \"request_id\": \"r\"}";
        let error = ErrorBody::read(said.as_bytes()).unwrap();
        let events = read(&error.events(named("messages"), true));
        assert_eq!(events, [(Some("error".to_owned()), serde_json::from_str(said).unwrap())]);
        for no_error in ["", "[]", "{\"error\": null}", "<html>"] {
            assert_eq!(ErrorBody::read(no_error.as_bytes()), None, "{no_error}");
        }
    }
}

//! Errors and signs of life in the words of each API, such that the official clients raise their own exceptions.
//!
//! An error has two forms: the body of an answer with a status, and the last event of a stream that was begun. What makes clients
//! raise in a stream differs:
//!
//! - Chat completions: any event with an `error` member.
//! - Responses: the API documents an `error` event with its members at the top, which the official clients hand on like any other; what
//!   they raise at is an `error` member, which the live API sends as well. So both are there. Codex passes that event over, and takes a
//!   stream that ends without a terminal event for a broken one, which it asks for again; `response.failed` tells it what happened, and
//!   the code `invalid_prompt` that asking again is of no use.
//! - Messages: an event of the name `error` with the body of an error.

use std::fmt::Write as _;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use crate::api::{Api, Dialect};
use crate::refusal::Refusal;

/// The body of an error that one of the APIs has sent or could have sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ErrorBody(Value);

impl ErrorBody {
    /// An error of the gate's own.
    pub(crate) fn of(refusal: &Refusal, api: Api) -> Self {
        let message = refusal.message();
        ErrorBody(match api.dialect() {
            Dialect::Openai => json!({ "error": {
                "message": message,
                "type": if refusal.status().is_server_error() { "server_error" } else { "invalid_request_error" },
                "param": null,
                "code": refusal.code().as_str(),
            }}),
            Dialect::Anthropic => json!({
                "type": "error",
                "error": { "type": anthropic_type(refusal.status()), "message": message },
            }),
        })
    }

    /// An upstream's error, where it is one: both dialects have a member `error`.
    pub(crate) fn read(answer: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(answer).ok()?;
        body.get("error").is_some_and(|error| !error.is_null()).then_some(ErrorBody(body))
    }

    /// The whole body of an answer.
    pub(crate) fn json(&self) -> Bytes {
        Bytes::from(self.0.to_string())
    }

    /// What ends a stream of this API. `again` says whether the same request may go better the next time.
    pub(crate) fn events(&self, api: Api, again: bool) -> Bytes {
        let mut events = String::new();
        match api {
            Api::Responses => {
                event(&mut events, Some("error"), &self.responses_error());
                event(&mut events, Some("response.failed"), &self.responses_failed(again));
            }
            _ if api.dialect() == Dialect::Anthropic => event(&mut events, Some("error"), &self.0),
            _ => event(&mut events, None, &json!({ "error": self.0["error"] })),
        }
        events.into()
    }

    fn responses_error(&self) -> Value {
        let error = &self.0["error"];
        json!({
            "type": "error",
            "code": error["code"],
            "message": error["message"],
            "param": error["param"],
            "error": error,
            "sequence_number": 0,
        })
    }

    /// No response was begun, so this one has no content and a name of ours.
    fn responses_failed(&self, again: bool) -> Value {
        let code = if again { "server_error" } else { "invalid_prompt" };
        json!({
            "type": "response.failed",
            "sequence_number": 1,
            "response": {
                "id": "resp_leafgate",
                "object": "response",
                "created_at": 0,
                "status": "failed",
                "error": { "code": code, "message": self.0["error"]["message"] },
                "incomplete_details": null,
                "output": [],
            },
        })
    }
}

/// The [type of an error](https://docs.anthropic.com/en/api/errors) that goes with a status.
fn anthropic_type(status: StatusCode) -> &'static str {
    match status {
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        status if status.is_server_error() => "api_error",
        _ => "invalid_request_error",
    }
}

/// A sign of life in a stream: a comment, which clients skip by the grammar of event streams (WHATWG HTML, 9.2.5), or the event that
/// Messages has for it.
pub(crate) fn keepalive(api: Api) -> Bytes {
    Bytes::from_static(match api.dialect() {
        Dialect::Openai => b": keepalive\n\n",
        Dialect::Anthropic => b"event: ping\ndata: {\"type\": \"ping\"}\n\n",
    })
}

/// Appends an event. Its data is one line, whatever it was on: a line end would end it.
pub(crate) fn event(stream: &mut String, name: Option<&str>, data: &Value) {
    if let Some(name) = name {
        let _ = writeln!(stream, "event: {name}");
    }
    let _ = write!(stream, "data: {data}\n\n");
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::refusal::Code;

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
        for api in [Api::Chat, Api::Responses, Api::Embeddings, Api::Completions, Api::Other(Dialect::Openai)]
        {
            assert_eq!(blocked(api).0, openai, "{api:?}");
        }
        for api in [Api::Messages, Api::CountTokens, Api::Other(Dialect::Anthropic)] {
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
            assert_eq!(anthropic_type(StatusCode::from_u16(status).unwrap()), kind, "{status}");
        }
    }

    #[test]
    fn each_stream_ends_in_what_its_clients_raise_at() {
        let chat = read(&blocked(Api::Chat).events(Api::Chat, false));
        assert_eq!(chat, [(None, blocked(Api::Chat).0)]);

        let messages = read(&blocked(Api::Messages).events(Api::Messages, false));
        assert_eq!(messages, [(Some("error".to_owned()), blocked(Api::Messages).0)]);

        let responses = read(&blocked(Api::Responses).events(Api::Responses, false));
        let [(error_name, error), (failed_name, failed)] = &responses[..] else { panic!("{responses:?}") };
        assert_eq!((error_name.as_deref(), &error["type"]), (Some("error"), &json!("error")));
        assert_eq!(error["error"], blocked(Api::Responses).0["error"]);
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
        let responses = read(&ErrorBody::of(&gone, Api::Responses).events(Api::Responses, true));
        assert_eq!(responses[1].1["response"]["error"]["code"], "server_error");
    }

    #[test]
    fn the_words_of_an_upstream_stay_on_one_line() {
        let said = "{\n \"type\": \"error\",\n \"error\": {\"type\": \"overloaded_error\", \"message\": \"later\\nplease\"},\n \"request_id\": \"r\"}";
        let error = ErrorBody::read(said.as_bytes()).unwrap();
        let events = read(&error.events(Api::Messages, true));
        assert_eq!(events, [(Some("error".to_owned()), serde_json::from_str(said).unwrap())]);
        for no_error in ["", "[]", "{\"error\": null}", "<html>"] {
            assert_eq!(ErrorBody::read(no_error.as_bytes()), None, "{no_error}");
        }
    }
}

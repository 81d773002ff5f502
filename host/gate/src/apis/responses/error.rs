//! Errors of Responses: OpenAI's, but for the end of a stream.
//!
//! The API documents an `error` event with its members at the top, which the official clients hand
//! on like any other; what they raise at is an `error` member, which the live API sends as well. So
//! both are there. Codex passes that event over, and takes a stream that ends without a terminal
//! event for a broken one, which it asks for again; `response.failed` tells it what happened, and
//! the code `invalid_prompt` that asking again is of no use.

use leafgate_answer::StreamEvent;
use serde_json::{Value, json};

use super::openai;
use crate::apis::dialect::ApiDialect;

/// They claim nobody's requests: OpenAI's do.
pub(super) static RESPONSES: ApiDialect = ApiDialect {
    has_path: |_| false,
    has_headers: |_| false,
    end_stream: |error, again| {
        [event(&error["error"]), failed(&error["error"], again)].map(StreamEvent::typed).into()
    },
    ..openai::OPENAI
};

fn event(error: &Value) -> Value {
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
fn failed(error: &Value, again: bool) -> Value {
    let code = if again { "server_error" } else { "invalid_prompt" };
    json!({
        "type": "response.failed",
        "sequence_number": 1,
        "response": {
            "id": "resp_leafgate",
            "object": "response",
            "created_at": 0,
            "status": "failed",
            "error": { "code": code, "message": error["message"] },
            "incomplete_details": null,
            "output": [],
        },
    })
}

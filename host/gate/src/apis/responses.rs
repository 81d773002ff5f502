//! OpenAI's Responses.

use leafgate_answer::{Api, StreamEvent};
use leafgate_assemble::Counted;
use leafgate_tree::{Document, Format, Leaf};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Endpoint, Wants, openai, text};
use crate::apis::dialect::ApiDialect;
use crate::apis::echo::Echoed;
use crate::session::{Name, NameHints};

/// Bytes of the request's digest in the id of an echo: clients go on from a response by its id, so each
/// needs its own.
const ECHO_ID: usize = 12;

pub(super) static RESPONSES: Endpoint = Endpoint {
    serves: |_, path, _| openai::endpoint(path) == Some("responses"),
    format: Some(Format::OpenaiResponses),
    wants: |_| Wants::Turn,
    answers: Some(Api::Responses),
    seals,
    hints,
    echo: |echo| {
        let digest = base16ct::lower::encode_string(&Sha256::digest(echo.text)[..ECHO_ID]);
        echo.spoken(&format!("resp_{digest}"))
    },
    ..Endpoint::other("responses", &DIALECT)
};

/// What a request to Responses would cost. It holds the same texts, and is answered with a number.
pub(super) static INPUT_TOKENS: Endpoint = Endpoint {
    serves: |_, path, _| openai::endpoint(path) == Some("responses/input_tokens"),
    format: Some(Format::OpenaiResponses),
    wants: |_| Wants::Count(Counted::Flat),
    echo: |echo| {
        let count = json!({ "object": "response.input_tokens", "input_tokens": echo.tokens() });
        Some(Echoed::Json(count))
    },
    ..Endpoint::other("input-tokens", &DIALECT)
};

/// The shorter form of a history, sealed, which comes back with the next turn.
pub(super) static COMPACT: Endpoint = Endpoint {
    serves: |_, path, _| openai::endpoint(path) == Some("responses/compact"),
    format: Some(Format::OpenaiResponses),
    wants: |_| Wants::Data,
    ..Endpoint::other("compact", &DIALECT)
};

/// A stream may show the copy only after the text.
fn seals(request: &Document) -> bool {
    let included = request.member(request.root(), "include");
    let mut included = included.into_iter().flat_map(|list| request.children(list));
    let asks = |leaf: Leaf<'_>| leaf.text().expose() == "reasoning.encrypted_content";
    included.any(|node| request.leaf(node).is_some_and(asks))
}

/// The conversation that OpenAI keeps has an id. A request that only names the response it goes
/// on from begins nowhere; it belongs to the conversation of that response.
fn hints(request: &Document) -> NameHints {
    let previous = || request.member(request.root(), "previous_response_id").and_then(|id| text(request, id));
    let name = conversation(request)
        .map(|id| Name::given("conversation", &id))
        .or_else(|| previous().map(|id| Name::follows(&id)));
    NameHints { name, wide: openai::wide(request) }
}

/// The conversation that OpenAI keeps: its id, or an object that has it.
fn conversation(request: &Document) -> Option<String> {
    let conversation = request.member(request.root(), "conversation")?;
    let id = request.member(conversation, "id").unwrap_or(conversation);
    text(request, id)
}

/// Errors of Responses: OpenAI's, but for the end of a stream.
///
/// The API documents an `error` event with its members at the top, which the official clients hand
/// on like any other; what they raise at is an `error` member, which the live API sends as well. So
/// both are there. Codex passes that event over, and takes a stream that ends without a terminal
/// event for a broken one, which it asks for again; `response.failed` tells it what happened, and
/// the code `invalid_prompt` that asking again is of no use.
///
/// They claim nobody's requests: OpenAI's do.
static DIALECT: ApiDialect = ApiDialect {
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

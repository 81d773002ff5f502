//! OpenAI's Responses.

mod echo;
mod error;

use leafgate_answer::Api as AnswerApi;
use leafgate_assemble::Counted;
use leafgate_tree::{Document, Format, Leaf};

use super::{Conversation, Endpoint, Wants, openai, text};
use crate::dialect::Dialect;
use crate::echo::{Echo, Echoed};
use crate::session::{BodyHints, Name};

pub(crate) struct Responses;

/// What a request to Responses would cost. It holds the same texts, and is answered with a number.
pub(crate) struct InputTokens;

/// The shorter form of a history, sealed, which comes back with the next turn.
pub(crate) struct Compact;

impl Endpoint for Responses {
    fn name(&self) -> &'static str {
        "responses"
    }

    fn serves(&self, path: &str, _: Option<&str>) -> bool {
        openai::endpoint(path) == Some("responses")
    }

    fn format(&self) -> Option<Format> {
        Some(Format::OpenaiResponses)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &error::ResponsesErrors
    }

    fn conversation(&self) -> Option<&'static dyn Conversation> {
        Some(&Responses)
    }

    fn echo(&self, echo: &Echo<'_>) -> Option<Echoed> {
        Some(if echo.streams { Echoed::Events(echo::events(echo)) } else { Echoed::Json(echo::whole(echo)) })
    }
}

impl Endpoint for InputTokens {
    fn name(&self) -> &'static str {
        "input-tokens"
    }

    fn serves(&self, path: &str, _: Option<&str>) -> bool {
        openai::endpoint(path) == Some("responses/input_tokens")
    }

    fn format(&self) -> Option<Format> {
        Some(Format::OpenaiResponses)
    }

    fn wants(&self, _: &str) -> Wants {
        Wants::Count(Counted::Flat)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &error::ResponsesErrors
    }

    fn echo(&self, echo: &Echo<'_>) -> Option<Echoed> {
        Some(Echoed::Json(echo::count(echo)))
    }
}

impl Endpoint for Compact {
    fn name(&self) -> &'static str {
        "compact"
    }

    fn serves(&self, path: &str, _: Option<&str>) -> bool {
        openai::endpoint(path) == Some("responses/compact")
    }

    fn format(&self) -> Option<Format> {
        Some(Format::OpenaiResponses)
    }

    fn wants(&self, _: &str) -> Wants {
        Wants::Data
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &error::ResponsesErrors
    }

    fn echo(&self, _: &Echo<'_>) -> Option<Echoed> {
        None
    }
}

impl Conversation for Responses {
    /// A stream may show the copy only after the text.
    fn seals(&self, request: &Document) -> bool {
        let included = request.member(request.root(), "include");
        let mut included = included.into_iter().flat_map(|list| request.children(list));
        let asks = |leaf: Leaf<'_>| leaf.text().expose() == "reasoning.encrypted_content";
        included.any(|node| request.leaf(node).is_some_and(asks))
    }

    fn answers(&self) -> AnswerApi {
        AnswerApi::Responses
    }

    /// The conversation that OpenAI keeps has an id. A request that only names the response it goes
    /// on from begins nowhere; it belongs to the conversation of that response.
    fn hints(&self, request: &Document) -> BodyHints {
        let previous =
            || request.member(request.root(), "previous_response_id").and_then(|id| text(request, id));
        let name = conversation(request)
            .map(|id| Name::given("conversation", &id))
            .or_else(|| previous().map(|id| Name::follows(&id)));
        BodyHints { name, wide: openai::wide(request) }
    }
}

/// The conversation that OpenAI keeps: its id, or an object that has it.
fn conversation(request: &Document) -> Option<String> {
    let conversation = request.member(request.root(), "conversation")?;
    let id = request.member(conversation, "id").unwrap_or(conversation);
    text(request, id)
}

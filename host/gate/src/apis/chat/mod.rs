//! OpenAI's chat completions, which most other vendors speak too.

pub(super) mod echo;

use leafgate_answer::Api as AnswerApi;
use leafgate_tree::{Document, Format};

use super::{Conversation, Endpoint, openai};
use crate::dialect::Dialect;
use crate::echo::{Echo, Echoed};
use crate::session::BodyHints;

pub(crate) struct Chat;

impl Endpoint for Chat {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn serves(&self, path: &str, _: Option<&str>) -> bool {
        openai::endpoint(path) == Some("chat/completions")
    }

    fn format(&self) -> Option<Format> {
        Some(Format::OpenaiChat)
    }

    fn with_model(&self, path: &str, model: &str) -> Option<String> {
        openai::with_model(path, model)
    }

    fn deployment(&self, path: &str) -> Option<String> {
        openai::model(path)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &openai::Openai
    }

    fn conversation(&self) -> Option<&'static dyn Conversation> {
        Some(&Chat)
    }

    fn echo(&self, echo: &Echo<'_>) -> Option<Echoed> {
        Some(if echo.streams { Echoed::Events(echo::events(echo)) } else { Echoed::Json(echo::whole(echo)) })
    }
}

impl Conversation for Chat {
    fn answers(&self) -> AnswerApi {
        AnswerApi::Chat
    }

    fn hints(&self, request: &Document) -> BodyHints {
        BodyHints { name: None, wide: openai::wide(request) }
    }
}

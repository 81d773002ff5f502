//! OpenAI's text completions, from before there was chat. They belong to no conversation, so
//! nothing is restored in them.

mod echo;

use leafgate_tree::Format;

use super::{Endpoint, Wants, openai};
use crate::dialect::Dialect;
use crate::echo::{Echo, Echoed};

pub(crate) struct Completions;

impl Endpoint for Completions {
    fn name(&self) -> &'static str {
        "completions"
    }

    fn serves(&self, path: &str, _: Option<&str>) -> bool {
        openai::endpoint(path) == Some("completions")
    }

    fn format(&self) -> Option<Format> {
        Some(Format::Generic)
    }

    fn with_model(&self, path: &str, model: &str) -> Option<String> {
        openai::with_model(path, model)
    }

    fn deployment(&self, path: &str) -> Option<String> {
        openai::model(path)
    }

    fn wants(&self, _: &str) -> Wants {
        Wants::Text
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &openai::Openai
    }

    fn echo(&self, echo: &Echo<'_>) -> Option<Echoed> {
        Some(if echo.streams { Echoed::Events(echo::events(echo)) } else { Echoed::Json(echo::whole(echo)) })
    }
}

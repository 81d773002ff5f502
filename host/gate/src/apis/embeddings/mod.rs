//! OpenAI's embeddings. Their answers are numbers.

mod echo;

use leafgate_tree::Format;

use super::{Endpoint, Wants, openai};
use crate::dialect::Dialect;
use crate::echo::{Echo, Echoed};

pub(crate) struct Embeddings;

impl Endpoint for Embeddings {
    fn name(&self) -> &'static str {
        "embeddings"
    }

    fn serves(&self, path: &str, _: Option<&str>) -> bool {
        openai::endpoint(path) == Some("embeddings")
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
        Wants::Data
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &openai::Openai
    }

    fn echo(&self, echo: &Echo<'_>) -> Option<Echoed> {
        Some(Echoed::Json(echo::whole(echo)))
    }
}

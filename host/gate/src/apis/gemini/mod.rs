//! Google's Gemini: `generateContent`, `streamGenerateContent` and `countTokens` ([API
//! reference](https://ai.google.dev/api/generate-content)), under the paths of the Gemini API and
//! of Vertex AI.
//!
//! The path names the model and the method; nothing in a body asks for a stream. A stream comes as
//! events with `alt=sse`, as Google's own clients ask for it, and else as a JSON array that grows:
//! such an answer is restored whole, when it is complete.

mod answer;
mod echo;
mod error;

use leafgate_assemble::Counted;
use leafgate_detect::percent_decoded;
use leafgate_tree::{Document, Format};

use super::{Conversation, Endpoint, Wants, segment};
use crate::dialect::Dialect;
use crate::echo::{Echo, Echoed};
use crate::restore::Reader;
use crate::session::BodyHints;

pub(super) use error::Google;

/// Versions of the API; Vertex AI has `v1` and `v1beta1`.
const ROOTS: [&str; 4] = ["/v1beta/", "/v1/", "/v1alpha/", "/v1beta1/"];

/// What of a body names something wider than a conversation: the content that it shares with
/// others.
const WIDE: [&str; 2] = ["cachedContent", "cached_content"];

/// The methods of a model, as far as the gate knows what their bodies say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gemini {
    /// `generateContent`.
    Whole,
    /// `streamGenerateContent` with `alt=sse`.
    Events,
    /// `streamGenerateContent` without it.
    Array,
    /// `countTokens`.
    Count,
}

impl Gemini {
    /// The method that a path and its query ask for.
    fn asked(path: &str, query: Option<&str>) -> Option<Gemini> {
        let (_, method) = model_and_method(path)?;
        let sse =
            query.is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse" || pair == "$alt=sse"));
        match method {
            "generateContent" => Some(Gemini::Whole),
            "streamGenerateContent" if sse => Some(Gemini::Events),
            "streamGenerateContent" => Some(Gemini::Array),
            "countTokens" => Some(Gemini::Count),
            _ => None,
        }
    }
}

/// The last two names of a path: of a model, and of its method.
fn model_and_method(path: &str) -> Option<(&str, &str)> {
    let (resource, method) = resource(path)?.rsplit_once(':')?;
    let (list, model) = resource.rsplit_once('/')?;
    let list = list.rsplit('/').next()?;
    matches!(list, "models" | "tunedModels").then_some((model, method))
}

/// A path without the version.
fn resource(path: &str) -> Option<&str> {
    ROOTS.iter().find_map(|root| path.strip_prefix(root))
}

impl Endpoint for Gemini {
    fn name(&self) -> &'static str {
        match self {
            Gemini::Whole => "gemini",
            Gemini::Events => "gemini-stream",
            Gemini::Array => "gemini-array",
            Gemini::Count => "gemini-count",
        }
    }

    fn serves(&self, path: &str, query: Option<&str>) -> bool {
        Gemini::asked(path, query) == Some(*self)
    }

    fn format(&self) -> Option<Format> {
        Some(Format::Gemini)
    }

    fn model(&self, path: &str) -> Option<String> {
        let (model, _) = model_and_method(path)?;
        Some(String::from_utf8_lossy(&percent_decoded(model)).into_owned())
    }

    /// An array grows as well.
    fn streams_by_path(&self) -> Option<bool> {
        Some(matches!(self, Gemini::Events | Gemini::Array))
    }

    /// Another model of the same place. Tuned ones have a list of their own.
    fn with_model(&self, path: &str, model: &str) -> Option<String> {
        let (_, method) = model_and_method(path)?;
        let (before, _) = path.rsplit_once(':')?.0.rsplit_once('/')?;
        let before = before.rsplit_once('/')?.0;
        let (list, model) = match model.split_once('/') {
            Some((list @ ("models" | "tunedModels"), model)) => (list, model),
            _ => ("models", model),
        };
        Some(format!("{before}/{list}/{}:{method}", segment(model)))
    }

    /// Vertex AI counts a request as it is answered. The Gemini API refuses a prompt beside the
    /// turns, but in a member that holds all of the request.
    fn wants(&self, path: &str) -> Wants {
        match self {
            Gemini::Count if path.contains("/projects/") => Wants::Count(Counted::Flat),
            Gemini::Count => Wants::Count(Counted::Wrapped { model: self.model(path).unwrap_or_default() }),
            Gemini::Whole | Gemini::Events | Gemini::Array => Wants::Turn,
        }
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &Google
    }

    fn conversation(&self) -> Option<&'static dyn Conversation> {
        match self {
            Gemini::Whole => Some(&Gemini::Whole),
            Gemini::Events => Some(&Gemini::Events),
            Gemini::Array => Some(&Gemini::Array),
            Gemini::Count => None,
        }
    }

    fn echo(&self, echo: &Echo<'_>) -> Option<Echoed> {
        Some(match self {
            Gemini::Whole => Echoed::Json(echo::whole(echo)),
            Gemini::Events => Echoed::Events(echo::events(echo)),
            Gemini::Array => Echoed::Json(echo::array(echo)),
            Gemini::Count => Echoed::Json(echo::count(echo)),
        })
    }
}

impl Conversation for Gemini {
    /// An array is no stream of events: nothing can be added to it while a request waits.
    fn streams(&self, _: &Document) -> bool {
        *self == Gemini::Events
    }

    fn reader(&self, _: &Document) -> Box<dyn Reader> {
        Box::new(answer::ContentReader)
    }

    fn hints(&self, request: &Document) -> BodyHints {
        BodyHints { name: None, wide: super::texts(request, &WIDE) }
    }
}

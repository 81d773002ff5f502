//! Google's Gemini: `generateContent`, `streamGenerateContent` and `countTokens` ([API
//! reference](https://ai.google.dev/api/generate-content)), under the paths of the Gemini API and
//! of Vertex AI; and the same of Gemini Code Assist, which Gemini CLI asks with a login of Google.
//!
//! The path names the model and the method; nothing in a body asks for a stream. A stream comes as
//! events with `alt=sse`, as Google's own clients ask for it, and else as a JSON array that grows:
//! such an answer is restored whole, when it is complete.
//!
//! Code Assist holds a request in the member `request`, beside the model, and an answer in the member
//! `response`; a count is answered as elsewhere. Its other methods are about the user and not about
//! a conversation.

mod echo;
mod error;

use leafgate_answer::Api as AnswerApi;
use leafgate_assemble::Counted;
use leafgate_detect::percent_decoded;
use leafgate_tree::{Document, Format};

use super::{Conversation, Endpoint, Wants, openai, segment};
use crate::dialect::Dialect;
use crate::echo::{Echo, Echoed};
use crate::session::{BodyHints, Name};

pub(super) use error::{CODE_ASSIST, GEMINI};

/// Versions of the API; Vertex AI has `v1` and `v1beta1`.
const ROOTS: [&str; 4] = ["/v1beta/", "/v1/", "/v1alpha/", "/v1beta1/"];

/// The version of Code Assist, whose methods are no model's.
const INTERNAL: &str = "/v1internal";

/// Whose sessions have a name in the body.
const GEMINI_CLI: &str = "gemini-cli";

/// The methods of Google's models, Vertex AI's with them. Below a root that is OpenAI's as well, where
/// models have colons in their names, one of these tells whose path it is.
const METHODS: [&str; 9] = [
    "generateContent",
    "streamGenerateContent",
    "countTokens",
    "embedContent",
    "batchEmbedContents",
    "batchGenerateContent",
    "predict",
    "rawPredict",
    "streamRawPredict",
];

/// What of a body names something wider than a conversation: the content that it shares with
/// others.
const WIDE: [&str; 2] = ["cachedContent", "cached_content"];

/// A method of a model, as far as the gate knows what its bodies say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gemini {
    method: Method,
    /// Whether bodies and answers are those of Code Assist.
    wraps: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
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
    pub(super) const WHOLE: Gemini = Gemini { method: Method::Whole, wraps: false };
    pub(super) const EVENTS: Gemini = Gemini { method: Method::Events, wraps: false };
    pub(super) const ARRAY: Gemini = Gemini { method: Method::Array, wraps: false };
    pub(super) const COUNT: Gemini = Gemini { method: Method::Count, wraps: false };

    /// The same of Code Assist.
    pub(super) const fn wrapped(self) -> Gemini {
        Gemini { wraps: true, ..self }
    }

    /// The method that a path and its query ask for.
    fn asked(path: &str, query: Option<&str>) -> Option<Gemini> {
        let internal = internal_method(path);
        let method = internal.or_else(|| model_and_method(path).map(|(_, method)| method))?;
        let sse =
            query.is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse" || pair == "$alt=sse"));
        let method = match method {
            "generateContent" => Method::Whole,
            "streamGenerateContent" if sse => Method::Events,
            "streamGenerateContent" => Method::Array,
            "countTokens" => Method::Count,
            _ => return None,
        };
        Some(Gemini { method, wraps: internal.is_some() })
    }
}

/// The last two names of a path: of a model, and of its method.
pub(super) fn model_and_method(path: &str) -> Option<(&str, &str)> {
    let (resource, method) = resource(path)?.rsplit_once(':')?;
    let (list, model) = resource.rsplit_once('/')?;
    let list = list.rsplit('/').next()?;
    matches!(list, "models" | "tunedModels").then_some((model, method))
}

/// The method that a path of Google asks for.
pub(super) fn method(path: &str) -> Option<&str> {
    if let Some(internal) = internal_method(path) {
        return Some(internal);
    }
    let (_, method) = resource(path)?.rsplit('/').next()?.rsplit_once(':')?;
    (openai::endpoint(path).is_none() || METHODS.contains(&method)).then_some(method)
}

/// Whether a path is one of Google's.
pub(crate) fn is_googles(path: &str) -> bool {
    resource(path).is_some_and(|_| openai::endpoint(path).is_none() || method(path).is_some())
}

/// A path that asks another model of the same place. Tuned ones have a list of their own.
pub(super) fn with_model(path: &str, model: &str) -> Option<String> {
    let (_, method) = model_and_method(path)?;
    let (before, _) = path.rsplit_once(':')?.0.rsplit_once('/')?;
    let before = before.rsplit_once('/')?.0;
    let (list, model) = match model.split_once('/') {
        Some((list @ ("models" | "tunedModels"), model)) => (list, model),
        _ => ("models", model),
    };
    Some(format!("{before}/{list}/{}:{method}", segment(model)))
}

/// A path without the version.
pub(super) fn resource(path: &str) -> Option<&str> {
    ROOTS.iter().find_map(|root| path.strip_prefix(root))
}

/// The method of Code Assist that a path asks for.
fn internal_method(path: &str) -> Option<&str> {
    path.strip_prefix(INTERNAL)?.strip_prefix(':')
}

/// Whether a path is one of Code Assist.
fn is_internal(path: &str) -> bool {
    path.strip_prefix(INTERNAL).is_some_and(|rest| rest.starts_with([':', '/']))
}

impl Endpoint for Gemini {
    fn name(&self) -> &'static str {
        match (self.method, self.wraps) {
            (Method::Whole, false) => "gemini",
            (Method::Events, false) => "gemini-stream",
            (Method::Array, false) => "gemini-array",
            (Method::Count, false) => "gemini-count",
            (Method::Whole, true) => "code-assist",
            (Method::Events, true) => "code-assist-stream",
            (Method::Array, true) => "code-assist-array",
            (Method::Count, true) => "code-assist-count",
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
        Some(matches!(self.method, Method::Events | Method::Array))
    }

    fn with_model(&self, path: &str, model: &str) -> Option<String> {
        with_model(path, model)
    }

    /// Vertex AI and Code Assist count a request as it is answered. The Gemini API refuses a prompt
    /// beside the turns, but in a member that holds all of the request.
    fn wants(&self, path: &str) -> Wants {
        match self.method {
            Method::Count if self.wraps || path.contains("/projects/") => Wants::Count(Counted::Flat),
            Method::Count => Wants::Count(Counted::Wrapped { model: self.model(path).unwrap_or_default() }),
            Method::Whole | Method::Events | Method::Array => Wants::Turn,
        }
    }

    fn dialect(&self) -> &'static dyn Dialect {
        if self.wraps { &CODE_ASSIST } else { &GEMINI }
    }

    fn conversation(&self) -> Option<&'static dyn Conversation> {
        const TURNS: [&Gemini; 6] = [
            &Gemini::WHOLE,
            &Gemini::EVENTS,
            &Gemini::ARRAY,
            &Gemini::WHOLE.wrapped(),
            &Gemini::EVENTS.wrapped(),
            &Gemini::ARRAY.wrapped(),
        ];
        let turn = TURNS.into_iter().find(|turn| *turn == self)?;
        Some(turn)
    }

    fn echo(&self, echo: &Echo<'_>) -> Option<Echoed> {
        let echo = echo::Spoken { echo, wraps: self.wraps };
        Some(match self.method {
            Method::Whole => Echoed::Json(echo.whole()),
            Method::Events => Echoed::Events(echo.events()),
            Method::Array => Echoed::Json(echo.array()),
            Method::Count => Echoed::Json(echo.count()),
        })
    }
}

impl Conversation for Gemini {
    /// An array is no stream of events: nothing can be added to it while a request waits.
    fn streams(&self, _: &Document) -> bool {
        self.method == Method::Events
    }

    fn answers(&self) -> AnswerApi {
        if self.wraps { AnswerApi::CodeAssist } else { AnswerApi::Gemini }
    }

    /// Gemini CLI names its session in the request that Code Assist is asked.
    fn hints(&self, request: &Document) -> BodyHints {
        let (root, wrapped) = (request.root(), request.member(request.root(), "request"));
        let session = wrapped.and_then(|wrapped| request.member(wrapped, "session_id"));
        let session = session.and_then(|session| super::text(request, session));
        BodyHints {
            name: session.map(|session| Name::given(GEMINI_CLI, &session)),
            wide: super::texts(request, wrapped.unwrap_or(root), &WIDE),
        }
    }
}

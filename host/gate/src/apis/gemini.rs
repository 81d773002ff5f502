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

use http::StatusCode;
use leafgate_answer::{Api, StreamEvent};
use leafgate_api::gemini::{CACHED, Spelled};
use leafgate_assemble::Counted;
use leafgate_tree::{Document, Format};
use percent_encoding::percent_decode_str;
use serde_json::json;

use super::{Endpoint, Wants, openai, segment};
use crate::apis::dialect::ApiDialect;
use crate::apis::echo::Echoed;
use crate::session::{Name, NameHints};

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
const WIDE: Spelled = CACHED;

/// What the built-in upstream calls its answers.
const ECHO: &str = "echo";

/// The methods of a model, as far as the gate knows what their bodies say, of Gemini and of Code Assist.
pub(super) static ENDPOINTS: [[Endpoint; 4]; 2] = [
    methods(["gemini", "gemini-stream", "gemini-array", "gemini-count"], Api::Gemini, &GEMINI),
    methods(
        ["code-assist", "code-assist-stream", "code-assist-array", "code-assist-count"],
        Api::CodeAssist,
        &CODE_ASSIST,
    ),
];

/// `generateContent`, `streamGenerateContent` with `alt=sse` and without, and `countTokens`.
const fn methods(names: [&'static str; 4], answers: Api, dialect: &'static ApiDialect) -> [Endpoint; 4] {
    let [whole, events, array, count] = names;
    [
        row(whole, answers, dialect),
        Endpoint {
            streams_by_path: Some(true),
            streams: |_| true,
            echo: |echo| {
                let pieces = echo.pieces(ECHO)?.into_iter().map(StreamEvent::plain);
                Some(Echoed::Events(pieces.collect()))
            },
            ..row(events, answers, dialect)
        },
        Endpoint {
            streams_by_path: Some(true),
            // A stream without `alt=sse`.
            echo: |echo| Some(Echoed::Json(echo.pieces(ECHO)?.into())),
            ..row(array, answers, dialect)
        },
        Endpoint {
            answers: None,
            // Vertex AI and Code Assist count a request as it is answered. The Gemini API refuses a prompt beside the turns,
            // but in a member that holds all of the request.
            wants: |path| match is_internal(path) || path.contains("/projects/") {
                true => Wants::Count(Counted::Flat),
                false => Wants::Count(Counted::Wrapped { model: model(path).unwrap_or_default() }),
            },
            echo: |echo| Some(Echoed::Json(json!({ "totalTokens": echo.tokens() }))),
            ..row(count, answers, dialect)
        },
    ]
}

const fn row(name: &'static str, answers: Api, dialect: &'static ApiDialect) -> Endpoint {
    Endpoint {
        serves: |this, path, query| asked(path, query).is_some_and(|endpoint| endpoint.name == this.name),
        format: Some(Format::Gemini),
        model,
        // The path says it.
        streams_by_path: Some(false),
        with_model,
        wants: |_| Wants::Turn,
        answers: Some(answers),
        // An array is no stream of events: nothing can be added to it while a request waits.
        streams: |_| false,
        hints,
        echo: |echo| echo.spoken(ECHO),
        ..Endpoint::other(name, dialect)
    }
}

/// Gemini CLI names its session in the request that Code Assist is asked.
fn hints(request: &Document) -> NameHints {
    let (root, wrapped) = (request.root(), request.member(request.root(), "request"));
    let session = wrapped.and_then(|wrapped| request.member(wrapped, "session_id"));
    let session = session.and_then(|session| super::text(request, session));
    NameHints {
        name: session.map(|session| Name::given(GEMINI_CLI, &session)),
        wide: super::texts(request, wrapped.unwrap_or(root), &WIDE),
    }
}

/// The endpoint of the method that a path and its query ask for.
fn asked(path: &str, query: Option<&str>) -> Option<&'static Endpoint> {
    let internal = internal_method(path);
    let method = internal.or_else(|| model_and_method(path).map(|(_, method)| method))?;
    let sse = query.is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse" || pair == "$alt=sse"));
    let at = match method {
        "generateContent" => 0,
        "streamGenerateContent" if sse => 1,
        "streamGenerateContent" => 2,
        "countTokens" => 3,
        _ => return None,
    };
    Some(&ENDPOINTS[usize::from(internal.is_some())][at])
}

/// The model that a path names, decoded.
fn model(path: &str) -> Option<String> {
    let (model, _) = model_and_method(path)?;
    Some(percent_decode_str(model).decode_utf8_lossy().into_owned())
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

/// What Google's clients send with every request.
const HEADERS: [&str; 2] = ["x-goog-api-key", "x-goog-api-client"];

/// Google's errors ([google.rpc.Status](https://cloud.google.com/apis/design/errors)), of whole
/// answers and in streams alike, whether it serves Gemini or Code Assist.
pub(super) static GEMINI: ApiDialect = ApiDialect {
    is_rooted: |path| resource(path).is_some(),
    has_path: is_googles,
    has_headers: |headers| HEADERS.iter().any(|name| headers.contains_key(*name)),
    other: &OTHER,
    provider: "gcp.gemini",
    error: |refusal| {
        json!({ "error": {
            "code": refusal.status.as_u16(),
            "message": refusal.message,
            "status": status_word(refusal.status),
            "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": refusal.code.as_str().to_ascii_uppercase(),
                "domain": "leafgate",
            }],
        }})
    },
    end_stream: |error, _| vec![StreamEvent::plain(json!({ "error": error["error"] }))],
    // An answer of no candidates: Google's clients take a comment for a piece of JSON.
    keepalive: b"data: {\"candidates\": []}\n\n",
};

static OTHER: Endpoint = Endpoint::other("google", &GEMINI);

pub(super) static CODE_ASSIST: ApiDialect = ApiDialect {
    is_rooted: is_internal,
    has_path: is_internal,
    has_headers: |_| false,
    other: &OF_CODE_ASSIST,
    keepalive: b"data: {\"response\": {\"candidates\": []}}\n\n",
    ..GEMINI
};

static OF_CODE_ASSIST: Endpoint = Endpoint::other("code-assist-other", &CODE_ASSIST);

/// The [code](https://cloud.google.com/apis/design/errors#handling_errors) that goes with a status.
fn status_word(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "UNAUTHENTICATED",
        StatusCode::FORBIDDEN => "PERMISSION_DENIED",
        StatusCode::NOT_FOUND => "NOT_FOUND",
        StatusCode::TOO_MANY_REQUESTS => "RESOURCE_EXHAUSTED",
        StatusCode::INTERNAL_SERVER_ERROR => "INTERNAL",
        StatusCode::GATEWAY_TIMEOUT => "DEADLINE_EXCEEDED",
        status if status.is_server_error() => "UNAVAILABLE",
        _ => "INVALID_ARGUMENT",
    }
}

//! The APIs that the gate speaks, told apart by path.
//!
//! One file an API: its paths, what a body is read as, the words of its errors, where an answer
//! holds text for people, what names a conversation, and how the built-in upstream answers. The
//! drivers ([`crate::restore`], [`echo`], [`dialect`], [`crate::session`],
//! [`crate::route`]) ask the rows of this file and know no API by name. To add one, write its
//! file and name it in [`endpoints`], and in [`DIALECTS`] where its errors have a form of their
//! own.
//!
//! A path decides, in the one spelling that [`leafgate_policy::endpoint`] gives it. Where it is
//! nobody's, the shape of the body does ([`Api::of_body`]): so a conversation is judged, restored,
//! recorded and answered as what it is, wherever it goes. What an answer holds, [`Wants`] says; of
//! what nobody knows, rules about answers refuse the request.

mod beside;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod copilot;
pub(crate) mod dialect;
pub(crate) mod echo;
pub(crate) mod embeddings;
pub(crate) mod gemini;
pub(crate) mod messages;
mod openai;
pub(crate) mod responses;

use http::{HeaderMap, Method, Uri};
use leafgate_answer::Api as AnswerApi;
use leafgate_assemble::Counted;
use leafgate_policy::endpoint;
use leafgate_tree::{Document, Format, NodeId, ValueType};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::apis::dialect::ApiDialect;
use crate::apis::echo::{Echo, Echoed};
use crate::session::NameHints;
use crate::target::UpstreamKind;

/// The endpoints of OpenAI and Anthropic.
static OF_OPENAI_AND_ANTHROPIC: [&Endpoint; 8] = [
    &chat::CHAT,
    &responses::RESPONSES,
    &responses::INPUT_TOKENS,
    &responses::COMPACT,
    &messages::MESSAGES,
    &messages::COUNT_TOKENS,
    &embeddings::EMBEDDINGS,
    &completions::COMPLETIONS,
];

/// Every endpoint whose bodies have a shape that the gate knows.
fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    OF_OPENAI_AND_ANTHROPIC.into_iter().chain(gemini::ENDPOINTS.as_flattened())
}

/// Those that only an upstream of Copilot's has.
static OF_COPILOT: [&Endpoint; 2] = [&copilot::BESIDE, &copilot::AGENTS];

/// Whose errors an API's errors look like. The first that claims a request answers it; the last
/// claims all.
static DIALECTS: [&ApiDialect; 4] =
    [&messages::ANTHROPIC, &gemini::CODE_ASSIST, &gemini::GEMINI, &openai::OPENAI];

/// An API, or a part of one that has bodies of its own.
pub(crate) struct Endpoint {
    /// Its name in our own words.
    pub(crate) name: &'static str,
    /// Whether a POST to this path and query asks it.
    serves: fn(&Endpoint, &str, Option<&str>) -> bool,
    /// What a body is read as; `None` where its shape must tell.
    pub(crate) format: Option<Format>,
    /// The model that a path names, decoded; `None` where bodies name it.
    model: fn(&str) -> Option<String>,
    /// Whether an answer comes bit by bit, where the path says it; `None` where bodies do.
    pub(crate) streams_by_path: Option<bool>,
    /// A path that asks another model; `None` where no path names it.
    with_model: fn(&str, &str) -> Option<String>,
    /// The model that a path names and a body may repeat: then the body's word is what rules know.
    deployment: fn(&str) -> Option<String>,
    /// What a request to this path wants to have.
    wants: fn(&str) -> Wants,
    /// Whether a body that looks like a conversation is one, whatever else is asked for here.
    is_talked_to: bool,
    /// The words of its errors.
    pub(crate) dialect: &'static ApiDialect,
    /// Whose form its answers have, where they are the model's turns in a conversation: tokens are restored in them, and they
    /// may come as streams. `None` for others.
    pub(crate) answers: Option<AnswerApi>,
    /// Whether a request in a conversation asks for a stream of events.
    streams: fn(&Document) -> bool,
    /// Whether the reasoning of an answer to a request comes with an encrypted copy.
    pub(crate) seals: fn(&Document) -> bool,
    /// What a body says about the conversation it belongs to.
    pub(crate) hints: fn(&Document) -> NameHints,
    /// What the built-in upstream answers; `None` for the body itself.
    pub(crate) echo: fn(&Echo<'_>) -> Option<Echoed>,
}

impl Endpoint {
    /// Requests that no endpoint serves, under a dialect's roots or anywhere; what differs from these is
    /// what a row says.
    const fn other(name: &'static str, dialect: &'static ApiDialect) -> Endpoint {
        Endpoint {
            name,
            serves: |_, _, _| false,
            format: None,
            model: |_| None,
            streams_by_path: None,
            with_model: |_, _| None,
            deployment: |_| None,
            wants: beside::wants,
            is_talked_to: false,
            dialect,
            answers: None,
            streams: Document::streams,
            seals: |_| false,
            hints: |_| NameHints::default(),
            echo: |_| None,
        }
    }

    fn serves(&self, path: &str, query: Option<&str>) -> bool {
        (self.serves)(self, path, query)
    }

    /// Whether a body that looks like a conversation is one: its path does not say what it is.
    fn follows_shape(&self, path: &str) -> bool {
        self.format.is_none() && (self.is_talked_to || (self.wants)(path) == Wants::Other)
    }
}

/// What a request wants to have, which is what its answer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// The model's turn in a conversation.
    Turn,
    /// Words of the model beside any conversation, and no calls of tools.
    Text,
    /// Turns that are answered later and elsewhere.
    Later,
    /// What a turn would cost.
    Count(Counted),
    /// Something that holds no word of a model: vectors, lists, files.
    Data,
    /// Nobody knows.
    Other,
}

/// The API that a request asks.
#[derive(Clone, Copy, derive_more::Debug, derive_more::Deref)]
#[debug("{}", self.name)]
pub(crate) struct Api {
    #[deref(forward)]
    endpoint: &'static Endpoint,
    /// Whether the shape of the body told it, and no path: its answer may be another one's then.
    pub(crate) is_by_shape: bool,
}

impl Api {
    /// The API that a request asks of an upstream. An unknown path is nobody's, and is answered in
    /// the words that its path or header tells.
    pub(crate) fn of(kind: UpstreamKind, method: &Method, uri: &Uri, headers: &HeaderMap) -> Api {
        let (path, query) = (endpoint(uri.path()), uri.query());
        let own = endpoints_of(kind).iter().find(|endpoint| endpoint.serves(&path, query));
        let asked = || endpoints().find(|endpoint| method == Method::POST && endpoint.serves(&path, query));
        own.copied().or_else(asked).map_or_else(|| Api::nobodys(&path, headers), Api::at)
    }

    fn at(endpoint: &'static Endpoint) -> Api {
        Api { endpoint, is_by_shape: false }
    }

    fn nobodys(path: &str, headers: &HeaderMap) -> Api {
        let by_path = DIALECTS.iter().find(|dialect| (dialect.has_path)(path));
        let claims = by_path.or_else(|| DIALECTS.iter().find(|dialect| (dialect.has_headers)(headers)));
        Api::at(claims.unwrap_or(&DIALECTS[DIALECTS.len() - 1]).other)
    }

    /// The API that a request asks whose body has been read: where its path is nobody's, the one
    /// whose shape the body has.
    pub(crate) fn of_body(self, path: &str, format: Format) -> Api {
        if !self.endpoint.follows_shape(&endpoint(path)) {
            return self;
        }
        Api::conversation_in(format).map_or(self, |api| Api { is_by_shape: true, ..api })
    }

    /// What a request to this path wants to have.
    pub(crate) fn wants(self, path: &str) -> Wants {
        (self.endpoint.wants)(&endpoint(path))
    }

    /// The model that a path names, decoded; `None` where bodies name it.
    pub(crate) fn model(self, path: &str) -> Option<String> {
        (self.endpoint.model)(&endpoint(path))
    }

    /// The model that a path names and a body may repeat.
    pub(crate) fn deployment(self, path: &str) -> Option<String> {
        (self.endpoint.deployment)(&endpoint(path))
    }

    /// A path that asks another model; `None` where no path names it.
    pub(crate) fn with_model(self, path: &str, model: &str) -> Option<String> {
        (self.endpoint.with_model)(&endpoint(path), model)
    }

    /// Path and query that ask another model; `None` where no path names it.
    pub(crate) fn target_of_model(self, target: &str, model: &str) -> Option<String> {
        let Some((path, query)) = target.split_once('?') else { return self.with_model(target, model) };
        self.with_model(path, model).map(|path| format!("{path}?{query}"))
    }

    /// Every API, and last what paths of nobody are taken for.
    pub(crate) fn every() -> impl Iterator<Item = Api> {
        let others = DIALECTS.into_iter().map(|dialect| dialect.other);
        endpoints().chain(OF_COPILOT).chain(others).map(Api::at)
    }

    /// The API of this name.
    pub(crate) fn named(name: &str) -> Option<Api> {
        Api::every().find(|api| api.name == name)
    }

    /// The API of conversations whose requests have a format, whatever path they came by.
    pub(crate) fn conversation_in(format: Format) -> Option<Api> {
        endpoints().find(|api| api.format == Some(format) && api.answers.is_some()).map(Api::at)
    }

    /// Whether the answer is the model's turn in a conversation.
    pub(crate) fn converses(self) -> bool {
        self.answers.is_some()
    }

    /// Whether a request's answer comes as a stream of events.
    pub(crate) fn streams(self, request: &Document) -> bool {
        self.converses() && (self.streams)(request)
    }
}

impl PartialEq for Api {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What an upstream has beside [`endpoints`], whatever the method.
fn endpoints_of(kind: UpstreamKind) -> &'static [&'static Endpoint] {
    match kind {
        UpstreamKind::Models => &[],
        UpstreamKind::Copilot => &OF_COPILOT,
    }
}

/// Whether a path of an upstream is one that requests with a body may go to.
pub(crate) fn is_served(kind: UpstreamKind, path: &str) -> bool {
    let path = endpoint(path);
    DIALECTS.iter().any(|dialect| (dialect.is_rooted)(&path))
        || endpoints_of(kind).iter().any(|endpoint| endpoint.serves(&path, None))
}

/// Returns whether a request asks for several choices or candidates.
pub(crate) fn asks_for_several(request: &Document) -> bool {
    let is_beyond = |object: NodeId, key: &str| {
        let leaf = request.member(object, key).and_then(|node| request.leaf(node));
        leaf.is_some_and(|leaf| !["0", "1", "null"].contains(&leaf.text().expose()))
    };
    let mut configs = configs(request);
    is_beyond(request.root(), "n")
        || configs
            .any(|config| ["candidateCount", "candidate_count"].iter().any(|key| is_beyond(config, key)))
}

/// Returns what requests of Gemini say about the answer that they want.
pub(crate) fn configs(request: &Document) -> impl Iterator<Item = NodeId> + '_ {
    let objects = [Some(request.root()), request.member(request.root(), "request")].into_iter().flatten();
    let keys = leafgate_api::gemini::GENERATION;
    objects.flat_map(move |object| keys.into_iter().filter_map(move |key| request.member(object, key)))
}

/// What a segment of a path holds otherwise than as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// A name as one segment of a path.
pub(crate) fn segment(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}

/// The texts of these members of an object, in their order; empty where there is none.
fn texts(request: &Document, object: NodeId, keys: &[&str]) -> Vec<String> {
    let member = |key: &&str| request.member(object, key).and_then(|node| text(request, node));
    keys.iter().map(|key| member(key).unwrap_or_default()).collect()
}

/// A leaf's text, where it has one.
fn text(request: &Document, node: NodeId) -> Option<String> {
    let leaf = request.leaf(node).filter(|leaf| leaf.value_type() == ValueType::Text)?;
    let text = leaf.text().into_cow();
    (!text.is_empty()).then(|| text.into_owned())
}

/// The endpoint of this name, for tests.
#[cfg(test)]
pub(crate) fn named(name: &str) -> Api {
    Api::named(name).unwrap()
}

#[cfg(test)]
mod tests;

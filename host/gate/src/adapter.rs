//! Between a client and an upstream that speaks another API: the request is written anew before anything judges it, and the answer
//! after all that was decided about it.
//!
//! Rules, people and the log see the request that leaves. What gets lost on the way is told in a header of the answer and in the line
//! of the log.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue,
};
use http::{Response, StatusCode, Uri, request};
use http_body::Frame;
use http_body_util::BodyExt as _;
use leafgate_adapt::{PathTerms, StreamAdapter, adapt, adapt_answer};
use leafgate_answer::{AnswerLimits, Api as AnswerApi, Head, answer_events};
use leafgate_tree::Document;
use serde_json::Value;

use crate::answer::gather_whole;
use crate::apis::dialect::{self, ErrorBody};
use crate::apis::{Api, Wants, segment};
use crate::begun;
use crate::blocked::unreadable;
use crate::exchange::Exchange;
use crate::shared::Shared;
use crate::stages::Came;
use leafgate_http::{Code, Content, Refusal, Reservation, content, media};

/// Says between which APIs an answer's request was adapted, and what got lost.
const ADAPTED: HeaderName = HeaderName::from_static("leafgate-adapted");

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const GOOGLE_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// The version of Messages that requests are written in.
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// How the fields begin that one provider alone reads.
const OF_PROVIDERS: [&str; 3] = ["anthropic-", "openai-", "x-goog-"];

/// What writes the answer to an adapted request anew.
pub(crate) struct Adapter {
    shared: Arc<Shared>,
    /// The API that the client asked.
    client: Api,
    /// Whose form the answer is to have.
    to: AnswerApi,
    /// Whose form it has.
    from: AnswerApi,
    /// The model that is asked.
    model: String,
    streams: bool,
    /// Whether a stream of chat completions is to end with what it cost.
    usage: bool,
    /// Between which APIs, and what is lost: fixed words.
    told: Arc<str>,
}

impl Exchange {
    /// Writes a request anew where its upstream speaks another API, and gives what does so with its answer.
    pub(crate) async fn adapt(self, came: Came) -> Result<(Exchange, Came, Option<Adapter>), Refusal> {
        let Some(to) = self.lane.speaks else { return Ok((self, came, None)) };
        let from = self.api.format.and_then(|format| Some((format, format.api()?)));
        let Some((format, from)) = from.filter(|(_, from)| *from != to) else {
            return Ok((self, came, None));
        };
        if self.api.wants(self.parts.uri.path()) != Wants::Turn {
            let message = format!("this upstream speaks {to}: of {from} it answers conversations alone");
            return Err(Refusal::new(StatusCode::NOT_FOUND, Code::Unsupported, message));
        }
        let shared = Arc::clone(&self.shared);
        let is_large = came.is_large();
        let work = move || {
            let mut came = came;
            let (client, parts) = (self.api, &self.parts);
            let body = came.decoded(self.caps())?;
            // Before anything is made of it: the adapted form is about as large.
            came.reservation.cover(came.body.len() + body.len())?;
            let document = Document::parse(body, format, &self.limits.document).map_err(unreadable)?;
            let named = || client.model(parts.uri.path());
            let model = document.model().map(String::from).or_else(named).unwrap_or_default();
            let model = model.strip_prefix("models/").unwrap_or(&model).to_owned();
            let streams = client.streams(&document);
            let path = PathTerms { model: &model, streams };
            let adapted = adapt(&document, from, to, path).map_err(|error| {
                Refusal::malformed(format!("this request cannot be adapted from {from} to {to}: {error}"))
            })?;
            came.reservation.cover(document.source().len() + adapted.body.len())?;
            let lost = match adapted.losses.is_empty() {
                true => String::new(),
                false => format!("; without {}", adapted.losses.join(", ")),
            };
            let head = head(parts, to, &model, streams)?;
            let came = Came::new(adapted.body.into(), Vec::new(), came.reservation);
            let told: Arc<str> = format!("{from} to {to}{lost}").into();
            self.progress.goes(|marks| marks.adapted = Some(Arc::clone(&told)));
            let (shared, usage) = (Arc::clone(&self.shared), adapted.usage);
            let adapter = Adapter { shared, client, to: from, from: to, model, streams, usage, told };
            Ok((self.with_head(head), came, Some(adapter)))
        };
        shared.work(is_large, false, work).await?
    }
}

/// Returns the head of a request as the other API has it: its path, and the client's credential where that API looks for it.
fn head(
    parts: &request::Parts,
    to: AnswerApi,
    model: &str,
    streams: bool,
) -> Result<request::Parts, Refusal> {
    let path = match to {
        AnswerApi::Chat => "/v1/chat/completions".to_owned(),
        AnswerApi::Responses => "/v1/responses".to_owned(),
        AnswerApi::Messages => "/v1/messages".to_owned(),
        AnswerApi::Gemini | AnswerApi::CodeAssist => {
            let method = if streams { "streamGenerateContent?alt=sse" } else { "generateContent" };
            format!("/v1beta/models/{}:{method}", segment(model))
        }
    };
    let mut made = parts.clone();
    made.uri =
        path.parse::<Uri>().map_err(|_| Refusal::malformed("the model is no name that a path can hold"))?;
    let ours = [CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ACCEPT_ENCODING, AUTHORIZATION, API_KEY];
    let is_ours = |name: &HeaderName| {
        ours.contains(name) || OF_PROVIDERS.iter().any(|provider| name.as_str().starts_with(provider))
    };
    let kept = parts.headers.iter().filter(|(name, _)| !is_ours(name));
    made.headers = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    made.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    made.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if to == AnswerApi::Messages {
        made.headers.insert(ANTHROPIC_VERSION, VERSION);
    }
    if let Some(key) = credential(&parts.headers) {
        let (name, value) = match to {
            AnswerApi::Chat | AnswerApi::Responses => (AUTHORIZATION, [b"Bearer ", key].concat()),
            AnswerApi::Messages => (API_KEY, key.to_vec()),
            AnswerApi::Gemini | AnswerApi::CodeAssist => (GOOGLE_KEY, key.to_vec()),
        };
        if let Ok(mut value) = HeaderValue::from_bytes(&value) {
            value.set_sensitive(true);
            made.headers.insert(name, value);
        }
    }
    Ok(made)
}

/// The credential of a client, wherever its API has it.
fn credential(headers: &HeaderMap) -> Option<&[u8]> {
    let bearer = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    let bearer = bearer.map(|value| value.strip_prefix(b"Bearer ").unwrap_or(value));
    let key = || [API_KEY, GOOGLE_KEY].iter().find_map(|name| headers.get(name)).map(HeaderValue::as_bytes);
    bearer.or_else(key)
}

impl Adapter {
    /// Writes an answer as the client's API has it.
    pub(crate) async fn answer(
        adapter: Option<Self>,
        answer: Response<Content>,
    ) -> Result<Response<Content>, Refusal> {
        match adapter {
            Some(adapter) => adapter.write(answer).await,
            None => Ok(answer),
        }
    }

    async fn write(self, answer: Response<Content>) -> Result<Response<Content>, Refusal> {
        let (mut parts, body) = answer.into_parts();
        parts.headers.remove(CONTENT_LENGTH);
        if let Ok(told) = HeaderValue::from_str(&self.told) {
            parts.headers.insert(ADAPTED, told);
        }
        let limits = AnswerLimits { bytes: self.shared.limits.answer, ..AnswerLimits::default() };
        let body = match () {
            () if !parts.status.is_success() => {
                parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                content::full(self.error(parts.status, body).await)
            }
            () if media::is_event_stream(&parts.headers) && self.streams => {
                let head = head_of_answer(&self.model)?;
                let adapter = StreamAdapter::new(self.from, self.to, head, self.usage, limits);
                let reservation = self.shared.answers.reserve();
                self.events(StreamState { body, adapter, reservation, bytes: 0 })
            }
            () if media::is_json(&parts.headers) => {
                let whole = self.whole(body, limits).await?;
                if self.streams {
                    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
                }
                whole
            }
            () => return Err(Refusal::upstream("the upstream answered in a form that cannot be adapted")),
        };
        Ok(Response::from_parts(parts, body))
    }

    /// An upstream's error, in the words of the client's API.
    async fn error(&self, status: StatusCode, body: Content) -> Bytes {
        let said = begun::error_body(body).await.and_then(|error| ErrorBody::read(&error));
        let said = said.as_ref().and_then(ErrorBody::message);
        let otherwise = || format!("the upstream answered with status {}", status.as_u16());
        let refusal = Refusal::new(status, Code::Upstream, said.map_or_else(otherwise, str::to_owned));
        ErrorBody::of(&refusal, self.client).json()
    }

    async fn whole(&self, body: Content, limits: AnswerLimits) -> Result<Content, Refusal> {
        let mut reservation = self.shared.answers.reserve();
        let bytes = gather_whole(body, limits.bytes, 2, &mut reservation).await?;
        let adapted = adapt_answer(self.from, self.to, &bytes, limits)
            .map_err(|fault| Refusal::upstream(format!("{fault}: it cannot be adapted")))?;
        if !self.streams {
            return Ok(content::full(adapted.into()));
        }
        let events = serde_json::from_slice::<Value>(&adapted).ok();
        let events = events.and_then(|whole| answer_events(self.to, &whole, self.usage)).unwrap_or_default();
        Ok(content::full(events.iter().map(ToString::to_string).collect::<String>().into()))
    }

    fn events(self, state: StreamState) -> Content {
        let client = self.client;
        content::unfold(Some(state), move |state| async move {
            let (events, state) = state?.next(client).await;
            Some((Ok(Frame::data(events)), state))
        })
    }
}

/// A stream that is adapted as it passes.
struct StreamState {
    body: Content,
    adapter: StreamAdapter,
    /// Its part of what all answers may take.
    reservation: Reservation,
    bytes: usize,
}

impl StreamState {
    /// The next events; a sign of life for bytes that make none. `None` behind the last.
    async fn next(mut self, client: Api) -> (Bytes, Option<StreamState>) {
        let ends = |message: String| (dialect::ending(&Refusal::upstream(message), client), None);
        match self.body.frame().await {
            Some(Ok(frame)) => {
                let data = frame.into_data().unwrap_or_default();
                self.bytes += data.len();
                if self.reservation.cover(self.bytes).is_err() {
                    return ends(
                        "the gate keeps too many answers at the moment (limit `answers`)".to_owned(),
                    );
                }
                match self.adapter.push(&data) {
                    Ok(events) if events.is_empty() => (dialect::keepalive(client), Some(self)),
                    Ok(events) => (events.into(), Some(self)),
                    Err(error) => ends(format!("the upstream's answer cannot be adapted: {error}")),
                }
            }
            Some(Err(_)) => ends("the upstream broke off within its answer".to_owned()),
            None => match self.adapter.finish() {
                Ok(events) => (events.into(), None),
                Err(fault) => ends(format!("{fault}: it cannot be adapted")),
            },
        }
    }
}

/// What the client of a stream reads of its answer before anything of it is known.
fn head_of_answer(model: &str) -> Result<Head, Refusal> {
    let mut id = [0; 8];
    getrandom::fill(&mut id).map_err(|_| Refusal::internal("the system gives no random bytes"))?;
    let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let id = format!("adapted_{:016x}", u64::from_le_bytes(id));
    Ok(Head { id: id.into(), model: model.into(), created })
}

//! Which requests are for the team, and what its base URL does not lead to.
//!
//! A client whose base URL names the team takes all that comes from there for the team's, and what
//! a provider keeps (files, answers, voices) is nothing that a team knows of. So what passes
//! without the team is a list, and everything else is refused.

use std::sync::Arc;

use http::{Method, StatusCode};
use leafgate_tree::{Document, Format, Limits};
use memchr::memmem;
use serde_json::Value;

use super::live::PROGRESS;
use super::wire::{self, AnsweredCalls, Body, TeamWire};
use crate::apis::{Api, Wants};
use crate::base::RequestBase;
use crate::blocked::unreadable;
use crate::exchange::Exchange;
use crate::stages::Came;
use leafgate_http::{Code, Refusal, Reservation};

/// A model of this name is the team at its entry, and with a name behind it at that agent.
const MODEL: &str = "agents";

/// How the paths end of requests that no endpoint serves: for vectors of texts, which no agent is asked
/// for, and for many turns at once, which the team refuses in words of its own.
const BESIDE: [&str; 4] = [":embedContent", ":batchEmbedContents", "/batches", ":batchGenerateContent"];

/// A request to a team as it came.
pub(crate) struct TeamRequest {
    pub(super) wire: &'static TeamWire,
    pub(super) document: Arc<Document>,
    pub(super) body: Arc<Body>,
    pub(super) answered: AnsweredCalls,
    /// Its part of the bytes that the gate may hold.
    pub(super) reservation: Reservation,
    /// The agent to begin at, where one was named.
    pub(super) at: Option<Arc<str>>,
    /// Whether the model of the request names an agent, and no model.
    pub(super) by_model: bool,
}

/// Whether a request is for the team.
pub(crate) enum ForTeam {
    Yes(Box<TeamRequest>),
    No(Came),
}

impl Exchange {
    /// Tells whether a request is for the team: by its base URL, or by a model that names it. One
    /// for words of a model in an API that teams do not speak is refused, and one for something
    /// else, as embeddings, never is.
    pub(crate) async fn for_team(&self, base: &RequestBase, came: Came) -> Result<ForTeam, Refusal> {
        let (api, path) = (self.api, self.parts.uri.path());
        let wants = api.wants(path);
        let Some(format) = api.format.filter(|_| !matches!(wants, Wants::Data | Wants::Other)) else {
            return match (base, wants) {
                (RequestBase::Team(_), Wants::Text | Wants::Later) => Err(not_spoken(api)),
                _ => Ok(ForTeam::No(came)),
            };
        };
        let wire = wire::of(format).filter(|_| wants != Wants::Text);
        let by_path = || api.model(path).is_some_and(|model| named(&model).is_some());
        let by_base = match base {
            // Its client would take the model's words for the team's.
            RequestBase::Team(_) if wire.is_none() => return Err(not_spoken(api)),
            RequestBase::Team(at) => Some(at.clone()),
            RequestBase::Profile(_) => return Ok(ForTeam::No(came)),
            // A gate without a team looks at nothing.
            RequestBase::Plain if self.teams.team().is_none() => return Ok(ForTeam::No(came)),
            RequestBase::Plain if wire.is_none() && by_path() => return Err(not_spoken(api)),
            RequestBase::Plain if !may_name_team(&came) && !may_be_told(&came) => {
                return Ok(ForTeam::No(came));
            }
            RequestBase::Plain => None,
        };
        let _turn = match by_base {
            Some(_) => Some(self.teams.turn().await),
            None => None,
        };
        let (is_large, exchange) = (came.is_large(), self.clone());
        self.work(is_large, false, move || exchange.read_for_team(format, wire, by_base, came)).await?
    }

    /// `wire` where teams speak the API; `by_base` is the agent that the base URL names, where that names the team.
    fn read_for_team(
        &self,
        format: Format,
        wire: Option<&'static TeamWire>,
        by_base: Option<Option<Arc<str>>>,
        mut came: Came,
    ) -> Result<ForTeam, Refusal> {
        let body = came.decoded(self.caps())?;
        came.reservation.cover(came.body.len() + body.len())?;
        let read = |body| Document::parse(body, format, &Limits::default()).map_err(unreadable);
        let document = read(body)?;
        let by_model = document.model().and_then(|model| named(&model));
        let (at, is_by_model) = match (by_base, by_model) {
            (Some(at), by_model) => (at.or_else(|| by_model.clone().flatten()), by_model.is_some()),
            (None, Some(at)) => (at, true),
            (None, None) => return Ok(ForTeam::No(untold(came, format))),
        };
        let Some(wire) = wire else { return Err(not_spoken(self.api)) };
        let mut json: Body = serde_json::from_slice(document.source())
            .map_err(|_| Refusal::malformed("the request body is no JSON object that can be read"))?;
        let document = match wire::forget_progress(wire, &mut json) {
            true => read(Value::Object(json.clone()).to_string().into())?,
            false => document,
        };
        Ok(ForTeam::Yes(Box::new(TeamRequest {
            wire,
            answered: wire::answered(&document),
            document: Arc::new(document),
            body: Arc::new(json),
            reservation: came.reservation,
            at,
            by_model: is_by_model,
        })))
    }

    /// Refuses a request to the team's base URL that is neither for the team nor harmless without it.
    pub(crate) fn refuse_elsewhere(&self, base: &RequestBase) -> Result<(), Refusal> {
        match base {
            RequestBase::Team(_) if !self.passes_without_team() => {}
            RequestBase::Team(_) | RequestBase::Profile(_) | RequestBase::Plain => return Ok(()),
        }
        let message = format!(
            "a team answers chat completions, Responses and Messages, and knows nothing of {} {}: send that \
             without the team, to the same path without `/agents`",
            self.parts.method, self.path
        );
        Err(Refusal::new(StatusCode::NOT_FOUND, Code::Unsupported, message))
    }

    fn passes_without_team(&self) -> bool {
        let path = self.parts.uri.path();
        match self.parts.method {
            Method::GET | Method::HEAD => path.split('/').nth(2) == Some("models"),
            // What a team answers, and what it refuses in words of its own.
            Method::POST => self.api.format.is_some() || BESIDE.iter().any(|end| path.ends_with(end)),
            _ => false,
        }
    }
}

fn not_spoken(api: Api) -> Refusal {
    let api = match api.format {
        Some(format) if format != Format::Generic => format.name(),
        Some(_) => api.name,
        None => "requests of many turns at once",
    };
    Refusal::malformed(format!(
        "a team answers chat completions, Responses and Messages, and not {api}: have the client speak one of \
         those (/agents/v1/chat/completions), or ask the model without the team, at the same path without \
         `/agents`"
    ))
}

/// The agent that a model names, if it names the team at all.
fn named(model: &str) -> Option<Option<Arc<str>>> {
    match model.strip_prefix(MODEL)? {
        "" => Some(None),
        rest => rest.strip_prefix('/').map(|name| Some(name.into())),
    }
}

/// Takes what a team told out of a conversation that goes on without the team: a provider refuses
/// reasoning that it has not signed. A body that came compressed stays as it is.
fn untold(came: Came, format: Format) -> Came {
    let Some(wire) = wire::of(format).filter(|_| came.codings.is_empty()) else { return came };
    let Ok(mut body) = serde_json::from_slice::<Body>(&came.body) else { return came };
    match wire::forget_progress(wire, &mut body) {
        true => Came { body: Value::Object(body).to_string().into(), ..came },
        false => came,
    }
}

/// Whether a body could have words in it that a team told.
fn may_be_told(came: &Came) -> bool {
    memmem::find(&came.body, PROGRESS.as_bytes()).is_some()
}

/// Whether a body could name the team as its model. One that came compressed is read for it.
fn may_name_team(came: &Came) -> bool {
    !came.codings.is_empty() || memmem::find(&came.body, b"\"agents").is_some()
}

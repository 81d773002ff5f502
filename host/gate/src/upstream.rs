//! A model endpoint behind a gate. It is fixed when the gate starts, so the gate is no open relay; redirects are not followed.

mod connect;
mod idle;

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use leafgate_admin::shown_url;
use tokio::time::timeout;

use self::connect::{Connector, Unreachable, chain, connector};
use self::idle::WithoutSilence;
use crate::config::GateLimits;
use crate::outgoing::{Outgoing, OutgoingBody};
use crate::reach::{Reach, ReachError};
use crate::target::{BaseUrl, UpstreamTarget};
use leafgate_http::{Code, Content, Refusal, content};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SendError {
    #[error("the request cannot be addressed to the upstream")]
    Address,
    #[error("{0}")]
    Connect(Unreachable, #[source] Error),
    #[error("it sent no answer within {} s (limit `answer-head`)", limit.as_secs_f64())]
    Silent { limit: Duration },
    #[error("it broke off before it answered")]
    Broken(#[source] Error),
}

/// A client of one endpoint, with its pool of connections.
pub(crate) struct Upstream {
    /// Its URL, as people are shown it.
    name: String,
    base: BaseUrl,
    client: Client<Connector, Either<Full<Bytes>, Incoming>>,
    answer_head: Duration,
    answer_idle: Duration,
}

impl Upstream {
    /// Returns a client of a target; `None` for the built-in one, which needs none.
    pub(crate) fn new(
        target: &UpstreamTarget,
        reach: &Reach,
        limits: &GateLimits,
    ) -> Result<Option<Self>, ReachError> {
        let UpstreamTarget::Http(base) = target else { return Ok(None) };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            // An idle connection is a file as well; no more of them than clients could use.
            .pool_max_idle_per_host(limits.connections)
            .build(connector(base, reach, limits.connect)?);
        let (name, base) = (shown_url(&target.to_string()), base.clone());
        let (answer_head, answer_idle) = (limits.answer_head, limits.answer_idle);
        Ok(Some(Upstream { name, base, client, answer_head, answer_idle }))
    }

    /// Sends a request and returns the answer as soon as its header is there.
    pub(crate) async fn send(&self, outgoing: Outgoing) -> Result<Response<Content>, Refusal> {
        self.answer(outgoing).await.map_err(|error| self.unanswered(&error))
    }

    /// What the client reads names the upstream and the cause; what the network said is for the operator.
    fn unanswered(&self, error: &SendError) -> Refusal {
        let (status, lacks) = match error {
            SendError::Address | SendError::Connect(..) => (StatusCode::BAD_GATEWAY, "cannot reach"),
            SendError::Broken(_) => (StatusCode::BAD_GATEWAY, "got no answer from"),
            SendError::Silent { .. } => (StatusCode::GATEWAY_TIMEOUT, "got no answer from"),
        };
        let message = format!("this gate {lacks} its upstream {}: {error}", self.name);
        Refusal { operator_message: Some(chain(error)), ..Refusal::new(status, Code::Upstream, message) }
    }

    async fn answer(&self, outgoing: Outgoing) -> Result<Response<Content>, SendError> {
        let uri = self.base.join(&outgoing.path).map_err(|_| SendError::Address)?;
        // Kept until there is an answer: the body is in memory until then.
        let _reservation = outgoing.reservation;
        let mut request = Request::new(match outgoing.body {
            OutgoingBody::None => Either::Left(Full::default()),
            OutgoingBody::Whole(body) => Either::Left(Full::new(body)),
            OutgoingBody::Coming(body) => Either::Right(body),
        });
        *request.method_mut() = outgoing.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = outgoing.headers;
        let answer = timeout(self.answer_head, self.client.request(request)).await;
        let answer = answer.map_err(|_| SendError::Silent { limit: self.answer_head })?;
        let answer = answer.map_err(|error| match error.is_connect() {
            true => SendError::Connect(Unreachable::of(&error), error),
            false => SendError::Broken(error),
        })?;
        Ok(answer.map(|body| content::stream(WithoutSilence::new(body, self.answer_idle))))
    }
}

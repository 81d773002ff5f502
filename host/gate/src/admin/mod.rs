//! The admin API: what a person's prompt and the command line ask of a running gate.
//!
//! It has a listener of its own, and every call passes [`auth`] first: host, origin and token, before a byte of a body is read.
//! What its calls are, the words of `leafgate-admin` say; this is their only server.
//!
//! Nothing that it answers, logs or refuses holds a value that redaction took away, but for the answer of [`reveal`]: views are made of drafts, whose present text is
//! redacted and whose received text is masked. What a person writes is redacted by the turn's own generation before it is kept.

mod answer;
mod auth;
mod calls;
mod except;
mod outline;
mod reveal;
mod saved;
mod tokens;
mod view;
mod whole;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode, request};
use http_body::Body;
use hyper::body::Incoming;

use crate::content::{self, Content};
use crate::gate::Shared;
use crate::metrics::Counted;
use crate::{body, guard, metrics};

pub use auth::{AdminToken, AdminTokenError};

/// Where programs that keep others running ask whether the gate answers. It says nothing else, so it needs no token.
const HEALTH: &str = "/health";

/// Where Prometheus asks. It holds numbers and names of rules and detectors, and so needs no token
/// either: a scraper would have to read a new one at every start.
const METRICS: &str = "/metrics";

/// Answers one call, whatever happens.
pub(crate) async fn respond(
    gate: &Shared,
    token: &AdminToken,
    request: Request<Incoming>,
    local: std::net::SocketAddr,
) -> Response<Content> {
    let (parts, mut body) = request.into_parts();
    if reads(&parts, HEALTH) && guard::check(&parts, local).is_ok() {
        let mut response = Response::new(content::full(Bytes::new()));
        *response.status_mut() = StatusCode::NO_CONTENT;
        return response;
    }
    if reads(&parts, METRICS) && guard::check(&parts, local).is_ok() {
        let page = gate.metrics.text(&Counted {
            status: &gate.status(),
            agents: &gate.turns.subagents(),
            tokens: gate.sessions.tokens(),
            memo: gate.policy.serving().load().memo_counts(),
            saved: gate.turns.saved_counts(),
            preview_limit: gate.turns.preview_limit(),
        });
        let mut response = Response::new(content::full(page.into()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(metrics::MEDIA_TYPE));
        return response;
    }
    let answered = match auth::check(&parts, token, local) {
        Ok(()) => calls::answer(gate, &parts, &mut body).await,
        Err(failure) => Err(failure),
    };
    match answered {
        Ok(response) => response,
        Err(failure) => {
            if !body.is_end_stream() {
                body::drain(body, calls::bounds(gate)).await;
            }
            failure.into_response()
        }
    }
}

fn reads(parts: &request::Parts, path: &str) -> bool {
    parts.uri.path() == path && matches!(parts.method, Method::GET | Method::HEAD)
}

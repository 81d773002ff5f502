//! The admin API: what a person's prompt and the command line ask of a running gate.
//!
//! It has a listener of its own, and every call passes [`auth`] first: host, origin and token, before a byte of a body is read.
//! What its calls are, the words of `leafgate-admin` say; this is their only server.
//!
//! Nothing that it answers, logs or refuses holds a value that redaction took away: views are made of drafts, whose present text is
//! redacted and whose received text is masked. What a person writes is redacted by the turn's own generation before it is kept.

mod answer;
mod auth;
mod calls;
mod compose;
mod outline;
mod saved;
mod view;
mod whole;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, request};
use http_body::Body;
use hyper::body::Incoming;

use crate::content::{self, Content};
use crate::gate::Shared;
use crate::{body, guard};

pub use auth::{AdminToken, AdminTokenError};

/// Where programs that keep others running ask whether the gate answers. It says nothing else, so it needs no token.
const HEALTH: &str = "/health";

/// Answers one call, whatever happens.
pub(crate) async fn respond(
    gate: &Shared,
    token: &AdminToken,
    request: Request<Incoming>,
    local: std::net::SocketAddr,
) -> Response<Content> {
    let (parts, mut body) = request.into_parts();
    if is_health(&parts) && guard::check(&parts, local).is_ok() {
        let mut response = Response::new(content::full(Bytes::new()));
        *response.status_mut() = StatusCode::NO_CONTENT;
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

fn is_health(parts: &request::Parts) -> bool {
    parts.uri.path() == HEALTH && matches!(parts.method, Method::GET | Method::HEAD)
}

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
pub(crate) mod open;
mod outline;
mod reveal;
mod saved;
mod tokens;
mod view;
mod whole;

use std::net::SocketAddr;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;

use crate::shared::Shared;
use leafgate_http::{Content, body};

pub use auth::{AdminToken, AdminTokenError};
pub use view::request_diff;

/// Answers one call, whatever happens.
pub(crate) async fn respond(
    gate: &Shared,
    token: &AdminToken,
    request: Request<Incoming>,
    local: SocketAddr,
) -> Response<Content> {
    let (parts, mut body) = request.into_parts();
    if let Some(answer) = open::answer(gate, &parts, local) {
        return answer;
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

//! What is asked without a token, since it has no content and a scraper would have to read a new token at
//! every start: whether the gate lives, whether it takes requests, and its metrics. Web pages are refused
//! like everywhere.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Method, Response, StatusCode, request};
use leafgate_admin::{ErrorCode, Status};

use super::answer::{self, CallFailure};
use crate::metrics::{self, Counted};
use crate::shared::Shared;
use leafgate_http::{Content, content, guard};

/// Where programs that keep others running ask whether the process lives, and whether it takes requests.
const HEALTH: &str = "/healthz";
const READY: &str = "/readyz";

/// Where Prometheus asks. It holds numbers and names of rules and detectors.
const METRICS: &str = "/metrics";

const PLAIN: &str = "text/plain; charset=utf-8";

/// Answers a call that needs no token; `None` for one that does, or that may not be made.
pub(super) fn answer(gate: &Shared, parts: &request::Parts, local: SocketAddr) -> Option<Response<Content>> {
    let reads = matches!(parts.method, Method::GET | Method::HEAD) && guard::check(parts, local).is_ok();
    let said = |status, text: &'static str| {
        let mut response = answer::kept_by_nobody(content::full(Bytes::from_static(text.as_bytes())), PLAIN);
        *response.status_mut() = status;
        response
    };
    match parts.uri.path() {
        HEALTH if reads => Some(said(StatusCode::OK, "ok\n")),
        READY if reads => Some(match hindrance(&gate.status(), gate.hub.is_closed()) {
            None => said(StatusCode::OK, "ok\n"),
            Some(why) => said(StatusCode::SERVICE_UNAVAILABLE, why),
        }),
        METRICS if reads => {
            let page = content::full(page(gate).into());
            Some(answer::kept_by_nobody(page, metrics::MEDIA_TYPE))
        }
        _ => None,
    }
}

/// Answers one call of a listener that has nothing else.
pub(crate) fn respond(gate: &Shared, parts: &request::Parts, local: SocketAddr) -> Response<Content> {
    let refused = || match guard::check(parts, local) {
        Ok(()) => CallFailure::new(ErrorCode::NotFound, "only /metrics, /healthz and /readyz are read here"),
        Err(refusal) => refusal.into(),
    };
    answer(gate, parts, local).unwrap_or_else(|| refused().into_response())
}

/// Returns why no request should be sent to a gate. Its policy was loaded before it began to listen.
fn hindrance(status: &Status, stops: bool) -> Option<&'static str> {
    let lacks_log = status.store.as_ref().is_some_and(|store| store.required && store.failing.is_some());
    if stops {
        Some("it stops\n")
    } else if status.listen.is_empty() {
        Some("it does not serve yet\n")
    } else if lacks_log {
        Some("the log that is required cannot be written\n")
    } else {
        None
    }
}

fn page(gate: &Shared) -> String {
    gate.counters.text(&Counted {
        status: &gate.status(),
        agents: &gate.turns.subagents(),
        tokens: gate.sessions.tokens(),
        memo: gate.policy.load().memo_counts(),
        saved: gate.turns.saved.counts(),
        preview_limit: gate.turns.saved.settings().preview_limit,
    })
}

#[cfg(test)]
mod tests {
    use leafgate_admin::StoreStatus;

    use super::*;

    #[test]
    fn a_gate_is_ready_while_it_serves_and_can_write_the_log_that_it_must() {
        let of = |listen: &str, required, failing: Option<&str>, stops| {
            let store =
                StoreStatus { required, failing: failing.map(str::to_owned), ..StoreStatus::default() };
            let status = Status { listen: listen.to_owned(), store: Some(store), ..Status::default() };
            hindrance(&status, stops).is_none()
        };
        assert!(of("http://127.0.0.1:1", true, None, false));
        assert!(of("http://127.0.0.1:1", false, Some("the disk is full"), false));
        assert!(!of("http://127.0.0.1:1", true, Some("the disk is full"), false));
        assert!(!of("http://127.0.0.1:1", true, None, true));
        assert!(!of("", true, None, false));
    }
}

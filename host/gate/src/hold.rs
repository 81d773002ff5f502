//! A paused request from its client's side: its connection is held open until somebody decides.
//!
//! Nothing is sent to the client while it waits, since an error can have a status only as long as no answer was begun. A client that
//! asked for a stream gets one after a silent grace period ([`crate::begun`]). Other clients are held silently up to the deadline that
//! every turn has.

use bytes::Bytes;
use http::{Response, StatusCode, request};
use leafgate_desk::{Destination, Digest, Dismissal};
use leafgate_record::Approval;
use std::sync::Arc;

use tokio::time::timeout;

use crate::apis::Api;
use crate::begun;
use crate::flow::{Delivered, Flow};
use crate::gate::Shared;
use crate::log::{RequestLog, RequestLogProgress};
use crate::outgoing::{Passed, Received};
use crate::pending::{Decision, Dismissed, Release, Waiter};
use crate::recording::recorded_edits;
use crate::restore::Restoring;
use crate::ruled::Ruling;
use crate::upstreams::Lane;
use leafgate_http::content::Content;
use leafgate_http::in_place::INLINE_BODY;
use leafgate_http::refusal::{Code, Manner, Refusal};

/// A request that waits, and what leaves for it depends on.
pub(crate) struct Held {
    pub(crate) waiter: Waiter,
    pub(crate) received: Received,
    /// The body without its codings.
    pub(crate) source: Bytes,
    /// Whether its client asked for a stream of events.
    pub(crate) streams: bool,
    /// Which API it asks.
    pub(crate) api: Api,
    /// The model that is asked instead of the one that its path names.
    pub(crate) other_model: Option<Arc<str>>,
    /// How its answer is restored.
    pub(crate) restoring: Option<Restoring>,
    /// What its answer is judged by, where it is.
    pub(crate) ruling: Option<Arc<Ruling>>,
    /// What makes lesser forms of it, where a profile made it.
    pub(crate) flow: Option<Box<Flow>>,
    /// How a cancel is answered, where it is no error to the client.
    pub(crate) manner: Option<Box<Manner>>,
}

impl Shared {
    /// Holds a request's connection until its turn is decided, then sends what a person saw the same way as any other.
    pub(crate) async fn hold(
        self: &Arc<Self>,
        lane: &Arc<Lane>,
        parts: &request::Parts,
        mut held: Held,
        request_log: &mut RequestLog,
    ) -> Result<Response<Content>, Refusal> {
        request_log.paused(&held.waiter.guard().generation);
        let decision = if held.streams {
            match timeout(self.limits.silence, held.waiter.decision()).await {
                Ok(decision) => decision,
                Err(_) => return Ok(self.begin_stream(lane, parts.clone(), held, request_log.progress())),
            }
        } else {
            held.waiter.decision().await
        };
        let passed = self.release(held, decision, &request_log.progress()).await?;
        match self.deliver(lane, parts, passed, false, &request_log.progress()).await? {
            Delivered::Answered(answer) => Ok(answer),
            Delivered::Waits(held) => Box::pin(self.hold(lane, parts, *held, request_log)).await,
        }
    }

    /// Begins the stream of a client whose silent grace period is over. What goes wrong from now on is an event of the stream.
    fn begin_stream(
        self: &Arc<Self>,
        lane: &Arc<Lane>,
        parts: request::Parts,
        held: Held,
        progress: Arc<RequestLogProgress>,
    ) -> Response<Content> {
        let (shared, lane) = (Arc::clone(self), Arc::clone(lane));
        let api = held.api;
        let answer = async move {
            let answer = shared.answer_begun(&lane, &parts, held, &progress).await;
            answer.inspect_err(|refusal| shared.refused(refusal, &progress))
        };
        begun::begin(answer, api, self.limits.keepalive)
    }

    /// The answer of a turn whose stream has begun.
    pub(crate) async fn answer_begun(
        self: &Arc<Self>,
        lane: &Lane,
        parts: &request::Parts,
        mut held: Held,
        progress: &Arc<RequestLogProgress>,
    ) -> Result<Response<Content>, Refusal> {
        loop {
            let decision = held.waiter.decision().await;
            let passed = self.release(held, decision, progress).await?;
            match self.deliver(lane, parts, passed, true, progress).await? {
                Delivered::Answered(answer) => return Ok(answer),
                Delivered::Waits(again) => held = *again,
            }
        }
    }

    /// Returns what leaves after a decision. Its digest is taken again, which for a large body is work for elsewhere.
    pub(crate) async fn release(
        &self,
        mut held: Held,
        decision: Decision,
        progress: &RequestLogProgress,
    ) -> Result<Passed, Refusal> {
        if let Decision::Send(release) = &decision {
            progress.made(release.edits, release.redactions);
            let to = held.waiter.destination().clone();
            let approval = Approval { to, digest: release.digest, by: release.by };
            progress.approved(approval, || recorded_edits(&release.draft, &held.waiter.guard().recall));
            // The desk has forgotten the turn. A person let it go, so it leaves whatever room there is.
            let reservation = held.received.reservation.get_or_insert_with(|| self.bodies.reserve());
            reservation.cover_as_possible(held.received.body.len() + release.body.len());
        }
        if held.source.len() <= INLINE_BODY {
            return held.settle(decision);
        }
        self.on_blocking_pool(move || held.settle(decision)).await?
    }
}

impl Held {
    /// Returns what leaves after a decision.
    fn settle(self, decision: Decision) -> Result<Passed, Refusal> {
        let release = match decision {
            Decision::Send(release) => release,
            Decision::Dismissed(dismissed) => return Err(refusal(&dismissed, self.manner)),
        };
        check(self.waiter.destination(), &release)?;
        let flow = self.flow.map(|mut flow| {
            flow.lessened.approved = true;
            flow
        });
        Ok(Passed {
            flow,
            ruling: self.ruling,
            other_model: self.other_model,
            ..self.received.passed(&self.source, release.body, self.restoring)
        })
    }
}

/// Shown is sent: the desk took the digest when the bytes were made, and it is taken again of what is about to leave, under the
/// method, path and header of the connection that gets the answer.
pub(crate) fn check(to: &Destination, release: &Release) -> Result<(), Refusal> {
    if Digest::of(to, &release.body) == release.digest {
        return Ok(());
    }
    Err(Refusal::internal("what would leave is not what was shown, so the request did not leave"))
}

/// 400 in any case: SDKs retry most others, and the same request would only wait again. What was cancelled may be answered in this
/// manner; what nobody decided about is an error all the same.
pub(crate) fn refusal(dismissed: &Dismissed, manner: Option<Box<Manner>>) -> Refusal {
    let code = match dismissed.dismissal {
        Dismissal::TimedOut { .. } => Code::TimedOut,
        Dismissal::Replaced => Code::Replaced,
        Dismissal::NoRoom(_) => Code::Blocked,
        _ => Code::Cancelled,
    };
    let manner = manner.filter(|_| code == Code::Cancelled);
    Refusal::new(StatusCode::BAD_REQUEST, code, message(dismissed)).in_manner(manner)
}

/// Says who held the request, for which rules, and what became of it.
fn message(dismissed: &Dismissed) -> String {
    let Dismissed { dismissal, holds } = dismissed;
    let mut rules: Vec<_> = holds.iter().map(|held| format!("`{}`", held.hold.rule)).collect();
    rules.dedup();
    match &rules[..] {
        [] => format!("held by this gate: {dismissal}"),
        [rule] => format!("held by this gate (rule {rule}): {dismissal}"),
        rules => format!("held by this gate (rules {}): {dismissal}", rules.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use leafgate_admin::HoldState;
    use leafgate_desk::{CancelReason, Tick, TurnHold};
    use leafgate_policy::{Cause, Hold};
    use leafgate_tree::{Document, Draft, Format, Limits};

    use super::*;

    fn held(rule: &str) -> TurnHold {
        let hold = Hold::new(rule.into(), Cause::Rule, String::new());
        TurnHold { hold, state: HoldState::Open, asked: Tick::default() }
    }

    #[test]
    fn a_dismissal_names_the_gate_the_rules_and_the_time_that_they_give() {
        let said = |dismissal, holds: Vec<TurnHold>| message(&Dismissed { dismissal, holds });
        let timed_out = Dismissal::TimedOut { limit: Duration::from_millis(6500) };
        assert_eq!(
            said(timed_out, vec![held("production")]),
            "held by this gate (rule `production`): nobody decided about this request within 6.5 s, so it was not sent."
        );
        let words = said(timed_out, vec![held("a"), held("a"), held("b")]);
        assert!(words.starts_with("held by this gate (rules `a`, `b`): "), "{words}");
        let stopped = said(Dismissal::Cancelled(CancelReason::GateStopped), Vec::new());
        assert_eq!(stopped, format!("held by this gate: {}", CancelReason::GateStopped.message()));
    }

    // S0-115
    #[test]
    fn invariant_4_other_bytes_or_another_place_than_shown_do_not_leave() {
        let to = |method: &str, path: &str| Destination {
            upstream: "main".into(),
            method: method.into(),
            path: path.into(),
            options: "".into(),
        };
        let digest = Digest::of(&to("POST", "/v1/a"), b"shown");
        let document = Document::parse("{}".into(), Format::Generic, &Limits::default()).unwrap();
        let draft = Arc::new(Draft::new(Arc::new(document)));
        let release = |body| Release {
            body: Bytes::from_static(body),
            digest,
            edits: 0,
            redactions: 0,
            draft: Arc::clone(&draft),
            by: "user",
        };
        assert!(check(&to("POST", "/v1/a"), &release(b"shown")).is_ok());
        for (to, body) in [
            (to("POST", "/v1/a"), &b"other"[..]),
            (to("POST", "/v1/b"), b"shown"),
            (to("DELETE", "/v1/a"), b"shown"),
        ] {
            assert_eq!(check(&to, &release(body)).unwrap_err().code(), Code::Internal);
        }
    }
}

//! A paused request from its client's side: its connection is held open until somebody decides.
//!
//! Nothing is sent to the client while it waits, since an error can have a status only as long as no answer was begun. A client that
//! asked for a stream gets one after a silent grace period ([`crate::begun`]). Other clients are held silently up to the deadline that
//! every turn has.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode, request};
use leafgate_desk::{Destination, Digest, Dismissal, TurnHold};
use leafgate_policy::OnTimeout;
use tokio::time::timeout;

use crate::apis::Api;
use crate::begun;
use crate::content::Content;
use crate::gate::{INLINE_BODY, Shared};
use crate::log::{Course, Entry};
use crate::outgoing::{Outgoing, Passed, Received};
use crate::pending::{Decision, Dismissed, Release, Waiter};
use crate::refusal::{Code, Refusal};
use crate::restore::Restoring;

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
    /// How its answer is restored.
    pub(crate) restoring: Option<Restoring>,
}

impl Shared {
    /// Holds a request's connection until its turn is decided, then sends what a person saw the same way as any other.
    pub(crate) async fn hold(
        self: &Arc<Self>,
        parts: &request::Parts,
        mut held: Held,
        entry: &mut Entry,
    ) -> Result<Response<Content>, Refusal> {
        entry.paused(&held.waiter.guard().generation);
        let decision = if held.streams {
            match timeout(self.limits.silence, held.waiter.decision()).await {
                Ok(decision) => decision,
                Err(_) => return Ok(self.begin_stream(parts.clone(), held, entry.course())),
            }
        } else {
            held.waiter.decision().await
        };
        let passed = self.release(held, decision, &entry.course()).await?;
        self.forward(Outgoing::with_body(parts, passed), &entry.course()).await
    }

    /// Begins the stream of a client whose silent grace period is over. What goes wrong from now on is an event of the stream.
    fn begin_stream(
        self: &Arc<Self>,
        parts: request::Parts,
        mut held: Held,
        course: Arc<Course>,
    ) -> Response<Content> {
        let shared = Arc::clone(self);
        let api = held.api;
        let answer = async move {
            let decision = held.waiter.decision().await;
            let answer = match shared.release(held, decision, &course).await {
                Ok(passed) => shared.forward(Outgoing::for_begun_stream(&parts, passed), &course).await,
                Err(refusal) => Err(refusal),
            };
            answer.inspect_err(|refusal| shared.refused(refusal, &course))
        };
        begun::begin(answer, api, self.limits.keepalive)
    }

    /// Returns what leaves after a decision. Its digest is taken again, which for a large body is work for elsewhere.
    async fn release(&self, held: Held, decision: Decision, course: &Course) -> Result<Passed, Refusal> {
        if let Decision::Send(release) = &decision {
            course.made(release.edits, release.redactions);
        }
        let waits = self.limits.desk.timeout;
        if held.source.len() <= INLINE_BODY {
            return held.settle(decision, waits);
        }
        self.aside(move || held.settle(decision, waits)).await?
    }
}

impl Held {
    /// Returns what leaves after a decision. `waits` is how long a turn waits whose rules name no time.
    fn settle(self, decision: Decision, waits: Duration) -> Result<Passed, Refusal> {
        let release = match decision {
            Decision::Send(release) => release,
            Decision::Dismissed(dismissed) => return Err(refusal(&dismissed, waits)),
        };
        check(self.waiter.destination(), &release)?;
        Ok(self.received.passed(&self.source, release.body, self.restoring))
    }
}

/// Shown is sent: the desk took the digest when the bytes were made, and it is taken again of what is about to leave, under the
/// method, path and header of the connection that gets the answer.
fn check(to: &Destination, release: &Release) -> Result<(), Refusal> {
    if Digest::of(to, &release.body) == release.digest {
        return Ok(());
    }
    Err(Refusal::internal("what would leave is not what was shown, so the request did not leave"))
}

/// 400 in any case: SDKs retry most others, and the same request would only wait again.
fn refusal(dismissed: &Dismissed, waits: Duration) -> Refusal {
    let code = match dismissed.dismissal {
        Dismissal::TimedOut { .. } => Code::TimedOut,
        Dismissal::Replaced => Code::Replaced,
        Dismissal::NoRoom(_) => Code::Blocked,
        _ => Code::Cancelled,
    };
    Refusal::new(StatusCode::BAD_REQUEST, code, message(dismissed, waits))
}

/// Says who held the request, why, and what became of it.
fn message(dismissed: &Dismissed, waits: Duration) -> String {
    let Dismissed { dismissal, holds } = dismissed;
    let mut rules: Vec<_> = holds.iter().map(|held| format!("`{}`", held.hold.rule)).collect();
    rules.dedup();
    let held = match &rules[..] {
        [] => "held by this gate".to_owned(),
        [rule] => format!("held by this gate (rule {rule})"),
        rules => format!("held by this gate (rules {})", rules.join(", ")),
    };
    match dismissal {
        Dismissal::TimedOut { .. } => {
            let seconds = allowed(holds, waits).as_secs_f64();
            format!("{held}: nobody decided about this request within {seconds} s, so it was not sent.")
        }
        dismissal => format!("{held}: {dismissal}"),
    }
}

/// Returns how long a turn may wait by the rules that ended it. It may have queued before that, so this is not the time since it came.
fn allowed(holds: &[TurnHold], waits: Duration) -> Duration {
    let ends = |then| {
        holds.iter().filter(move |held| held.hold.on_timeout == then).map(|held| {
            let timeout = held.hold.timeout.unwrap_or(waits);
            (held.asked.after(timeout), timeout)
        })
    };
    let end = ends(OnTimeout::Cancel).min().or_else(|| ends(OnTimeout::Resume).max());
    end.map_or(waits, |(_, timeout)| timeout)
}

#[cfg(test)]
mod tests {
    use leafgate_desk::{CancelReason, HoldState, Tick};
    use leafgate_policy::{Cause, Hold};

    use super::*;

    fn held(rule: &str, seconds: Option<u64>, on_timeout: OnTimeout) -> TurnHold {
        let asks = Hold::new(rule.into(), Cause::Rule, String::new());
        let hold = Hold { timeout: seconds.map(Duration::from_secs), on_timeout, ..asks };
        TurnHold { hold, state: HoldState::Open, asked: Tick::default() }
    }

    #[test]
    fn a_dismissal_names_the_gate_the_rules_and_the_time_that_they_give() {
        use OnTimeout::{Cancel, Resume};
        let said = |dismissal, holds: Vec<TurnHold>| {
            message(&Dismissed { dismissal, holds }, Duration::from_secs(300))
        };
        // It waited for longer, because it was queued behind another one.
        let timed_out = Dismissal::TimedOut { limit: Duration::from_secs(11) };
        assert_eq!(
            said(timed_out, vec![held("production", Some(6), Cancel)]),
            "held by this gate (rule `production`): nobody decided about this request within 6 s, so it was not sent."
        );
        let both = vec![held("a", Some(2), Resume), held("b", Some(9), Cancel)];
        let words = said(timed_out, both);
        assert!(words.contains("(rules `a`, `b`)") && words.contains("within 9 s"), "{words}");
        assert!(said(timed_out, vec![held("a", None, Cancel)]).contains("within 300 s"));
        assert_eq!(
            said(
                Dismissal::Cancelled(CancelReason::User),
                vec![held("a", None, Cancel), held("a", None, Cancel)]
            ),
            "held by this gate (rule `a`): Request canceled before sending."
        );
        let stopping = said(Dismissal::Cancelled(CancelReason::GateStopped), Vec::new());
        assert!(stopping.contains("the gate is stopping"), "{stopping}");
    }

    #[test]
    fn invariant_4_other_bytes_or_another_place_than_shown_do_not_leave() {
        let to = |method: &str, path: &str| Destination {
            upstream: "main".into(),
            method: method.into(),
            path: path.into(),
            options: "".into(),
        };
        let digest = Digest::of(&to("POST", "/v1/a"), b"shown");
        let release = |body| Release { body: Bytes::from_static(body), digest, edits: 0, redactions: 0 };
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

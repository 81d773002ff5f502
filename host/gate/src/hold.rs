//! A paused request from its client's side: its connection is held open until somebody decides.
//!
//! Nothing is sent to the client while it waits, since an error can have a status only as long as no answer was begun. A client that
//! asked for a stream gets one after a silent grace period ([`crate::begun`]). Other clients are held silently up to the deadline that
//! every turn has.

use std::ops::ControlFlow;
use std::sync::Arc;

use http::{Response, request};
use leafgate_record::RecordedApproval;
use tokio::time::timeout;

use crate::begun;
use crate::blocked::{NOT_ELSEWHERE, blocked};
use crate::exchange::Exchange;
use crate::pending::{Decision, check_release};
use crate::recording::recorded_edits;
use crate::stages::{HeldRequest, Passed, RequestOutcome};
use leafgate_http::{Content, INLINE_BODY, Refusal};

impl Exchange {
    /// Takes a judged request to its answer: where it waits, what a person saw is sent the same way as any other. `is_begun` says
    /// that the stream of its client has begun.
    pub(crate) async fn settle(
        self,
        mut outcome: RequestOutcome,
        is_begun: bool,
    ) -> Result<Response<Content>, Refusal> {
        loop {
            let passed = match outcome {
                RequestOutcome::Pass(passed) => passed,
                RequestOutcome::Wait(mut held) => {
                    let Some(decision) = self.decision(&mut held, is_begun).await else {
                        return Ok(self.begin_stream(held));
                    };
                    self.release(held, decision).await?
                }
                RequestOutcome::Route(route, _) => return Err(blocked(&route.refused(NOT_ELSEWHERE))),
            };
            match self.deliver(passed, is_begun).await? {
                ControlFlow::Break(answer) => return Ok(answer),
                ControlFlow::Continue(next) => outcome = next,
            }
        }
    }

    /// Holds a request's connection until its turn is decided; `None` where the silent grace period of its stream is over before.
    async fn decision(&self, held: &mut HeldRequest, is_begun: bool) -> Option<Decision> {
        if is_begun {
            return Some(held.waiter.decision().await);
        }
        self.progress.goes(|marks| {
            marks.paused = true;
            marks.generation = Some(Arc::clone(&held.waiter.guard.generation));
        });
        match held.streams {
            true => timeout(self.limits.silence, held.waiter.decision()).await.ok(),
            false => Some(held.waiter.decision().await),
        }
    }

    /// Begins the stream of a client whose silent grace period is over. What goes wrong from now on is an event of the stream.
    fn begin_stream(self, held: HeldRequest) -> Response<Content> {
        let (api, every) = (held.waiter.guard.api, self.limits.keepalive);
        let progress = Arc::clone(&self.progress);
        let answer = async move {
            let answer = self.settle(RequestOutcome::Wait(held), true).await;
            answer.inspect_err(|refusal| progress.refused(refusal))
        };
        begun::begin(answer, api, every)
    }

    /// Returns what leaves after a decision. Its digest is taken again, which for a large body is work for elsewhere.
    pub(crate) async fn release(&self, mut held: HeldRequest, decision: Decision) -> Result<Passed, Refusal> {
        if let Ok(release) = &decision {
            let to = held.waiter.to.clone();
            let approval = RecordedApproval { to, digest: release.digest, by: release.by };
            let made = (release.edits, release.redactions);
            self.progress.approved(made, approval, || recorded_edits(&release.draft));
            // The desk has forgotten the turn. A person let it go, so it leaves whatever room there is.
            let bytes = held.came.body.len() + release.body.len();
            held.came.reservation.cover_as_possible(bytes);
        }
        let (is_large, parts) = (held.source.len() > INLINE_BODY, Arc::clone(&self.parts));
        self.work(is_large, false, move || held.settle(decision, &parts)).await?
    }
}

impl HeldRequest {
    /// Returns what leaves after a decision.
    fn settle(self, decision: Decision, parts: &request::Parts) -> Result<Passed, Refusal> {
        let release = decision.map_err(|dismissed| dismissed.refusal(self.manner))?;
        check_release(&release, &self.waiter.to)?;
        let mut along = self.along;
        if let Some(flow) = &mut along.flow {
            flow.lessened.approved = true;
        }
        Ok(self.came.passed(parts, &self.source, release.body, along))
    }
}

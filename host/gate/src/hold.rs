//! A paused request from its client's side: its connection is held open until somebody decides.
//!
//! Nothing is sent to the client while it waits, since an error can have a status only as long as no answer was begun. A client that
//! asked for a stream gets one after a silent grace period ([`crate::begun`]). Other clients are held silently up to the deadline that
//! every turn has.

use std::sync::Arc;

use http::Response;
use leafgate_record::RecordedApproval;
use tokio::time::timeout;

use crate::begun;
use crate::exchange::Exchange;
use crate::flow::Delivered;
use crate::pending::Decision;
use crate::recording::recorded_edits;
use crate::stages::{HeldRequest, Passed};
use leafgate_http::content::Content;
use leafgate_http::in_place::INLINE_BODY;
use leafgate_http::refusal::Refusal;

impl Exchange {
    /// Holds a request's connection until its turn is decided, then sends what a person saw the same way as any other.
    pub(crate) async fn hold(self, mut held: HeldRequest) -> Result<Response<Content>, Refusal> {
        loop {
            self.progress.goes(|marks| {
                marks.paused = true;
                marks.generation = Some(Arc::clone(&held.waiter.guard.generation));
            });
            let decision = match held.streams {
                true => timeout(self.limits.silence, held.waiter.decision()).await,
                false => Ok(held.waiter.decision().await),
            };
            let Ok(decision) = decision else { return Ok(self.begin_stream(held)) };
            let passed = self.release(held, decision).await?;
            match self.deliver(passed, false).await? {
                Delivered::Answered(answer) => return Ok(answer),
                Delivered::Waits(again) => held = *again,
            }
        }
    }

    /// Begins the stream of a client whose silent grace period is over. What goes wrong from now on is an event of the stream.
    fn begin_stream(self, held: HeldRequest) -> Response<Content> {
        let (api, every) = (held.api, self.limits.keepalive);
        let answer = async move {
            let answer = self.answer_begun(held).await;
            answer.inspect_err(|refusal| self.progress.refused(refusal))
        };
        begun::begin(answer, api, every)
    }

    /// The answer of a turn whose stream has begun.
    pub(crate) async fn answer_begun(&self, mut held: HeldRequest) -> Result<Response<Content>, Refusal> {
        loop {
            let decision = held.waiter.decision().await;
            let passed = self.release(held, decision).await?;
            match self.deliver(passed, true).await? {
                Delivered::Answered(answer) => return Ok(answer),
                Delivered::Waits(again) => held = *again,
            }
        }
    }

    /// Returns what leaves after a decision. Its digest is taken again, which for a large body is work for elsewhere.
    pub(crate) async fn release(&self, mut held: HeldRequest, decision: Decision) -> Result<Passed, Refusal> {
        if let Decision::Send(release) = &decision {
            let to = held.waiter.destination().clone();
            let approval = RecordedApproval { to, digest: release.digest, by: release.by };
            let made = (release.edits, release.redactions);
            self.progress.approved(made, approval, || recorded_edits(&release.draft));
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

impl HeldRequest {
    /// Returns what leaves after a decision.
    fn settle(self, decision: Decision) -> Result<Passed, Refusal> {
        let release = match decision {
            Decision::Send(release) => release,
            Decision::Dismissed(dismissed) => return Err(dismissed.refusal(self.manner)),
        };
        release.check(self.waiter.destination())?;
        let mut along = self.along;
        if let Some(flow) = &mut along.flow {
            flow.lessened.approved = true;
        }
        Ok(self.received.passed(&self.source, release.body, along))
    }
}

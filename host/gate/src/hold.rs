//! A paused request from its client's side: its connection is held open until somebody decides.
//!
//! Nothing is sent to the client while it waits, since an error can have a status only as long as no answer was begun. A client that
//! asked for a stream gets one after a silent grace period ([`crate::begun`]). Other clients are held silently up to the deadline that
//! every turn has.

use std::sync::Arc;

use http::{Response, request};
use leafgate_record::RecordedApproval;
use tokio::time::timeout;

use crate::begun;
use crate::flow::Delivered;
use crate::log::{RequestLog, RequestProgress};
use crate::pending::Decision;
use crate::recording::recorded_edits;
use crate::request_event::RequestEvent;
use crate::shared::Shared;
use crate::stages::{HeldRequest, Passed};
use crate::upstreams::Lane;
use leafgate_http::content::Content;
use leafgate_http::in_place::INLINE_BODY;
use leafgate_http::refusal::Refusal;

impl Shared {
    /// Holds a request's connection until its turn is decided, then sends what a person saw the same way as any other.
    pub(crate) async fn hold(
        self: &Arc<Self>,
        lane: &Arc<Lane>,
        parts: &request::Parts,
        mut held: HeldRequest,
        request_log: &mut RequestLog,
    ) -> Result<Response<Content>, Refusal> {
        request_log.paused(&held.waiter.guard.generation);
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
        held: HeldRequest,
        progress: Arc<RequestProgress>,
    ) -> Response<Content> {
        let (shared, lane) = (Arc::clone(self), Arc::clone(lane));
        let api = held.api;
        let answer = async move {
            let answer = shared.answer_begun(&lane, &parts, held, &progress).await;
            answer.inspect_err(|refusal| progress.tell(RequestEvent::Refused(refusal)))
        };
        begun::begin(answer, api, self.limits.keepalive)
    }

    /// The answer of a turn whose stream has begun.
    pub(crate) async fn answer_begun(
        self: &Arc<Self>,
        lane: &Lane,
        parts: &request::Parts,
        mut held: HeldRequest,
        progress: &Arc<RequestProgress>,
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
        mut held: HeldRequest,
        decision: Decision,
        progress: &RequestProgress,
    ) -> Result<Passed, Refusal> {
        if let Decision::Send(release) = &decision {
            let to = held.waiter.destination().clone();
            let approval = RecordedApproval { to, digest: release.digest, by: release.by };
            let made = (release.edits, release.redactions);
            progress.approved(made, approval, || recorded_edits(&release.draft));
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

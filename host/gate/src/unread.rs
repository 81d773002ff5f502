//! Bodies that nobody looks at: under a policy without rules, they go on as they come.
//!
//! Such a policy has asked for nothing, so nothing is parsed for it: what the upstream makes of a
//! body that is no JSON, it says itself. The promises that are not about looking hold all the same:
//! route, header, size and pace of a body are checked before and while it passes, and the upstream
//! is told its length. As long as anything else could ask for a body (values that an earlier policy
//! redacted, turns that wait, a recorder that must have everything), it is read and walked. What is
//! not read is not recorded either.
//!
//! - A body that says its length passes while it comes. One that breaks off, or comes too slowly,
//!   breaks off at the upstream too: no server takes a part of a body for the whole.
//! - A short one, or one in chunks, is gathered first: the upstream gets it in one piece, with its
//!   length.
//! - An answer waits until the request has left: few clients read before they have written.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{Response, request};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use leafgate_policy::Policy;
use tokio::sync::oneshot;

use crate::body::{self, Pace};
use crate::content::{Content, ContentError};
use crate::gate::Shared;
use crate::log::RequestLogProgress;
use crate::outgoing::{Outgoing, OutgoingBody};
use crate::refusal::Refusal;
use crate::upstreams::Lane;

/// Shorter bodies are gathered: most have come with their head, and one write sends both on.
const GATHERED: usize = 32 * 1024;

/// What of a passing body is in memory at a time, at most: what one connection has read, and what
/// the other has not written yet.
const IN_TRANSIT: usize = 1024 * 1024;

impl Shared {
    /// Whether nothing here could want to know what the body of a request says.
    pub(crate) fn is_unread(&self, parts: &request::Parts, policy: &Policy) -> bool {
        policy.is_empty()
            // What leaves while a person has switched the gate off is in the log.
            && self.turns.off().left().is_none()
            && self.sessions.remember_nothing()
            && self.turns.is_idle()
            && !self.recorder().is_some_and(|recorder| recorder.is_required())
            && !self.policy.is_trying()
            // What is compressed is unpacked within limits, or refused.
            && !parts.headers.contains_key(CONTENT_ENCODING)
    }

    /// Sends on a request whose body nobody looks at. Where that fails, `body` is what is left of
    /// it.
    pub(crate) async fn pass_unread(
        self: &Arc<Self>,
        lane: &Lane,
        parts: &request::Parts,
        body: &mut Option<Incoming>,
        progress: &Arc<RequestLogProgress>,
    ) -> Result<Response<Content>, Refusal> {
        let coming = body.as_mut().expect("nobody has taken the body yet");
        let declared = body::declared(coming, self.bounds())?;
        let mut reservation = self.bodies.reserve();
        if declared <= GATHERED || !lane.upstream.takes_streams() {
            let whole = body::read_within(coming, self.bounds(), &mut reservation).await?;
            progress.received(whole.len());
            let outgoing = Outgoing::unread(parts, OutgoingBody::Whole(whole), reservation);
            return self.forward(lane, outgoing, progress).await;
        }
        reservation.cover(declared.min(IN_TRANSIT))?;
        let source = Arc::new(Source::default());
        source.lock().body = body.take();
        let passing = Passing::new(&source, Pace::new(self.bounds()), progress);
        let outgoing = Outgoing::unread(parts, OutgoingBody::Passing(passing), reservation);
        let answer = self.forward(lane, outgoing, progress).await;
        let mut source = source.lock();
        answer.map_err(|refusal| {
            *body = source.body.take();
            // That the upstream was sent no whole body is what follows from it.
            source.failure.take().unwrap_or(refusal)
        })
    }
}

/// Where a passing body comes from. The task that answers its client shares it with the connection
/// to the upstream.
#[derive(Default)]
struct Source(Mutex<SourceState>);

#[derive(Default)]
struct SourceState {
    /// `None` once it was taken back.
    body: Option<Incoming>,
    /// Why it broke off.
    failure: Option<Refusal>,
}

impl Source {
    fn lock(&self) -> MutexGuard<'_, SourceState> {
        // A panic within a poll leaves a body behind that breaks off.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A body that leaves while it comes.
pub(crate) struct Passing {
    source: Arc<Source>,
    pace: Pace,
    progress: Arc<RequestLogProgress>,
    /// Dropped with it: nobody sends it any more.
    left: (Option<oneshot::Sender<()>>, Option<oneshot::Receiver<()>>),
}

#[derive(Debug, thiserror::Error)]
#[error("the request body broke off")]
struct BrokenOff;

impl Passing {
    fn new(source: &Arc<Source>, pace: Pace, progress: &Arc<RequestLogProgress>) -> Self {
        let (sender, receiver) = oneshot::channel();
        let (source, progress) = (Arc::clone(source), Arc::clone(progress));
        Passing { source, pace, progress, left: (Some(sender), Some(receiver)) }
    }

    /// What resolves once all of the body has left, or no more of it will.
    pub(crate) fn left(&mut self) -> Option<oneshot::Receiver<()>> {
        self.left.1.take()
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = ContentError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ContentError>>> {
        let this = self.get_mut();
        let mut source = this.source.lock();
        let Some(body) = &mut source.body else { return Poll::Ready(Some(Err(BrokenOff.into()))) };
        let failure = match ready!(this.pace.poll_next(body, context)) {
            Ok(Some(Ok(frame))) => {
                this.progress.passed(frame.data_ref().map_or(0, Bytes::len));
                return Poll::Ready(Some(Ok(frame)));
            }
            Ok(None) => return Poll::Ready(None),
            Ok(Some(Err(_))) => body::broken_off(),
            Err(refusal) => refusal,
        };
        source.failure = Some(failure);
        Poll::Ready(Some(Err(BrokenOff.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.source.lock().body.as_ref().is_some_and(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.source.lock().body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

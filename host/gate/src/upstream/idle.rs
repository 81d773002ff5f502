//! An answer that may not be silent for ever.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep};

use leafgate_http::ContentError;

/// The body of the upstream's answer. It breaks off when nothing comes for too long.
pub(super) struct WithoutSilence {
    body: Incoming,
    limit: Duration,
    silence: Pin<Box<Sleep>>,
    /// A client that reads slowly is no silence of the upstream: the time runs while somebody waits.
    waiting: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("the upstream was silent within its answer")]
struct Silent;

impl WithoutSilence {
    pub(super) fn new(body: Incoming, limit: Duration) -> Self {
        WithoutSilence { body, limit, silence: Box::pin(sleep(limit)), waiting: false }
    }
}

impl Body for WithoutSilence {
    type Data = Bytes;
    type Error = ContentError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ContentError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.waiting = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        if !this.waiting {
            this.waiting = true;
            this.silence.as_mut().reset(Instant::now() + this.limit);
        }
        std::task::ready!(this.silence.as_mut().poll(context));
        tracing::warn!(
            target: "leafgate::upstream",
            "the upstream sent nothing of its answer for {} s (limit `answer-idle`), so the answer is broken off",
            this.limit.as_secs_f64()
        );
        Poll::Ready(Some(Err(Silent.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

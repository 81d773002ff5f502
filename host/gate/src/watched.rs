//! A body on its way, and somebody who looks at what passes and is told of its end.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use leafgate_http::{Content, ContentError, content};

/// Who looks at a body.
pub(crate) trait BodyWatch: Send + Unpin + 'static {
    /// More has come.
    fn take(&mut self, data: &Bytes);

    /// Nothing comes for a while.
    fn rest(&mut self) {}

    /// It has ended, whole or not. The first word counts.
    fn end(&mut self, complete: bool);
}

/// A body that somebody looks at.
pub(crate) struct WatchedBody<W: BodyWatch> {
    body: Content,
    watch: W,
}

impl<W: BodyWatch> WatchedBody<W> {
    pub(crate) fn content(body: Content, watch: W) -> Content {
        content::stream(WatchedBody { body, watch })
    }
}

impl<W: BodyWatch> Body for WatchedBody<W> {
    type Data = Bytes;
    type Error = ContentError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ContentError>>> {
        let WatchedBody { body, watch } = &mut *self;
        let polled = Pin::new(&mut *body).poll_frame(context);
        match &polled {
            Poll::Pending => watch.rest(),
            Poll::Ready(Some(Ok(frame))) => {
                frame.data_ref().into_iter().for_each(|data| watch.take(data));
                // Nobody polls behind trailers.
                if frame.is_trailers() || body.is_end_stream() {
                    watch.end(true);
                }
            }
            Poll::Ready(Some(Err(_))) => watch.end(false),
            Poll::Ready(None) => watch.end(true),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<W: BodyWatch> Drop for WatchedBody<W> {
    fn drop(&mut self) {
        // A body without a byte is not polled.
        let complete = self.body.is_end_stream();
        self.watch.end(complete);
    }
}

//! The body of whatever the gate answers: whole, streamed through, or restored on the way.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

/// Why an answer ends before its end: the upstream broke off. hyper then breaks off too, so the client does not take a part for the whole.
pub type ContentError = Box<dyn std::error::Error + Send + Sync>;

/// A body on its way to the client.
pub type Content = UnsyncBoxBody<Bytes, ContentError>;

/// A body that is there as a whole.
pub fn full(bytes: Bytes) -> Content {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// A body that holds on to something until it has ended or is given up.
pub fn with<G>(body: Content, held: G) -> Content
where
    G: Send + Unpin + 'static,
{
    With { body, _held: held }.boxed_unsync()
}

struct With<G> {
    body: Content,
    _held: G,
}

impl<G: Unpin> Body for With<G> {
    type Data = Bytes;
    type Error = ContentError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ContentError>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that arrives bit by bit.
pub fn stream<B>(body: B) -> Content
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<ContentError>,
{
    body.map_err(Into::into).boxed_unsync()
}

//! The body of whatever the gate answers: whole, streamed through, or restored on the way.

use std::future::Future;

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};

/// Why an answer ends before its end: the upstream broke off. hyper then breaks off too, so the client does not take a part for the whole.
pub type ContentError = Box<dyn std::error::Error + Send + Sync>;

/// A body on its way to the client.
pub type Content = UnsyncBoxBody<Bytes, ContentError>;

/// A body that is there as a whole.
pub fn full(bytes: Bytes) -> Content {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// A body that holds on to something until it has ended or is given up.
pub fn with(body: Content, held: impl Send + 'static) -> Content {
    let holding = move |error| {
        let _held = &held;
        error
    };
    body.map_err(holding).boxed_unsync()
}

/// A body that arrives bit by bit.
pub fn stream<B>(body: B) -> Content
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<ContentError>,
{
    body.map_err(Into::into).boxed_unsync()
}

/// A body whose frames are made one by one, each from what the one before it left.
pub fn unfold<S, F>(state: S, next: impl FnMut(S) -> F + Send + 'static) -> Content
where
    S: Send + 'static,
    F: Future<Output = Option<(Result<Frame<Bytes>, ContentError>, S)>> + Send + 'static,
{
    stream(StreamBody::new(futures_util::stream::unfold(state, next)))
}

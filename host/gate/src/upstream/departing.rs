//! The body of a request to the upstream: there as a whole, or still coming.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::sync::oneshot;

use crate::content::ContentError;
use crate::outgoing::OutgoingBody;
use crate::unread::Passing;

/// A body as the upstream's client takes it.
pub(super) enum Departing {
    Whole(Full<Bytes>),
    Passing(Passing),
    Coming(Incoming),
}

impl Departing {
    /// A body, and what resolves once it has left; `None` for one that is there as a whole.
    pub(super) fn of(body: OutgoingBody) -> (Self, Option<oneshot::Receiver<()>>) {
        match body {
            OutgoingBody::None => (Departing::Whole(Full::default()), None),
            OutgoingBody::Whole(body) => (Departing::Whole(Full::new(body)), None),
            OutgoingBody::Coming(body) => (Departing::Coming(body), None),
            OutgoingBody::Passing(mut passing) => {
                let left = passing.left();
                (Departing::Passing(passing), left)
            }
        }
    }
}

impl Body for Departing {
    type Data = Bytes;
    type Error = ContentError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ContentError>>> {
        match self.get_mut() {
            Departing::Whole(body) => Pin::new(body).poll_frame(context).map_err(|never| match never {}),
            Departing::Passing(body) => Pin::new(body).poll_frame(context),
            Departing::Coming(body) => Pin::new(body).poll_frame(context).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Departing::Whole(body) => body.is_end_stream(),
            Departing::Passing(body) => body.is_end_stream(),
            Departing::Coming(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Departing::Whole(body) => body.size_hint(),
            Departing::Passing(body) => body.size_hint(),
            Departing::Coming(body) => body.size_hint(),
        }
    }
}

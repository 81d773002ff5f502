//! The upstream's answer on its way to the client: passed through as it comes, with the real values
//! back in their places where this session has any.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, StreamBody};

use crate::restore::{EventStream, Restoring};
use leafgate_http::budget::{AnswerWeight, Reservation};
use leafgate_http::content::{self, Content, ContentError};
use leafgate_http::refusal::{Code, Refusal};
use leafgate_http::{headers, media};

/// An answer that is edited is there as it came and as it leaves.
const COPIES: usize = 2;

/// How an answer comes, where it is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RestoredForm {
    /// Not restored.
    Untouched,
    /// As one JSON text.
    Whole,
    /// As an event stream.
    Events,
}

/// A client that follows a redirect would send its own, unedited request past the gate.
pub(crate) fn refuse_redirect(status: StatusCode) -> Result<(), Refusal> {
    if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
        return Err(Refusal::new(
            StatusCode::BAD_GATEWAY,
            Code::Redirect,
            "the upstream answered with a redirect, which would lead past this gate; start the gate with the upstream's real address",
        ));
    }
    Ok(())
}

/// Prepares an answer for the client. `most` bounds an answer that is kept whole, and `reservation` is its part of what all of them
/// may take.
pub(crate) async fn prepare(
    answer: Response<Content>,
    restoring: Option<Restoring>,
    most: usize,
    reservation: Reservation,
) -> Result<Response<Content>, Refusal> {
    let (parts, body) = answer.into_parts();
    let restoring = restoring.filter(|restoring| !restoring.is_idle());
    let form = restoring.as_ref().map_or(RestoredForm::Untouched, |_| form(&parts.headers));
    let body = match (form, restoring) {
        (RestoredForm::Whole, Some(restoring)) => {
            whole(body, |answer| restoring.whole(answer), most, reservation).await?
        }
        (RestoredForm::Events, Some(restoring)) => events(body, restoring),
        _ => body,
    };
    let mut response = Response::new(body);
    *response.status_mut() = parts.status;
    *response.headers_mut() = headers::of_response(&parts.headers, form != RestoredForm::Untouched);
    Ok(response)
}

/// Has a whole JSON answer be made another one. Any other passes as it comes.
pub(crate) async fn edited(
    answer: Response<Content>,
    edit: impl FnOnce(&Bytes) -> Bytes,
    most: usize,
    reservation: Reservation,
) -> Result<Response<Content>, Refusal> {
    if !answer.status().is_success() || form(answer.headers()) != RestoredForm::Whole {
        return Ok(answer);
    }
    let (mut parts, body) = answer.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    Ok(Response::from_parts(parts, whole(body, edit, most, reservation).await?))
}

/// A compressed answer, sent although it was asked not to be, passes with its tokens.
fn form(headers: &HeaderMap) -> RestoredForm {
    if media::is_json(headers) {
        RestoredForm::Whole
    } else if media::is_event_stream(headers) {
        RestoredForm::Events
    } else {
        RestoredForm::Untouched
    }
}

/// Waits for the whole answer and edits it; one that is too large, or too much beside all others, passes as it comes.
async fn whole(
    mut body: Content,
    edit: impl FnOnce(&Bytes) -> Bytes,
    most: usize,
    mut reservation: Reservation,
) -> Result<Content, Refusal> {
    let mut answer = BytesMut::new();
    if gather(&mut body, &mut answer, most, COPIES, &mut reservation).await?.is_none() {
        return Ok(content::with(rejoined(answer.freeze(), body), reservation));
    }
    let edited = edit(&answer.freeze());
    // Kept until the client has read it.
    Ok(content::with(content::full(edited), reservation))
}

/// Reads an answer to its end into `bytes`, and returns what it weighs; `None` for one that is too large, or too much beside all
/// others in so many copies, of which the rest is left.
pub(crate) async fn gather(
    body: &mut Content,
    bytes: &mut BytesMut,
    most: usize,
    copies: usize,
    reservation: &mut Reservation,
) -> Result<Option<AnswerWeight>, Refusal> {
    let mut weight = AnswerWeight::default();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::upstream("the upstream broke off within its answer"))?;
        let Ok(data) = frame.into_data() else { continue };
        bytes.extend_from_slice(&data);
        weight.add(&data);
        if bytes.len() > most || reservation.cover(weight.total(copies)).is_err() {
            return Ok(None);
        }
    }
    Ok(Some(weight))
}

/// What was read already, and then the rest.
fn rejoined(start: Bytes, rest: Content) -> Content {
    let start = futures_util::stream::iter([Ok::<_, ContentError>(Frame::data(start))]);
    let rest = futures_util::stream::unfold(rest, |mut rest| async {
        rest.frame().await.map(|frame| (frame, rest))
    });
    content::stream(StreamBody::new(futures_util::StreamExt::chain(start, rest)))
}

/// Restores an event stream as it passes.
pub(crate) fn events(body: Content, restoring: Restoring) -> Content {
    content::stream(RestoredEvents { body, stream: Some(EventStream::new(restoring)), last: None })
}

/// An event stream that is restored as it passes.
struct RestoredEvents {
    body: Content,
    /// `None` once the upstream's stream has ended.
    stream: Option<EventStream>,
    /// What ends the stream, behind the text that was still held: an error, or trailers.
    last: Option<Result<Frame<Bytes>, ContentError>>,
}

impl Body for RestoredEvents {
    type Data = Bytes;
    type Error = ContentError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ContentError>>> {
        let this = &mut *self;
        loop {
            let Some(stream) = &mut this.stream else { return Poll::Ready(this.last.take()) };
            let leaving = match std::task::ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        let leaving = stream.push(data);
                        if stream.is_over() {
                            (this.stream, this.body) = (None, Content::default());
                        }
                        leaving
                    }
                    Err(trailers) => this.end(Some(Ok(trailers))),
                },
                Some(Err(error)) => this.end(Some(Err(error))),
                None => this.end(None),
            };
            if !leaving.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(leaving))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_none() && self.last.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

impl RestoredEvents {
    fn end(&mut self, last: Option<Result<Frame<Bytes>, ContentError>>) -> Bytes {
        self.last = last;
        self.stream.take().map(|mut stream| stream.finish()).unwrap_or_default()
    }
}

//! The upstream's answer on its way to the client: passed through as it comes, with the real values
//! back in their places where this session has any.

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::header::CONTENT_LENGTH;
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use crate::exchange::Exchange;
use crate::restore::{EventStream, Restoring};
use leafgate_http::{
    AnswerForm, AnswerWeight, Code, Content, ContentError, Refusal, Reservation, content, headers,
};

/// An answer that is edited is there as it came and as it leaves.
const COPIES: usize = 2;

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

impl Exchange {
    /// Prepares an answer for the client.
    pub(crate) async fn prepare(
        &self,
        answer: Response<Content>,
        restoring: Option<Restoring>,
    ) -> Result<Response<Content>, Refusal> {
        let (parts, body) = answer.into_parts();
        let restoring = restoring.filter(|restoring| !restoring.is_idle());
        // A compressed answer, sent although it was asked not to be, passes with its tokens.
        let form = restoring.as_ref().and_then(|_| AnswerForm::of(&parts.headers));
        let body = match (form, restoring) {
            (Some(AnswerForm::Whole), Some(restoring)) => {
                self.whole(body, |answer| restoring.whole(answer)).await?
            }
            (Some(AnswerForm::Events), Some(restoring)) => events(body, restoring),
            _ => body,
        };
        let mut response = Response::new(body);
        *response.status_mut() = parts.status;
        *response.headers_mut() = headers::of_response(&parts.headers, form.is_some());
        Ok(response)
    }

    /// Has a whole JSON answer be made another one. Any other passes as it comes.
    pub(crate) async fn edited(
        &self,
        answer: Response<Content>,
        edit: impl FnOnce(&Bytes) -> Bytes,
    ) -> Result<Response<Content>, Refusal> {
        if !answer.status().is_success() || AnswerForm::of(answer.headers()) != Some(AnswerForm::Whole) {
            return Ok(answer);
        }
        let (mut parts, body) = answer.into_parts();
        parts.headers.remove(CONTENT_LENGTH);
        Ok(Response::from_parts(parts, self.whole(body, edit).await?))
    }

    /// Waits for the whole answer and edits it; one that is too large, or too much beside all others, passes as it comes.
    async fn whole(&self, mut body: Content, edit: impl FnOnce(&Bytes) -> Bytes) -> Result<Content, Refusal> {
        let mut reservation = self.answers.reserve();
        let (answer, weight) = gather(&mut body, self.limits.answer, COPIES, &mut reservation).await?;
        let leaves = match weight {
            Some(_) => content::full(edit(&answer)),
            None => rejoined(answer, body),
        };
        // Kept until the client has read it.
        Ok(content::with(leaves, reservation))
    }
}

/// Reads an answer to its end, and returns what it weighs; `None` for one that is too large, or too much beside all others in so
/// many copies, of which the rest is left.
pub(crate) async fn gather(
    body: &mut Content,
    most: usize,
    copies: usize,
    reservation: &mut Reservation,
) -> Result<(Bytes, Option<AnswerWeight>), Refusal> {
    let (mut bytes, mut weight) = (BytesMut::new(), AnswerWeight::default());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::upstream("the upstream broke off within its answer"))?;
        let Ok(data) = frame.into_data() else { continue };
        bytes.extend_from_slice(&data);
        weight.add(&data);
        if bytes.len() > most || reservation.cover(weight.total(copies)).is_err() {
            return Ok((bytes.freeze(), None));
        }
    }
    Ok((bytes.freeze(), Some(weight)))
}

/// Reads an answer to its end that goes on in no other way.
pub(crate) async fn gather_whole(
    mut body: Content,
    most: usize,
    copies: usize,
    reservation: &mut Reservation,
) -> Result<Bytes, Refusal> {
    let (bytes, weight) = gather(&mut body, most, copies, reservation).await?;
    let too_large = || {
        Refusal::upstream(format!(
            "the upstream's answer is larger than {most} bytes (limit `answer`), and had to be read as a whole"
        ))
    };
    weight.map(|_| bytes).ok_or_else(too_large)
}

/// What was read already, and then the rest.
fn rejoined(start: Bytes, rest: Content) -> Content {
    let start = stream::iter([Ok::<_, ContentError>(Frame::data(start))]);
    let rest = stream::unfold(rest, |mut rest| async { rest.frame().await.map(|frame| (frame, rest)) });
    content::stream(StreamBody::new(futures_util::StreamExt::chain(start, rest)))
}

/// Restores an event stream as it passes.
pub(crate) fn events(body: Content, restoring: Restoring) -> Content {
    let events = RestoredEvents { body, stream: Some(EventStream::new(restoring)), last: None };
    content::unfold(events, |mut events| async { events.next().await.map(|frame| (frame, events)) })
}

/// An event stream that is restored as it passes.
struct RestoredEvents {
    body: Content,
    /// `None` once the upstream's stream has ended.
    stream: Option<EventStream>,
    /// What ends the stream, behind the text that was still held: an error, or trailers.
    last: Option<Result<Frame<Bytes>, ContentError>>,
}

impl RestoredEvents {
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, ContentError>> {
        while let Some(stream) = &mut self.stream {
            let frame = self.body.frame().await;
            let leaving = match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => {
                    let leaving = stream.push(data);
                    if stream.is_over {
                        (self.stream, self.body) = (None, Content::default());
                    }
                    leaving
                }
                last => {
                    let leaving = stream.finish();
                    self.stream = None;
                    self.last = last.and_then(|last| last.map(Result::err).transpose());
                    leaving
                }
            };
            if !leaving.is_empty() {
                return Some(Ok(Frame::data(leaving)));
            }
        }
        self.last.take()
    }
}

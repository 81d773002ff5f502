//! A stream that is begun before its answer is there.
//!
//! A client that asked for a stream gets one after a silent grace period: signs of life that keep the connection open, then the
//! upstream's events, or an error as an event, which SDKs raise like any other.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::time::timeout;

use crate::apis::Api;
use crate::apis::dialect::{self, ErrorBody};
use leafgate_http::{BodyBounds, Content, ContentError, Refusal, body, content, media};

/// Bytes of an upstream's error that are read to pass it on. Real ones have a few hundred.
const MOST_ERROR: usize = 64 * 1024;

/// How long an upstream may be silent within its error.
const ERROR_IDLE: Duration = Duration::from_secs(10);

type Answer = Pin<Box<dyn Future<Output = Result<Response<Content>, Refusal>> + Send>>;

/// How a begun stream goes on.
enum BegunStream {
    /// There is no answer yet.
    Waiting(Answer),
    /// The upstream's events pass.
    Passing(Content),
    Over,
}

/// Begins a stream before there is an answer to fill it with. Dropping its body gives `answer` up.
pub(crate) fn begin(
    answer: impl Future<Output = Result<Response<Content>, Refusal>> + Send + 'static,
    api: Api,
    every: Duration,
) -> Response<Content> {
    let first = stream::iter([Ok::<_, ContentError>(Frame::data(dialect::keepalive(api)))]);
    let rest = stream::unfold(BegunStream::Waiting(Box::pin(answer)), move |begun| go_on(begun, api, every));
    events(content::stream(StreamBody::new(futures_util::StreamExt::chain(first, rest))))
}

/// An answer that is a stream of events.
pub(crate) fn events(body: Content) -> Response<Content> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

async fn go_on(
    begun: BegunStream,
    api: Api,
    every: Duration,
) -> Option<(Result<Frame<Bytes>, ContentError>, BegunStream)> {
    let mut passing = match begun {
        BegunStream::Over => return None,
        BegunStream::Passing(body) => body,
        BegunStream::Waiting(mut answer) => {
            let Ok(answered) = timeout(every, &mut answer).await else {
                return Some((Ok(Frame::data(dialect::keepalive(api))), BegunStream::Waiting(answer)));
            };
            match splice(answered, api).await {
                Ok(body) => body,
                Err(last) => return Some((Ok(Frame::data(last)), BegunStream::Over)),
            }
        }
    };
    passing.frame().await.map(|frame| (frame, BegunStream::Passing(passing)))
}

/// The body that the begun stream goes on with, or the events that end it.
async fn splice(answered: Result<Response<Content>, Refusal>, api: Api) -> Result<Content, Bytes> {
    let refused = |refusal: Refusal| dialect::ending(&refusal, api);
    let answer = answered.map_err(refused)?;
    if !answer.status().is_success() {
        return Err(failing(answer, api).await);
    }
    // A begun stream has no coding, and its upstream was asked for none.
    if !media::is_event_stream(answer.headers()) {
        return Err(refused(Refusal::upstream("the upstream answered without an event stream")));
    }
    Ok(answer.into_body())
}

/// Returns the events that end a begun stream with an upstream's error.
pub(crate) async fn failing(error: Response<Content>, api: Api) -> Bytes {
    let (parts, body) = error.into_parts();
    match error_body(body).await.and_then(|error| ErrorBody::read(&error)) {
        Some(error) => error.events(api, passes_later(parts.status)),
        None => {
            let said = format!("the upstream answered with status {}", parts.status.as_u16());
            dialect::ending(&Refusal::upstream(said), api)
        }
    }
}

/// Which errors SDKs try again at.
fn passes_later(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 409 | 429 | 500..)
}

/// Returns what an upstream says in its error; `None` where it says too much, or nothing in time.
pub(crate) async fn error_body(mut body: Content) -> Option<Bytes> {
    let bounds = BodyBounds { size: MOST_ERROR, idle: ERROR_IDLE, time: ERROR_IDLE };
    body::read(&mut body, bounds).await.ok()
}

//! A paused request from its client's side: its connection is held open until somebody decides.
//!
//! Nothing is sent to the client while it waits, since an error can have a status only as long as no answer was begun. A client that
//! asked for a stream gets one after a silent grace period: signs of life that keep the connection open, then the upstream's events, or an
//! error as an event, which SDKs raise like any other. Other clients are held silently up to the deadline that every turn has.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use leafgate_desk::{Digest, Dismissal};
use tokio::time::sleep;

use crate::apis::Api;
use crate::body::{self, Bounds};
use crate::content::{self, Content, ContentError};
use crate::dialect::{self, ErrorBody};
use crate::judge::{Passed, Received};
use crate::pending::{Decision, Release, Waiter};
use crate::refusal::{Code, Refusal};
use crate::restore::Restoring;

/// Bytes of an upstream's error that are read to pass it on. Real ones have a few hundred.
const MOST_ERROR: usize = 64 * 1024;

/// How long an upstream may be silent within its error.
const ERROR_IDLE: Duration = Duration::from_secs(10);

/// A request that waits, and what leaves for it depends on.
pub(crate) struct Held {
    pub(crate) waiter: Waiter,
    pub(crate) received: Received,
    /// The body without its codings.
    pub(crate) source: Bytes,
    /// Whether its client asked for a stream of events.
    pub(crate) streams: bool,
    /// Which API it asks.
    pub(crate) api: Api,
    /// How its answer is restored.
    pub(crate) restoring: Option<Restoring>,
}

impl Held {
    /// What leaves after a decision.
    pub(crate) fn settle(self, decision: Decision) -> Result<Passed, Refusal> {
        let release = match decision {
            Decision::Send(release) => release,
            Decision::Dismissed(dismissal) => return Err(refusal(dismissal)),
        };
        check(&release)?;
        Ok(self.received.passed(&self.source, release.body, self.restoring))
    }
}

/// Shown is sent: the desk took the digest when the bytes were made, and it is taken again of what is about to leave.
fn check(release: &Release) -> Result<(), Refusal> {
    if Digest::of(&release.target, &release.body) == release.digest {
        return Ok(());
    }
    Err(Refusal::internal("what would leave is not what was shown, so the request did not leave"))
}

/// 400 in any case: SDKs retry most others, and the same request would only wait again.
fn refusal(dismissal: Dismissal) -> Refusal {
    let code = match dismissal {
        Dismissal::TimedOut { .. } => Code::TimedOut,
        Dismissal::Replaced => Code::Replaced,
        Dismissal::NoRoom(_) => Code::Blocked,
        _ => Code::Cancelled,
    };
    Refusal::new(StatusCode::BAD_REQUEST, code, dismissal.to_string())
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<Content>, Refusal>> + Send>>;

/// How a begun stream goes on.
enum Begun {
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
    let rest = stream::unfold(Begun::Waiting(Box::pin(answer)), move |begun| go_on(begun, api, every));
    let events = futures_util::StreamExt::chain(first, rest);
    let mut response = Response::new(content::stream(StreamBody::new(events)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

async fn go_on(
    begun: Begun,
    api: Api,
    every: Duration,
) -> Option<(Result<Frame<Bytes>, ContentError>, Begun)> {
    let mut passing = match begun {
        Begun::Over => return None,
        Begun::Passing(body) => body,
        Begun::Waiting(mut answer) => {
            let answered = tokio::select! {
                biased;
                answered = &mut answer => answered,
                () = sleep(every) => {
                    return Some((Ok(Frame::data(dialect::keepalive(api))), Begun::Waiting(answer)));
                }
            };
            match splice(answered, api).await {
                Ok(body) => body,
                Err(last) => return Some((Ok(Frame::data(last)), Begun::Over)),
            }
        }
    };
    passing.frame().await.map(|frame| (frame, Begun::Passing(passing)))
}

/// The body that the begun stream goes on with, or the events that end it.
async fn splice(answered: Result<Response<Content>, Refusal>, api: Api) -> Result<Content, Bytes> {
    let refused = |refusal: Refusal| ErrorBody::of(&refusal, api).events(api, refusal.may_pass_later());
    let (parts, body) = answered.map_err(refused)?.into_parts();
    if !parts.status.is_success() {
        let said = upstream_error(body).await.map(|error| error.events(api, passes_later(parts.status)));
        return Err(said.unwrap_or_else(|| {
            refused(Refusal::upstream(format!("the upstream answered with status {}", parts.status.as_u16())))
        }));
    }
    if !is_event_stream(&parts.headers) {
        return Err(refused(Refusal::upstream("the upstream answered without an event stream")));
    }
    Ok(body)
}

/// Which errors SDKs try again at.
fn passes_later(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 409 | 429 | 500..)
}

/// A begun stream has no `content-encoding`, and its upstream was asked for none.
fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let plain = headers.get_all(CONTENT_ENCODING).iter().all(|coding| coding.as_bytes() == b"identity");
    plain && kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
}

/// The upstream's own words, where they are an error.
async fn upstream_error(mut body: Content) -> Option<ErrorBody> {
    let bounds = Bounds { size: MOST_ERROR, idle: ERROR_IDLE };
    ErrorBody::read(&body::read(&mut body, bounds).await.ok()?)
}

#[cfg(test)]
mod tests {
    use leafgate_desk::Target;

    use super::*;

    #[test]
    fn invariant_4_other_bytes_or_another_place_than_shown_do_not_leave() {
        let target = |path: &str| Target { upstream: "main".into(), path: path.into() };
        let digest = Digest::of(&target("/v1/a"), b"shown");
        let release =
            |path, body| Release { body: Bytes::from_static(body), target: target(path), digest, made: 0 };
        assert!(check(&release("/v1/a", b"shown")).is_ok());
        for other in [release("/v1/a", b"other"), release("/v1/b", b"shown")] {
            assert_eq!(check(&other).unwrap_err().code(), Code::Internal);
        }
    }
}

//! A gate that is switched off (`enabled = false`): a plain proxy. Nothing is read, so any method,
//! path, body and upgrade passes, and bodies are the very bytes in both directions.
//!
//! What is about connections stays: who may speak to the listener, hop-by-hop fields, and the time
//! that an upstream has.

use std::time::Instant;

use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::{Response, StatusCode, request};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use crate::exchange::Exchange;
use crate::outgoing::{Outgoing, OutgoingBody};
use leafgate_http::{Content, Refusal, body, headers};

impl Exchange {
    /// Passes a request on as it comes, and its answer back.
    pub(crate) async fn pass_plain(&self, body: &mut Option<Incoming>) -> Result<Response<Content>, Refusal> {
        let Exchange { lane, parts, progress, .. } = self;
        let upgrade = Upgrade::of(parts);
        let coming = body.as_mut().expect("nobody has taken the body yet");
        let body = if lane.upstream.is_some() {
            OutgoingBody::Coming(body.take().expect("it was there a moment ago"))
        } else {
            OutgoingBody::Whole(body::read(coming, self.bounds()).await?)
        };
        let mut outgoing = Outgoing::new(parts, body, false);
        if let Some(upgrade) = &upgrade {
            upgrade.ask(&mut outgoing.headers);
        }
        progress.sent(0);
        let began = Instant::now();
        let sent = lane.send(outgoing).await;
        let answer = sent.inspect_err(|_| progress.unanswered())?;
        progress.answered(answer.status(), began.elapsed());
        let (mut head, body) = answer.into_parts();
        let received = std::mem::take(&mut head.headers);
        let mut response = Response::new(body);
        *response.status_mut() = head.status;
        *response.headers_mut() = headers::of_response(&received, false);
        if let (StatusCode::SWITCHING_PROTOCOLS, Some(upgrade)) = (head.status, upgrade)
            && let Some(upstream) = head.extensions.remove::<OnUpgrade>()
        {
            upgrade.answered(&received, response.headers_mut());
            tokio::spawn(upgrade.join(upstream));
        }
        Ok(response)
    }
}

/// A client that asks for another protocol on its connection.
struct Upgrade {
    to: HeaderValue,
    client: OnUpgrade,
}

impl Upgrade {
    fn of(parts: &request::Parts) -> Option<Upgrade> {
        let to = parts.headers.get(UPGRADE)?.clone();
        Some(Upgrade { to, client: parts.extensions.get::<OnUpgrade>()?.clone() })
    }

    /// Asks the upstream for the same: the fields were taken off as those of one connection.
    fn ask(&self, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, self.to.clone());
    }

    /// Says what the upstream has agreed to.
    fn answered(&self, received: &HeaderMap, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, received.get(UPGRADE).unwrap_or(&self.to).clone());
    }

    /// Passes everything on in both directions, until either ends.
    async fn join(self, upstream: OnUpgrade) {
        // A connection that breaks off here has no answer that could say so.
        let Ok((client, upstream)) = tokio::try_join!(self.client, upstream) else { return };
        let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
        let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
    }
}

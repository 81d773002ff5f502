//! A request on its way to an upstream: told to the recorder, sent, its answer prepared.

use std::time::Instant;

use bytes::Bytes;
use http::Response;
use leafgate_record::Recorded;

use crate::answer;
use crate::apis::copilot;
use crate::arriving::Arriving;
use crate::exchange::Exchange;
use crate::outgoing::{Outgoing, OutgoingBody};
use crate::recording::ToldRequest;
use crate::stages::Along;
use leafgate_http::{Content, Refusal};

impl Exchange {
    /// Sends a request on, and prepares the answer for its client.
    pub(crate) async fn forward(
        &self,
        outgoing: Outgoing,
        along: Along,
    ) -> Result<Response<Content>, Refusal> {
        let answer = self.send(outgoing).await?;
        self.answered(answer, along).await
    }

    /// Has an answer judged and prepared for its client: the request will not be sent in another form.
    pub(crate) async fn answered(
        &self,
        answer: Response<Arriving>,
        along: Along,
    ) -> Result<Response<Content>, Refusal> {
        self.progress.recorded();
        let answer = self.rule(answer, along.ruling).await?;
        self.prepare(answer, along.restoring).await
    }

    /// Sends a request without a body on. What Copilot says of its models is put right by the way.
    pub(crate) async fn forward_bodyless(&self) -> Result<Response<Content>, Refusal> {
        let mut outgoing = Outgoing::new(&self.parts, OutgoingBody::None, false);
        if !copilot::asks_for_models(self.lane.kind, &self.parts) {
            return self.forward(outgoing, Along::default()).await;
        }
        outgoing.ask_for_plain_answer();
        let answer = Arriving::passes(self.send(outgoing).await?);
        let answer = self.edited(answer, copilot::without_sockets).await?;
        self.prepare(answer, None).await
    }

    /// Sends a request on, and returns the answer as it comes.
    pub(crate) async fn send(&self, mut outgoing: Outgoing) -> Result<Response<Arriving>, Refusal> {
        let progress = &self.progress;
        progress.sent(outgoing.body.whole().map_or(0, Bytes::len));
        let has_body = !matches!(outgoing.body, OutgoingBody::None);
        let told = self.tell(&mut outgoing).await?;
        let began = Instant::now();
        let sent = self.lane.send(outgoing).await;
        let response = sent.inspect_err(|_| progress.unanswered())?;
        let after = began.elapsed();
        progress.answered(response.status(), after);
        let response = Arriving::new(response, told, after);
        if has_body {
            answer::refuse_redirect(response.status())?;
        }
        Ok(response)
    }

    /// Tells the recorder, if there is one, what is about to leave. One that must have every request
    /// is waited for, and the request stays where it has none.
    async fn tell(&self, outgoing: &mut Outgoing) -> Result<Option<ToldRequest>, Refusal> {
        let Some(body) = outgoing.body.whole() else { return Ok(None) };
        let told = self.progress.leaves(|| self.next_record(), body);
        let Some((told, recorded)) = told else { return Ok(None) };
        let kept = match recorded {
            Recorded::Taken => true,
            Recorded::Missed => return Ok(None),
            Recorded::Awaited(kept) => kept.await.is_ok(),
            Recorded::Refused => false,
        };
        if !kept {
            return Err(Refusal::internal(
                "this gate must log every request and cannot write its log, so the request did not leave: \
                 `leafgate status` says why",
            ));
        }
        outgoing.ask_for_plain_answer();
        Ok(Some(told))
    }
}

//! What becomes of a request that a profile made, once it may leave.
//!
//! A provider that does not take it as it is says so before a byte of an answer. What it names is
//! left out then, as far as the profile allows: in the very bytes that were sent, which is judged
//! again and sent once more. A request that a person let go is never sent in another form before a
//! person let that one go as well.
//!
//! Nothing is sent again after an answer began.

mod answer;
mod judge;

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http::header::{HeaderName, HeaderValue};
use leafgate_assemble::{Api as AssembleApi, Refused, downgrade, refused};
use leafgate_policy::Otherwise;

use crate::arriving::Arriving;
use crate::begun;
use crate::exchange::Exchange;
use crate::stages::{Along, DowngradeFlow, Passed, RequestOutcome};
use leafgate_http::{Content, Refusal, content};

/// Says what a request does without.
const DOWNGRADE: HeaderName = HeaderName::from_static("leafgate-downgrade");

/// What is to be done about a refusal.
enum Next {
    /// Send this instead.
    Send(Bytes),
    /// Ask a person about it as it is.
    Ask,
    /// The client gets the provider's words.
    Pass,
}

impl Exchange {
    /// Sends a request that may leave. One that a profile made goes on in a lesser form where the
    /// provider refuses it.
    pub(crate) async fn deliver(
        &self,
        passed: Passed,
        is_begun: bool,
    ) -> Result<ControlFlow<Response<Content>, RequestOutcome>, Refusal> {
        let Passed { mut outgoing, mut along } = passed;
        let flow = along.flow.take();
        // What goes into a stream that has begun must be read, and so must an error: they come uncompressed.
        if is_begun || flow.is_some() {
            outgoing.ask_for_plain_answer();
        }
        let Some(mut flow) = flow else {
            return self.forward(outgoing, along).await.map(ControlFlow::Break);
        };
        let sent = outgoing.body.whole().cloned().unwrap_or_default();
        let answer = self.send(outgoing).await?;
        let (answer, refused) = match answer.status().is_client_error() {
            true => peeked(answer).await?,
            false => (answer, None),
        };
        let next = refused.map_or(Next::Pass, |refused| flow.next(refused, &sent, &mut along));
        let (body, ask) = match next {
            Next::Pass => {
                let response = self.answered(answer, along).await?;
                return self.as_asked(response, *flow, is_begun).await.map(ControlFlow::Break);
            }
            Next::Send(body) => (body, false),
            Next::Ask => (sent, true),
        };
        drop(answer);
        let exchange = self.clone();
        let judged = self.on_blocking_pool(move || flow.judge_again(&exchange, body, ask, along)).await?;
        judged.map(ControlFlow::Continue)
    }
}

impl DowngradeFlow {
    /// What is to be done where the provider does not take something.
    fn next(&mut self, refused: Refused, sent: &[u8], along: &mut Along) -> Next {
        let Some(api) = self.format.api() else { return Next::Pass };
        let allowed = &self.assembly.downgrade;
        let is_allowed = match refused {
            Refused::Model => return self.next_model(api, sent, along),
            Refused::Images => allowed.images,
            Refused::Tools => allowed.tools,
            Refused::Stream => self.assembly.replay_stream,
        };
        if is_allowed { self.without(api, refused, sent) } else { Next::Pass }
    }

    /// Leaves something out, once.
    fn without(&mut self, api: AssembleApi, refused: Refused, sent: &[u8]) -> Next {
        if !self.lessened.without.insert(refused) {
            return Next::Pass;
        }
        match downgrade(api, sent, refused, "") {
            Ok(Some(body)) => {
                // A stream that is replayed is no less.
                if refused != Refused::Stream {
                    self.lessened.words.push(refused.name().to_owned());
                }
                Next::Send(body.into())
            }
            Ok(None) | Err(_) => Next::Pass,
        }
    }

    fn next_model(&mut self, api: AssembleApi, sent: &[u8], along: &mut Along) -> Next {
        let assembly = Arc::clone(&self.assembly);
        let left = &assembly.downgrade.models[self.lessened.models..];
        for model in left {
            self.lessened.models += 1;
            if let Ok(Some(body)) = downgrade(api, sent, Refused::Model, model) {
                self.lessened.words.retain(|word| word != Refused::Model.name());
                self.lessened.words.push(Refused::Model.name().to_owned());
                if Arc::make_mut(&mut self.subject).ask_model(model, true) {
                    along.other_model = Some(model.as_str().into());
                }
                return Next::Send(body.into());
            }
        }
        // Who looks at a body cannot choose what stands in a path.
        let in_path = self.subject.api.target_of_model(&self.subject.to.path, "").is_some();
        if !in_path && assembly.downgrade.otherwise == Otherwise::Pause && !self.lessened.asked {
            self.lessened.asked = true;
            return Next::Ask;
        }
        Next::Pass
    }

    /// The value of the header that says what it does without.
    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let words = self.lessened.words.join(", ");
        let value = HeaderValue::from_str(&words).ok().filter(|_| !words.is_empty())?;
        Some((DOWNGRADE, value))
    }

    /// What the end of the answer says about it.
    fn footnote(&self) -> Option<String> {
        let words = &self.lessened.words;
        if words.is_empty() || !self.assembly.downgrade.footnote {
            return None;
        }
        let said = words.iter().map(|word| match word.as_str() {
            "model" => "another model was asked, since the one that was wanted is not there",
            "images" => "images were left out, since the provider takes none",
            _ => "tools were left out, since the provider takes none",
        });
        Some(format!("\n\n[leafgate: {}]", said.collect::<Vec<_>>().join("; ")))
    }
}

/// Reads an error, and gives the answer with it back, and what the provider does not take. One that is too long is not read.
async fn peeked(answer: Response<Arriving>) -> Result<(Response<Arriving>, Option<Refused>), Refusal> {
    let (parts, body) = Arriving::passes(answer).into_parts();
    let error = begun::error_body(body).await;
    let error = error.ok_or_else(|| Refusal::upstream("the upstream's error could not be read"))?;
    let refused = refused(parts.status.as_u16(), &error);
    Ok((Response::from_parts(parts, Arriving::recorded(content::full(error))), refused))
}

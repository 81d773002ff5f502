//! The answer to a request that a profile made, in the form that its client asked for.

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use leafgate_answer::{AnswerLimits, Api as AnswerApi, Reader, answer_events};
use serde_json::Value;

use crate::answer::gather_whole;
use crate::begun;
use crate::shared::Shared;
use crate::stages::DowngradeFlow;
use leafgate_http::{AnswerForm, Content, Refusal, Reservation, content};

impl Shared {
    /// Gives an answer the form that was asked for: an answer in one piece becomes a stream for
    /// whoever asked for one, and one to a lesser request ends with a sentence about it. All other
    /// answers pass as they come.
    pub(super) async fn as_asked(
        &self,
        mut answer: Response<Content>,
        flow: DowngradeFlow,
        is_begun: bool,
    ) -> Result<Response<Content>, Refusal> {
        let header = flow.header();
        if let Some((name, value)) = header.clone() {
            answer.headers_mut().insert(name, value);
        }
        // A count says no words.
        let Some(api) = flow.subject.api.answers.filter(|_| answer.status().is_success()) else {
            return Ok(answer);
        };
        let Some(came) = AnswerForm::of(answer.headers()) else { return Ok(answer) };
        let wanted = flow.wanted();
        let replays =
            came == AnswerForm::Whole && wanted == AnswerForm::Events && flow.assembly.replay_stream;
        if !replays && (came != wanted || flow.footnote().is_none()) {
            return Ok(answer);
        }
        let client = flow.subject.api;
        let made = flow.remade(answer, api, came, self.limits.answer);
        if wanted == AnswerForm::Whole || is_begun {
            return made.await;
        }
        let mut begun = begun::begin(made, client, self.limits.keepalive);
        if let Some((name, value)) = header {
            begun.headers_mut().insert(name, value);
        }
        Ok(begun)
    }
}

impl DowngradeFlow {
    /// The form that the client asked for.
    fn wanted(&self) -> AnswerForm {
        if self.streams { AnswerForm::Events } else { AnswerForm::Whole }
    }

    /// Reads an answer to its end and writes it anew. One that cannot be read as one of its API passes
    /// where that is possible: nothing was asked of it but a sentence more.
    async fn remade(
        self,
        answer: Response<Content>,
        api: AnswerApi,
        came: AnswerForm,
        most: usize,
    ) -> Result<Response<Content>, Refusal> {
        let (mut parts, body) = answer.into_parts();
        let bytes = gather_whole(body, most, 1, &mut Reservation::unbounded()).await?;
        let bytes = match self.written(&bytes, api, came, most) {
            Some(made) => made,
            None if came == self.wanted() => bytes,
            None => {
                return Err(Refusal::upstream(
                    "the upstream answered without a stream, and with no answer of its API",
                ));
            }
        };
        parts.headers.remove(CONTENT_LENGTH);
        if self.wanted() == AnswerForm::Events {
            parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        }
        Ok(Response::from_parts(parts, content::full(bytes)))
    }

    /// The answer in the form that was asked for, and with a sentence more; `None` for what is no answer, and where nothing changes.
    fn written(&self, bytes: &[u8], api: AnswerApi, came: AnswerForm, most: usize) -> Option<Bytes> {
        let limits = AnswerLimits { bytes: most, ..AnswerLimits::default() };
        let mut reader = match came {
            AnswerForm::Whole => Reader::whole(api, limits),
            AnswerForm::Events => Reader::stream(api, limits),
        };
        reader.push(bytes).ok()?;
        let answer = reader.finish().ok()?;
        if answer.failure.is_some() {
            return None;
        }
        let added = self.footnote().and_then(|footnote| answer.with_text(&footnote));
        if came == self.wanted() && added.is_none() {
            return None;
        }
        let whole = added.unwrap_or_else(|| answer.json());
        match self.wanted() {
            // A list of answers stays one.
            AnswerForm::Whole if bytes.trim_ascii_start().starts_with(b"[") => {
                Some(Value::from(vec![whole]).to_string().into())
            }
            AnswerForm::Whole => Some(whole.to_string().into()),
            AnswerForm::Events => {
                let events = answer_events(api, &whole, answer.reply.usage.is_some())?;
                Some(events.iter().map(ToString::to_string).collect::<String>().into())
            }
        }
    }
}

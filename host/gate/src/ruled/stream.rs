//! An answer that comes as a stream: it passes event by event up to its first tool call, and the
//! rest waits for its end, and for a person where one must decide.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use leafgate_answer::{
    Account, CallStream, Heard, Hearing, HeldAnswer, Holding, ReadError, Respelling, Step,
};
use tokio::time::sleep;

use super::texts::Texts;
use super::whole::{COPIES, Ruled, SoFar, too_large, unreadable};
use super::{AnswerOutcome, Ruling};
use crate::budget::{AnswerWeight, Reservation};
use crate::content::{self, Content, ContentError};
use crate::dialect;
use crate::gate::Shared;
use crate::log::RequestLogProgress;
use crate::refusal::Refusal;

type Deciding = Pin<Box<dyn Future<Output = Result<Bytes, Refusal>> + Send>>;
type Given = Option<Result<Frame<Bytes>, ContentError>>;

/// A stream that is judged.
struct Judging {
    shared: Arc<Shared>,
    ruling: Arc<Ruling>,
    progress: Arc<RequestLogProgress>,
    body: Content,
    /// What spells the stream anew before it is heard, where rules say so.
    respelling: Option<Respelling>,
    hearing: Hearing,
    /// What has come of the present event.
    event: BytesMut,
    /// `None` once the upstream's stream has ended.
    calls: Option<CallStream>,
    /// What reads the texts that pass, where rules do.
    texts: Option<Texts>,
    /// What it did, once no more texts pass.
    told: Option<SoFar>,
    /// What waits.
    held: BytesMut,
    /// What all events so far take.
    came: usize,
    reservation: Reservation,
    deciding: Option<Deciding>,
    over: bool,
}

impl Shared {
    pub(super) fn rule_stream(
        self: &Arc<Self>,
        answer: Response<Content>,
        ruling: &Arc<Ruling>,
        progress: &Arc<RequestLogProgress>,
    ) -> Response<Content> {
        let holding = match ruling.of.look_behind {
            _ if ruling.of.whole => Holding::All,
            Some(_) => Holding::Unspoken,
            None => Holding::Calls,
        };
        let account = Account::new(ruling.answers, ruling.sealed).of_several(ruling.several);
        let mut judging = Judging {
            shared: Arc::clone(self),
            ruling: Arc::clone(ruling),
            progress: Arc::clone(progress),
            body: Content::default(),
            respelling: ruling.of.respells.then(|| Respelling::new(self.limits.answer)),
            hearing: Hearing::new(account, self.limits.answer),
            event: BytesMut::new(),
            calls: Some(CallStream::new(ruling.answers, holding)),
            texts: (holding == Holding::Unspoken).then(|| Texts::new(self, ruling)),
            told: None,
            held: BytesMut::new(),
            came: 0,
            reservation: self.answers.reserve(),
            deciding: None,
            over: false,
        };
        answer.map(|body| {
            judging.body = body;
            content::stream(StreamBody::new(stream::unfold(judging, |mut judging| async {
                judging.next().await.map(|frame| (frame, judging))
            })))
        })
    }
}

impl Judging {
    /// What the client gets next.
    async fn next(&mut self) -> Given {
        loop {
            if self.over {
                return None;
            }
            let every = self.shared.limits.keepalive;
            if let Some(deciding) = &mut self.deciding {
                let decided = tokio::select! {
                    biased;
                    decided = deciding => decided,
                    () = sleep(every) => return self.sign_of_life(),
                };
                self.over = true;
                match decided {
                    Ok(rest) if rest.is_empty() => continue,
                    Ok(rest) => return Some(Ok(Frame::data(rest))),
                    Err(refusal) => return self.refuse(refusal),
                }
            }
            let frame = tokio::select! {
                biased;
                frame = self.body.frame() => frame,
                () = sleep(every), if self.keeps_waiting() => return self.sign_of_life(),
            };
            let given = match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.take(data),
                    // Trailers of a stream that waits say nothing that a client needs.
                    Err(_) => continue,
                },
                Some(Err(error)) => {
                    self.over = true;
                    return Some(Err(error));
                }
                None => self.end(),
            };
            match given {
                Ok(passed) if passed.is_empty() => {}
                Ok(passed) => return Some(Ok(Frame::data(passed))),
                Err(refusal) => return self.refuse(refusal),
            }
        }
    }

    /// Whether something came that did not go on.
    fn keeps_waiting(&self) -> bool {
        !self.held.is_empty() || self.texts.as_ref().is_some_and(Texts::are_waiting)
    }

    fn sign_of_life(&self) -> Given {
        Some(Ok(Frame::data(dialect::keepalive(self.ruling.api))))
    }

    /// Ends the stream with an error.
    fn refuse(&mut self, refusal: Refusal) -> Given {
        self.over = true;
        self.tell(AnswerOutcome::Blocked);
        self.shared.not_judged(&self.progress);
        self.shared.refused(&refusal, &self.progress);
        Some(Ok(Frame::data(refusal.events(self.ruling.api))))
    }

    /// Takes more of the stream, and returns what goes on.
    fn take(&mut self, mut data: Bytes) -> Result<Bytes, Refusal> {
        if let Some(respelling) = &mut self.respelling {
            data = respelling.push(data);
        }
        let steps = self.hearing.push(data);
        self.steps(steps)
    }

    fn steps(&mut self, steps: Vec<(Bytes, Step)>) -> Result<Bytes, Refusal> {
        let (mut passed, most) = (BytesMut::new(), self.shared.limits.answer);
        for (bytes, step) in steps {
            let is_within = !self.event.is_empty();
            self.event.extend_from_slice(&bytes);
            if self.event.len() > most {
                return Err(too_large(most));
            }
            match step {
                Step::Within => {}
                Step::Comment | Step::Feed if is_within => {}
                Step::Event(heard) | Step::End(Some(heard)) => self.heard(&heard, &mut passed)?,
                Step::Comment | Step::Feed | Step::End(None) | Step::Done => self.between(&mut passed)?,
                Step::Odd => return Err(unreadable(&ReadError::Unclear)),
            }
        }
        Ok(passed.freeze())
    }

    /// What stands between events goes where the last event went.
    fn between(&mut self, passed: &mut BytesMut) -> Result<(), Refusal> {
        let bytes = self.event.split().freeze();
        match &mut self.texts {
            _ if self.calls.as_ref().is_some_and(CallStream::holds) => self.held.extend_from_slice(&bytes),
            Some(texts) => passed.extend_from_slice(&texts.between(bytes)?),
            None => passed.extend_from_slice(&bytes),
        }
        Ok(())
    }

    fn heard(&mut self, heard: &Heard, passed: &mut BytesMut) -> Result<(), Refusal> {
        let event = self.event.split().freeze();
        let Some(calls) = &mut self.calls else { return Ok(()) };
        self.came += event.len();
        let most = self.shared.limits.answer;
        let weight = AnswerWeight::of_events(self.came, calls.values() + heard.document.node_count());
        if self.came > most || self.reservation.cover(weight.total(COPIES)).is_err() {
            return Err(too_large(most));
        }
        if calls.take(heard, self.hearing.account()).map_err(|error| unreadable(&error))? {
            // What was said before is over.
            self.finish_texts(passed)?;
            self.held.extend_from_slice(&event);
        } else if let Some(texts) = &mut self.texts {
            passed.extend_from_slice(&texts.event(event, heard, self.hearing.account())?);
        } else {
            passed.extend_from_slice(&event);
        }
        Ok(())
    }

    fn finish_texts(&mut self, passed: &mut BytesMut) -> Result<(), Refusal> {
        let Some(mut texts) = self.texts.take() else { return Ok(()) };
        let finished = texts.finish();
        self.told = Some(SoFar { tail: texts.tail(), tally: texts.tally, changed: texts.changed });
        passed.extend_from_slice(&finished?);
        Ok(())
    }

    /// Tells what became of an answer about whose calls nobody decided: at least this.
    fn tell(&mut self, least: AnswerOutcome) {
        let texts = self.texts.take().map(|texts| SoFar {
            tail: String::new(),
            tally: texts.tally,
            changed: texts.changed,
        });
        let Some(SoFar { tally, changed, .. }) = self.told.take().or(texts) else { return };
        self.shared.rules_ran(&self.ruling, &tally);
        let outcome = if changed { AnswerOutcome::Changed } else { AnswerOutcome::Passed };
        self.shared.answer_is(outcome.max(least), &tally, &self.progress);
    }

    /// The upstream's stream has ended.
    fn end(&mut self) -> Result<Bytes, Refusal> {
        let rest = self.respelling.as_mut().map(Respelling::finish).unwrap_or_default();
        let mut steps = self.hearing.push(rest);
        steps.extend(self.hearing.finish());
        let mut passed = BytesMut::from(self.steps(steps)?);
        self.finish_texts(&mut passed)?;
        let account = self.hearing.account();
        let calls = self.calls.take().map(|calls| calls.finish(account)).transpose();
        match calls.map_err(|error| unreadable(&error))?.flatten() {
            None => {
                self.over = true;
                self.tell(AnswerOutcome::Passed);
            }
            Some(held) => self.deciding = Some(self.decide(held)),
        }
        Ok(passed.freeze())
    }

    fn decide(&mut self, held: HeldAnswer) -> Deciding {
        let (shared, ruling) = (Arc::clone(&self.shared), Arc::clone(&self.ruling));
        let (progress, as_it_came) = (Arc::clone(&self.progress), self.held.split().freeze());
        let mut told = self.told.take().unwrap_or_default();
        // What is said again is judged from its beginning, and goes on with nothing.
        if held.says_texts_again() {
            told.tail.clear();
        }
        Box::pin(async move {
            match shared.ruled(&ruling, held.answer.clone(), held.texts(), told, &progress).await? {
                Ruled::Unchanged => Ok(as_it_came),
                Ruled::Changed(changed) => {
                    let rest = held.rest(&changed.json()).ok_or_else(|| {
                        Refusal::internal("what was decided cannot be told in a stream that has begun")
                    })?;
                    Ok(rest.iter().map(ToString::to_string).collect::<String>().into())
                }
            }
        })
    }
}

impl Drop for Judging {
    /// Its client may have gone while it came: what rules did is told all the same.
    fn drop(&mut self) {
        self.tell(AnswerOutcome::Passed);
    }
}

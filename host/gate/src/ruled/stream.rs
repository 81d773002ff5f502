//! An answer that comes as a stream: it passes event by event up to its first tool call, and the
//! rest waits for its end, and for a person where one must decide.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body::Frame;
use http_body_util::BodyExt as _;
use leafgate_answer::{
    Account, AnswerError, Gathered, Gathering, Heard, Hearing, Holding, Respelling, RunKind, StreamStep,
};
use leafgate_record::AnswerOutcome;
use tokio::time::{sleep, timeout};

use super::RuledExchange;
use super::texts::PassingTexts;
use super::whole::{COPIES, SoFar, too_large, unreadable};
use crate::apis::dialect;
use crate::arriving::Arriving;
use crate::recording::ToldRequest;
use leafgate_http::{AnswerWeight, Content, ContentError, Refusal, Reservation, content};

type Deciding = Pin<Box<dyn Future<Output = Result<Bytes, Refusal>> + Send>>;
type Given = Option<Result<Frame<Bytes>, ContentError>>;

/// A stream that is judged.
struct Judging {
    exchange: Arc<RuledExchange>,
    body: Content,
    /// What spells the stream anew before it is heard, where rules say so.
    respelling: Option<Respelling>,
    hearing: Hearing,
    /// What has come of the present event.
    event: BytesMut,
    /// `None` once the upstream's stream has ended.
    gathering: Option<Gathering>,
    /// Who is told what is heard.
    recorder: Option<ToldRequest>,
    /// What reads the texts that pass, where rules do.
    texts: Option<PassingTexts>,
    /// What waits.
    held: BytesMut,
    /// What all events so far take.
    came: usize,
    reservation: Reservation,
    deciding: Option<Deciding>,
    over: bool,
}

impl RuledExchange {
    pub(super) fn rule_stream(self: &Arc<Self>, answer: Arriving) -> Content {
        let (body, recorder) = answer.heard();
        let most = self.shared.limits.answer;
        let holding = match self.of.look_behind {
            _ if self.of.whole => Holding::All,
            Some(_) => Holding::Unspoken,
            None => Holding::Calls,
        };
        let account = Account::new(self.ruling.answers, self.sealed).of_several(self.several);
        let judging = Judging {
            exchange: Arc::clone(self),
            body,
            respelling: self.of.respells.then(|| Respelling::new(most)),
            hearing: Hearing::new(account, most),
            event: BytesMut::new(),
            gathering: Some(Gathering::new(self.ruling.answers, Some(holding))),
            recorder,
            texts: (holding == Holding::Unspoken).then(|| PassingTexts::new(self)),
            held: BytesMut::new(),
            came: 0,
            reservation: self.shared.answers.reserve(),
            deciding: None,
            over: false,
        };
        content::unfold(judging, |mut judging| async { judging.next().await.map(|frame| (frame, judging)) })
    }
}

impl Judging {
    /// What the client gets next.
    async fn next(&mut self) -> Given {
        loop {
            if self.over {
                return None;
            }
            let every = self.exchange.shared.limits.keepalive;
            if let Some(deciding) = &mut self.deciding {
                let Ok(decided) = timeout(every, deciding).await else { return self.sign_of_life() };
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
                    self.record_end(false);
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
        !self.held.is_empty() || self.texts.as_ref().is_some_and(PassingTexts::are_waiting)
    }

    fn sign_of_life(&self) -> Given {
        Some(Ok(Frame::data(dialect::keepalive(self.exchange.api))))
    }

    /// Ends the stream with an error.
    fn refuse(&mut self, refusal: Refusal) -> Given {
        self.over = true;
        self.record_end(false);
        self.tell(AnswerOutcome::Blocked);
        self.exchange.not_judged();
        self.exchange.progress.refused(&refusal);
        Some(Ok(Frame::data(dialect::ending(&refusal, self.exchange.api))))
    }

    /// Takes more of the stream, and returns what goes on.
    fn take(&mut self, mut data: Bytes) -> Result<Bytes, Refusal> {
        if let Some(respelling) = &mut self.respelling {
            data = respelling.push(data);
        }
        let steps = self.hearing.push(data);
        self.steps(steps)
    }

    fn steps(&mut self, steps: Vec<(Bytes, StreamStep)>) -> Result<Bytes, Refusal> {
        let (mut passed, most) = (BytesMut::new(), self.exchange.shared.limits.answer);
        for (bytes, step) in steps {
            let is_within = !self.event.is_empty();
            self.event.extend_from_slice(&bytes);
            if self.event.len() > most {
                return Err(too_large(most));
            }
            if let Some(gathering) = &mut self.gathering {
                let said = gathering.take(&step, self.hearing.account());
                self.recorder.iter().for_each(|told| told.said(&said));
                if gathering.is_odd() {
                    return Err(unreadable(AnswerError::Unclear));
                }
            }
            match step {
                StreamStep::Within => {}
                StreamStep::Comment | StreamStep::Feed if is_within => {}
                StreamStep::Event(heard) | StreamStep::End(Some(heard)) => self.heard(&heard, &mut passed)?,
                StreamStep::Comment
                | StreamStep::Feed
                | StreamStep::End(None)
                | StreamStep::Done
                | StreamStep::Odd => {
                    self.between(&mut passed)?;
                }
            }
        }
        Ok(passed.freeze())
    }

    fn holds(&self) -> bool {
        self.gathering.as_ref().is_some_and(Gathering::holds)
    }

    /// What stands between events goes where the last event went.
    fn between(&mut self, passed: &mut BytesMut) -> Result<(), Refusal> {
        let (bytes, holds) = (self.event.split().freeze(), self.holds());
        match &mut self.texts {
            _ if holds => self.held.extend_from_slice(&bytes),
            Some(texts) => passed.extend_from_slice(&texts.between(bytes)?),
            None => passed.extend_from_slice(&bytes),
        }
        Ok(())
    }

    fn heard(&mut self, heard: &Heard, passed: &mut BytesMut) -> Result<(), Refusal> {
        let event = self.event.split().freeze();
        self.came += event.len();
        let (most, kept) =
            (self.exchange.shared.limits.answer, self.gathering.as_ref().map_or(0, Gathering::values));
        let weight = AnswerWeight::of_events(self.came, kept + heard.document.node_count());
        if self.came > most || self.reservation.cover(weight.total(COPIES)).is_err() {
            return Err(too_large(most));
        }
        if self.holds() {
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
        if let Some(texts) = &mut self.texts {
            passed.extend_from_slice(&texts.finish()?);
        }
        Ok(())
    }

    /// Tells what became of an answer about whose calls nobody decided: at least this.
    fn tell(&mut self, least: AnswerOutcome) {
        let Some(SoFar { tally, changed }) = self.texts.take().map(|texts| texts.so_far) else { return };
        self.exchange.progress.answer_judged(&self.exchange.policy, &tally);
        let outcome = if changed { AnswerOutcome::Changed } else { AnswerOutcome::Passed };
        self.exchange.answer_is(outcome.max(least), &tally);
    }

    /// The upstream's stream has ended.
    fn end(&mut self) -> Result<Bytes, Refusal> {
        let rest = self.respelling.as_mut().map(Respelling::finish).unwrap_or_default();
        let mut steps = self.hearing.push(rest);
        steps.extend(self.hearing.finish());
        let mut passed = BytesMut::from(self.steps(steps)?);
        self.finish_texts(&mut passed)?;
        let holds = self.holds();
        match self.record_end(true).filter(|_| holds).transpose().map_err(unreadable)? {
            None => {
                self.over = true;
                self.tell(AnswerOutcome::Passed);
            }
            Some(gathered) if gathered.answer.is_odd => return Err(unreadable(AnswerError::Unclear)),
            Some(gathered) => self.deciding = Some(self.decide(gathered)),
        }
        Ok(passed.freeze())
    }

    /// Reads what came to its end where somebody wants to know, and tells the recorder.
    fn record_end(&mut self, complete: bool) -> Option<Result<Gathered, AnswerError>> {
        let gathering = self.gathering.take()?;
        let is_wanted = self.recorder.is_some() || complete && gathering.holds();
        let gathered = is_wanted.then(|| gathering.finish(self.hearing.account()))?;
        if let Some(mut told) = self.recorder.take() {
            told.end(complete, gathered.as_ref().ok().map(|gathered| &gathered.answer));
        }
        Some(gathered)
    }

    fn decide(&mut self, held: Gathered) -> Deciding {
        let (exchange, as_it_came) = (Arc::clone(&self.exchange), self.held.split().freeze());
        let passed = self.texts.take();
        let end = |kind| passed.as_ref().map(|texts| texts.end_of(kind)).unwrap_or_default();
        // Each once: a stream may have many runs of a kind.
        let (said, thought) = (end(RunKind::Said), end(RunKind::Thought));
        let texts = held.texts(|kind| match kind {
            RunKind::Said => said.clone(),
            RunKind::Thought => thought.clone(),
            RunKind::Beside => String::new(),
        });
        let told = passed.map(|texts| texts.so_far).unwrap_or_default();
        Box::pin(async move {
            let Some(changed) = exchange.ruled(held.answer.clone(), texts, told).await? else {
                return Ok(as_it_came);
            };
            let rest = held.rest(&changed.json()).ok_or_else(|| {
                Refusal::internal("what was decided cannot be told in a stream that has begun")
            })?;
            Ok(rest.iter().map(ToString::to_string).collect::<String>().into())
        })
    }
}

impl Drop for Judging {
    /// Its client may have gone while it came: what rules did is told all the same.
    fn drop(&mut self) {
        self.record_end(false);
        self.tell(AnswerOutcome::Passed);
    }
}

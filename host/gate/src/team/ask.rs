//! One request of a frame to the model: judged, sent, and its answer read to the end.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use leafgate_agents::{ModelTurn, Why};
use leafgate_answer::{Answer, AnswerLimits, Delta, Reader};
use leafgate_assemble::{Refused, refused};
use tokio::sync::SemaphorePermit;

use super::drive::RunCase;
use super::live::{Given, LiveRun};
use crate::arriving::Arriving;
use crate::begun;
use crate::blocked::{NOT_ELSEWHERE, blocked};
use crate::exchange::Exchange;
use crate::judge::{Asker, JudgeCase};
use crate::log::RequestProgress;
use crate::ruled::{Ruling, SoFar};
use crate::stages::{Along, Passed, RequestOutcome};
use leafgate_http::{Code, Content, Refusal, content, media};

/// What became of a request of a frame.
pub(super) enum FrameAnswer {
    /// The model answered.
    Turn(ModelTurn),
    /// The provider takes no tools.
    ToolsRefused(Unanswered),
    /// There is no answer.
    Failed(Why, Unanswered),
}

/// What a request of a frame was answered with that the model did not answer: the provider's error, or why there is none.
pub(super) type Unanswered = Result<Response<Content>, Refusal>;

/// Returns true for an error that says nothing of the request: who asks may not, or not now, or asks a model that is not
/// there. The same client's next request, however it is spelled, meets the same.
fn fares_no_better(status: StatusCode) -> bool {
    matches!(status.as_u16(), 401..=404 | 407 | 429)
}

impl RunCase {
    /// Asks the model for an agent, as rules know it: `agents/reviewer`. Rules, people and the
    /// upstream each can say no. The turn in which the body was spelled lasts until it is judged.
    /// `live` shows the words to the client; where rules decide about them, it does so later.
    pub(super) async fn ask(
        &self,
        body: Bytes,
        agent: Arc<str>,
        asker: Asker,
        turn: SemaphorePermit<'_>,
        live: Option<&LiveRun>,
    ) -> FrameAnswer {
        // A recorder is told of each frame's request by itself.
        let progress = Arc::new(RequestProgress::new(&self.counters));
        let exchange = Exchange { progress, ..Exchange::clone(self) };
        let case = match self.case(&exchange, body, agent, Some(asker)) {
            Ok(case) => case,
            Err(refusal) => return not_asked(&exchange, Why::Policy, refusal),
        };
        let passed = match let_through(&exchange, case, turn).await {
            Ok(passed) => passed,
            Err(refusal) => return not_asked(&exchange, Why::Policy, refusal),
        };
        // What frames hear stays as the model says it: values come back in what the client reads.
        let Passed { mut outgoing, along: Along { ruling, .. } } = passed;
        outgoing.ask_for_plain_answer();
        self.progress.goes(|marks| marks.sent += outgoing.body.whole().map_or(0, Bytes::len));
        let answer = exchange.send(outgoing).await;
        exchange.progress.recorded();
        match answer {
            Ok(answer) if answer.status().is_success() => {
                match self.read(answer, live.filter(|_| ruling.is_none())).await {
                    Some(answer) => self.ruled(&exchange, answer, ruling).await,
                    None => FrameAnswer::Failed(Why::Unreadable, Err(unreadable())),
                }
            }
            Ok(answer) => refused_by_upstream(answer).await,
            Err(refusal) => not_asked(&exchange, Why::Upstream, refusal),
        }
    }

    /// Has an answer judged, which waits where a person must decide about its calls.
    async fn ruled(&self, exchange: &Exchange, answer: Answer, ruling: Option<Arc<Ruling>>) -> FrameAnswer {
        let turn =
            |answer: Answer| FrameAnswer::Turn(ModelTurn { turn: answer.turn().into(), reply: answer.reply });
        let Some(ruling) = ruling else { return turn(answer) };
        let texts = answer.texts().to_vec();
        let ruled = exchange.ruled_by(ruling).ruled(answer.clone(), texts, SoFar::default()).await;
        self.progress.ruled_as(&exchange.progress);
        match ruled {
            Ok(changed) => turn(changed.unwrap_or(answer)),
            Err(refusal) => not_asked(exchange, Why::Policy, refusal),
        }
    }

    /// Reads an answer to its end; `None` for what is none, for one that was cut off, and for what
    /// clients could read in another way.
    async fn read(&self, answer: Response<Arriving>, live: Option<&LiveRun>) -> Option<Answer> {
        let limits = AnswerLimits { bytes: self.limits.answer, ..AnswerLimits::default() };
        let api = self.wire.answers;
        let mut reader = match media::is_event_stream(answer.headers()) {
            true => Reader::stream(api, limits),
            false => Reader::whole(api, limits),
        };
        let mut reservation = self.answers.reserve();
        let mut bytes = 0;
        let (mut body, mut told) = answer.into_body().heard();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.ok()?.into_data() else { continue };
            bytes += data.len();
            reservation.cover(bytes).ok()?;
            let said = reader.push(&data).ok()?;
            told.iter().for_each(|told| told.said(&said));
            for delta in said {
                if let (Delta::Content(text), Some(live)) = (delta, live) {
                    live.says(text.expose());
                }
            }
        }
        let turn = self.teams.turn().await;
        let answer = reader.finish().ok();
        drop(turn);
        if let Some(told) = &mut told {
            told.end(true, answer.as_ref());
        }
        answer.filter(|answer| answer.failure.is_none() && !answer.is_cut_off && !answer.is_odd)
    }

    /// Answers the client with what ended its run.
    pub(super) async fn unanswered(&self, with: Unanswered) -> Given {
        self.prepare(with?, self.restoring()).await.map(Some)
    }
}

/// Has a body judged, and waits where a person must decide.
async fn let_through(
    exchange: &Exchange,
    case: JudgeCase,
    turn: SemaphorePermit<'_>,
) -> Result<Passed, Refusal> {
    let outcome = exchange.judge_told(case).await;
    drop(turn);
    match outcome? {
        RequestOutcome::Pass(passed) => Ok(passed),
        RequestOutcome::Route(route, _) => Err(blocked(&route.refused(NOT_ELSEWHERE))),
        RequestOutcome::Wait(mut held) => {
            let decision = held.waiter.decision().await;
            exchange.release(held, decision).await
        }
    }
}

/// Tells of a frame's request that has no answer.
fn not_asked(exchange: &Exchange, why: Why, refusal: Refusal) -> FrameAnswer {
    exchange.progress.refused(&refusal);
    FrameAnswer::Failed(why, Err(refusal))
}

fn unreadable() -> Refusal {
    Refusal::upstream("the model's answer could not be read: ask again")
}

/// Reads an upstream's error, which the client gets where nothing else answers it.
async fn refused_by_upstream(answer: Response<Arriving>) -> FrameAnswer {
    let (parts, body) = Arriving::passes(answer).into_parts();
    let status = parts.status;
    tracing::warn!(target: "leafgate::agents", status = status.as_u16(), "the upstream refused a frame's request");
    let why = if fares_no_better(status) { Why::Refused } else { Why::Upstream };
    let Some(error) = begun::error_body(body).await else {
        let said = format!("the upstream answered with status {}", status.as_u16());
        return FrameAnswer::Failed(why, Err(Refusal::new(status, Code::Upstream, said)));
    };
    let takes_no_tools = refused(status.as_u16(), &error) == Some(Refused::Tools);
    let answer = Ok(Response::from_parts(parts, content::full(error)));
    if takes_no_tools { FrameAnswer::ToolsRefused(answer) } else { FrameAnswer::Failed(why, answer) }
}

//! One whole answer, judged without waiting: by response rules, then what decides about its calls.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_answer::{Answer, AnswerError, Call, CallError, TextRun, respelled};
use leafgate_policy::answers::{self, NotWritten};
use leafgate_policy::{Approval, Cause, Evaluation, Hold, On, Rest, Route, Verdict};
use leafgate_tree::{Document, Format};
use serde_json::Value;

use super::Ruling;
use crate::blocked::{because, blocked};
use crate::pending::{PausedTurn, Waiter};
use crate::shared::Shared;
use crate::tally::RuleTally;
use leafgate_http::refusal::Refusal;

/// The name that stands for a rule where a profile decides. No rule can be called that.
const PROFILE: &str = "(profile)";

/// An answer that nothing holds back.
pub(super) struct JudgedAnswer {
    /// As response rules left it; `None` where they changed nothing.
    pub(super) changed: Option<Answer>,
    pub(super) calls: CallsDecision,
}

/// What becomes of the calls of an answer.
pub(super) enum CallsDecision {
    /// They pass.
    Pass,
    /// They do not, for this reason.
    Refused(String),
    /// A person decides.
    Wait(Waiter),
}

impl Ruling {
    /// Judges an answer. `texts` are those that response rules read: of a stream that was read
    /// while it came, they have read most. What rules did is added to `told`, also where they block.
    pub(super) fn judge(
        &self,
        shared: &Arc<Shared>,
        answer: &Answer,
        texts: &[TextRun],
        told: &mut RuleTally,
    ) -> Result<JudgedAnswer, Refusal> {
        let responds = self.of.whole || self.of.look_behind.is_some();
        let changed = if responds { self.respond(shared, answer, texts, told)? } else { None };
        let calls = changed.as_ref().unwrap_or(answer).calls();
        let calls = match self.asks_about_calls() && !calls.is_empty() {
            true => self.decide(shared, calls, told)?,
            false => CallsDecision::Pass,
        };
        Ok(JudgedAnswer { changed, calls })
    }

    /// Has response rules change an answer; `None` where they change nothing.
    fn respond(
        &self,
        shared: &Arc<Shared>,
        answer: &Answer,
        texts: &[TextRun],
        told: &mut RuleTally,
    ) -> Result<Option<Answer>, Refusal> {
        let (said, calls) = (answers::texts(answer, texts), answer.calls());
        if said.is_empty() && calls.is_empty() {
            return Ok(None);
        }
        self.pass_joined(shared, &said, told)?;
        let before = answers::written(self.model.as_deref(), &said, calls);
        let Some(after) = self.changed(shared, before, told)? else { return Ok(None) };
        let put = answers::put_back(answer, texts, &after);
        let put = put.map_err(|error| match error {
            NotWritten::Gone | NotWritten::Call(CallError::Sealed) => Refusal::upstream(error.to_string()),
            NotWritten::Form | NotWritten::Call(_) => Refusal::internal(error.to_string()),
        });
        self.read_again(&put?).map(Some)
    }

    /// Reads an answer as it came, or where rules say so and it is odd, as it is spelled anew.
    pub(super) fn read(&self, came: &Bytes) -> Result<Answer, AnswerError> {
        let read = Answer::read(self.answers, came.clone());
        if read.as_ref().is_ok_and(|answer| !answer.is_odd) {
            return read;
        }
        let spelled = self.of.respells.then(|| respelled(came)).flatten();
        spelled.map_or(read, |spelled| Answer::read(self.answers, spelled))
    }

    /// Reads an answer that was changed: what leaves is what is judged further.
    pub(super) fn read_again(&self, changed: &Value) -> Result<Answer, Refusal> {
        Answer::read(self.answers, changed.to_string().into()).and_then(Answer::sound).map_err(|error| {
            Refusal::internal(format!("the answer cannot be read as it was changed: {error}"))
        })
    }

    /// Has rules and the profile decide about calls.
    fn decide(
        &self,
        shared: &Arc<Shared>,
        calls: &[Call],
        told: &mut RuleTally,
    ) -> Result<CallsDecision, Refusal> {
        let body = answers::calls_written(self.model.as_deref(), calls);
        let evaluation = self.evaluate(shared, body, On::ToolCall)?;
        told.also(RuleTally::of(&evaluation));
        let mut holds = match &evaluation.verdict {
            Verdict::Block(hold) => return Ok(CallsDecision::Refused(because(hold))),
            Verdict::Pause(holds) => holds.clone(),
            Verdict::Route(route) => return Ok(CallsDecision::Refused(because(&not_routed(route)))),
            Verdict::Forward => Vec::new(),
        };
        let passes = |approval: &Approval, name: &str| approval.passes(name) && self.offered.has(name);
        if let Some(approval) =
            self.approval().filter(|approval| calls.iter().any(|call| !passes(approval, call.name.expose())))
        {
            let id = self.assembly.as_ref().map(|assembly| assembly.id().to_string()).unwrap_or_default();
            match approval.rest() {
                Rest::Block => {
                    return Ok(CallsDecision::Refused(format!("profile `{id}` does not allow it")));
                }
                Rest::Ask if holds.is_empty() => {
                    let reason = format!("Profile `{id}` asks before a tool is run");
                    holds.push(Hold::new(PROFILE.into(), Cause::Rule, reason));
                }
                Rest::Ask => {}
            }
        }
        if holds.is_empty() {
            return Ok(CallsDecision::Pass);
        }
        let paused = PausedTurn::of(On::ToolCall, &self.subject, evaluation, holds, None);
        Ok(CallsDecision::Wait(shared.turns.pause(paused)))
    }

    /// Texts of an answer that follow each other, as response rules leave them, joined.
    pub(super) fn texts(
        &self,
        shared: &Arc<Shared>,
        texts: &[&str],
        told: &mut RuleTally,
    ) -> Result<String, Refusal> {
        let said = [texts.iter().map(ToString::to_string).collect::<Vec<_>>()];
        self.pass_joined(shared, &said, told)?;
        let before = answers::written(self.model.as_deref(), &said, &[]);
        let Some(after) = self.changed(shared, before, told)? else { return Ok(texts.concat()) };
        let read = answers::read(&after, &[texts.len()]).map(|(texts, _)| texts.concat().concat());
        read.ok_or_else(|| Refusal::internal("response rules left no answer that can be read"))
    }

    /// Has rules look at texts as those clients have them who join them: what holds the one text holds the answer. What is
    /// taken out of it is taken out of its parts.
    fn pass_joined(
        &self,
        shared: &Arc<Shared>,
        said: &[Vec<String>],
        told: &mut RuleTally,
    ) -> Result<(), Refusal> {
        let joined: Vec<Vec<String>> =
            said.iter().filter(|texts| texts.len() > 1).map(|texts| vec![texts.concat()]).collect();
        if joined.is_empty() {
            return Ok(());
        }
        let body = answers::written(self.model.as_deref(), &joined, &[]);
        let evaluation = self.evaluate(shared, body, On::Response)?;
        let Some(hold) = held(&evaluation) else { return Ok(()) };
        told.also(RuleTally::of(&evaluation));
        Err(blocked(&hold))
    }

    /// What response rules make of an answer that is spelled as a request; `None` where they change
    /// nothing.
    fn changed(
        &self,
        shared: &Arc<Shared>,
        before: Bytes,
        told: &mut RuleTally,
    ) -> Result<Option<Bytes>, Refusal> {
        let evaluation = self.evaluate(shared, before.clone(), On::Response)?;
        told.also(RuleTally::of(&evaluation));
        if let Some(hold) = held(&evaluation) {
            return Err(blocked(&hold));
        }
        let after = evaluation.draft.render();
        Ok((after != before).then_some(after))
    }

    fn evaluate(&self, shared: &Arc<Shared>, body: Bytes, on: On) -> Result<Evaluation, Refusal> {
        let mut document =
            Document::parse(body, Format::OpenaiChat, &shared.limits.document).map_err(|error| {
                Refusal::upstream(format!("rules decide about the answer, and it cannot be read: {error}"))
            })?;
        document.doubt_calls(|name| self.offered.has(name));
        Ok(self.policy.evaluate(Arc::new(document), &self.context(on, &[]), &self.vault))
    }
}

/// What holds an answer. It waits for nobody, so a rule that would have it wait blocks it.
fn held(evaluation: &Evaluation) -> Option<Hold> {
    match &evaluation.verdict {
        Verdict::Forward => None,
        Verdict::Block(hold) => Some(hold.clone()),
        Verdict::Pause(holds) => holds.first().cloned(),
        Verdict::Route(route) => Some(not_routed(route)),
    }
}

/// An answer has come from where its request went. No rule that loads asks for more.
fn not_routed(route: &Route) -> Hold {
    route.clone().refused("answers go to nobody but their client")
}

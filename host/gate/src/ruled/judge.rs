//! One whole answer, judged without waiting: by response rules, then what decides about its calls.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_answer::{Answer, AnswerError, Call, CallError, TextRun, respelled};
use leafgate_policy::answers::{self, NotWritten};
use leafgate_policy::{Cause, Evaluation, Hold, On, Rest, Route, Verdict};
use leafgate_tree::{Document, Format};
use serde_json::Value;

use super::RuledExchange;
use crate::blocked::{because, blocked};
use crate::pending::Waiter;
use crate::tally::RuleTally;
use leafgate_http::Refusal;

/// The name that stands for a rule where a profile decides. No rule can be called that.
const PROFILE: &str = "(profile)";

/// An answer that nothing holds back.
pub(super) struct JudgedAnswer {
    /// As response rules left it; `None` where they changed nothing.
    pub(super) changed: Option<Answer>,
    /// Why each of its calls does not pass, where it does not; empty where nobody decides about calls.
    pub(super) refused: Vec<Option<String>>,
    /// Through whom a person decides about the others; `None` where they pass.
    pub(super) waiter: Option<Waiter>,
}

impl RuledExchange {
    /// Judges an answer. `texts` are those that response rules read: of a stream that was read
    /// while it came, they have read most. What rules did is added to `told`, also where they block.
    pub(super) fn judge(
        &self,
        answer: &Answer,
        texts: &[TextRun],
        told: &mut RuleTally,
    ) -> Result<JudgedAnswer, Refusal> {
        let responds = self.of.whole || self.of.look_behind.is_some();
        let changed = if responds { self.respond(answer, texts, told)? } else { None };
        let calls = changed.as_ref().unwrap_or(answer).calls();
        let (refused, waiter) = match self.asks_about_calls() && !calls.is_empty() {
            true => self.decide(calls, told)?,
            false => Default::default(),
        };
        Ok(JudgedAnswer { changed, refused, waiter })
    }

    /// Has response rules change an answer; `None` where they change nothing.
    fn respond(
        &self,
        answer: &Answer,
        texts: &[TextRun],
        told: &mut RuleTally,
    ) -> Result<Option<Answer>, Refusal> {
        let (said, calls) = (answers::texts(answer, texts), answer.calls());
        if said.is_empty() && calls.is_empty() {
            return Ok(None);
        }
        self.pass_joined(&said, told)?;
        let before = answers::written(self.model.as_deref(), &said, calls);
        let Some(after) = self.changed(before, told)? else { return Ok(None) };
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

    /// Has rules and the profile decide about calls: why each is refused, and whom to ask about the others. What is refused is
    /// refused for its own reason, and the others are judged without it: a call that does not pass takes no other one along.
    fn decide(
        &self,
        calls: &[Call],
        told: &mut RuleTally,
    ) -> Result<(Vec<Option<String>>, Option<Waiter>), Refusal> {
        let mut refused = vec![None; calls.len()];
        loop {
            let left: Vec<(usize, &Call)> =
                calls.iter().enumerate().filter(|(at, _)| refused[*at].is_none()).collect();
            if left.is_empty() {
                return Ok((refused, None));
            }
            let evaluation = self.evaluate_calls(left.iter().map(|(_, call)| *call))?;
            // What matched matched when all of them were there.
            if left.len() == calls.len() {
                told.also(RuleTally::of(&evaluation));
            }
            let gone = match never(&evaluation) {
                Some(hold) => self.blocked_calls(&left, &hold)?,
                None => self.unapproved(&left),
            };
            if gone.is_empty() {
                return Ok((refused, self.waiter(&left, evaluation)));
            }
            gone.into_iter().for_each(|(at, why)| refused[at] = Some(why));
        }
    }

    /// Which of several calls are refused, and why: those that are blocked alone, or all, where they are blocked only together.
    fn blocked_calls(
        &self,
        calls: &[(usize, &Call)],
        together: &Hold,
    ) -> Result<Vec<(usize, String)>, Refusal> {
        let mut alone = Vec::new();
        for (at, call) in calls.iter().filter(|_| calls.len() > 1) {
            let hold = never(&self.evaluate_calls([*call])?);
            alone.extend(hold.map(|hold| (*at, because(&hold))));
        }
        match alone.is_empty() {
            true => Ok(calls.iter().map(|(at, _)| (*at, because(together))).collect()),
            false => Ok(alone),
        }
    }

    /// Which calls the profile does not allow, where it asks nobody about them.
    fn unapproved(&self, calls: &[(usize, &Call)]) -> Vec<(usize, String)> {
        if self.approval().is_none_or(|approval| approval.rest == Rest::Ask) {
            return Vec::new();
        }
        let why = format!("profile `{}` does not allow it", self.profile());
        let gone = calls.iter().filter(|(_, call)| !self.approves(call));
        gone.map(|(at, _)| (*at, why.clone())).collect()
    }

    /// Whom to ask about calls of which none is refused; `None` where they pass.
    fn waiter(&self, calls: &[(usize, &Call)], evaluation: Evaluation) -> Option<Waiter> {
        let mut holds = match &evaluation.verdict {
            Verdict::Pause(holds) => holds.clone(),
            Verdict::Forward | Verdict::Block(_) | Verdict::Route(_) => Vec::new(),
        };
        if holds.is_empty() && calls.iter().any(|(_, call)| !self.approves(call)) {
            let reason = format!("Profile `{}` asks before a tool is run", self.profile());
            holds.push(Hold::new(PROFILE.into(), Cause::Rule, reason));
        }
        if holds.is_empty() {
            return None;
        }
        Some(self.shared.turns.pause(On::ToolCall, &self.subject, evaluation, holds, None))
    }

    /// Whether the profile lets a call pass without asking. One without a word about calls does.
    fn approves(&self, call: &Call) -> bool {
        let name = call.name.expose();
        self.approval().is_none_or(|approval| approval.passes(name) && self.offered.has(name))
    }

    fn profile(&self) -> &str {
        self.assembly.as_ref().map(|assembly| &*assembly.id).unwrap_or_default()
    }

    fn evaluate_calls<'c>(&self, calls: impl IntoIterator<Item = &'c Call>) -> Result<Evaluation, Refusal> {
        let calls: Vec<Call> = calls.into_iter().cloned().collect();
        self.evaluate(answers::calls_written(self.model.as_deref(), &calls), On::ToolCall)
    }

    /// Texts of an answer that follow each other, as response rules leave them, joined.
    pub(super) fn texts(&self, texts: &[&str], told: &mut RuleTally) -> Result<String, Refusal> {
        let said = [texts.iter().map(ToString::to_string).collect::<Vec<_>>()];
        self.pass_joined(&said, told)?;
        let before = answers::written(self.model.as_deref(), &said, &[]);
        let Some(after) = self.changed(before, told)? else { return Ok(texts.concat()) };
        let read = answers::read(&after, &[texts.len()]).map(|(texts, _)| texts.concat().concat());
        read.ok_or_else(|| Refusal::internal("response rules left no answer that can be read"))
    }

    /// Has rules look at texts as those clients have them who join them: what holds the one text holds the answer. What is
    /// taken out of it is taken out of its parts.
    fn pass_joined(&self, said: &[Vec<String>], told: &mut RuleTally) -> Result<(), Refusal> {
        let joined: Vec<Vec<String>> =
            said.iter().filter(|texts| texts.len() > 1).map(|texts| vec![texts.concat()]).collect();
        if joined.is_empty() {
            return Ok(());
        }
        let body = answers::written(self.model.as_deref(), &joined, &[]);
        let evaluation = self.evaluate(body, On::Response)?;
        let Some(hold) = held(&evaluation) else { return Ok(()) };
        told.also(RuleTally::of(&evaluation));
        Err(blocked(&hold))
    }

    /// What response rules make of an answer that is spelled as a request; `None` where they change
    /// nothing.
    fn changed(&self, before: Bytes, told: &mut RuleTally) -> Result<Option<Bytes>, Refusal> {
        let evaluation = self.evaluate(before.clone(), On::Response)?;
        told.also(RuleTally::of(&evaluation));
        if let Some(hold) = held(&evaluation) {
            return Err(blocked(&hold));
        }
        let after = evaluation.draft.render();
        Ok((after != before).then_some(after))
    }

    fn evaluate(&self, body: Bytes, on: On) -> Result<Evaluation, Refusal> {
        let mut document =
            Document::parse(body, Format::OpenaiChat, &self.shared.limits.document).map_err(|error| {
                Refusal::upstream(format!("rules decide about the answer, and it cannot be read: {error}"))
            })?;
        document.doubt_calls(|name| self.offered.has(name));
        Ok(self.policy.evaluate(Arc::new(document), &self.context(on), &self.vault))
    }
}

/// What refuses calls, whatever a person would say.
fn never(evaluation: &Evaluation) -> Option<Hold> {
    match &evaluation.verdict {
        Verdict::Block(hold) => Some(hold.clone()),
        Verdict::Route(route) => Some(not_routed(route)),
        Verdict::Forward | Verdict::Pause(_) => None,
    }
}

/// What holds an answer. It waits for nobody, so a rule that would have it wait blocks it.
fn held(evaluation: &Evaluation) -> Option<Hold> {
    match &evaluation.verdict {
        Verdict::Pause(holds) => holds.first().cloned(),
        Verdict::Forward | Verdict::Block(_) | Verdict::Route(_) => never(evaluation),
    }
}

/// An answer has come from where its request went. No rule that loads asks for more.
fn not_routed(route: &Route) -> Hold {
    route.clone().refused("answers go to nobody but their client")
}

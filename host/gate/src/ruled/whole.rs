//! An answer that is there as a whole: what it becomes, after a person decided where one must.

use std::sync::Arc;

use leafgate_answer::{Answer, AnswerError, Call, TextRun};
use leafgate_desk::{CancelReason, Dismissal};
use leafgate_policy::answers;
use leafgate_record::AnswerOutcome;
use scopeguard::ScopeGuard;

use super::RuledExchange;
use super::judge::JudgedAnswer;
use crate::answer::gather;
use crate::arriving::Arriving;
use crate::pending::{Waiter, check_release};
use crate::tally::RuleTally;
use leafgate_http::{Content, INLINE_BODY, Refusal, content};

/// An answer is there as it came, as it was read and as it leaves.
pub(super) const COPIES: usize = 3;

/// Why a call does not pass that a person did not let go.
const A_PERSON_REFUSED: &str = "a person refused";

/// So many tools are named to a client.
const MOST_NAMED: usize = 5;

/// What rules did about an answer while it came.
#[derive(Default)]
pub(crate) struct SoFar {
    pub(super) tally: RuleTally,
    /// Whether they changed anything.
    pub(super) changed: bool,
}

impl RuledExchange {
    /// Has an answer judged that comes whole.
    pub(super) async fn rule_whole(self: &Arc<Self>, answer: Arriving) -> Result<Content, Refusal> {
        let (mut body, mut told) = answer.heard();
        let mut reservation = self.shared.answers.reserve();
        let most = self.shared.limits.answer;
        let (came, weight) = gather(&mut body, most, COPIES, &mut reservation).await?;
        let Some(mut weight) = weight else { return Err(too_large(most)) };
        let answer = self.read(&came);
        if let Some(told) = &mut told {
            told.end(true, answer.as_ref().ok());
        }
        let answer = answer.and_then(Answer::sound).map_err(unreadable)?;
        let bytes = answer.bytes().clone();
        // What is put for bytes that are no characters is longer.
        if bytes.len() > came.len() {
            weight.add(&bytes);
        }
        weight.reads(answer.values());
        if reservation.cover(weight.total(COPIES)).is_err() {
            return Err(too_large(most));
        }
        let texts = answer.texts().to_vec();
        let changed = self.ruled(answer, texts, SoFar::default()).await?;
        let leaves = changed.map_or(bytes, |changed| changed.bytes().clone());
        Ok(content::with(content::full(leaves), reservation))
    }

    /// Judges a whole answer, and waits for a person where one must decide about its calls. Returns what leaves in its
    /// place; `None` where it leaves as it came. `told` is what rules did about it before.
    pub(crate) async fn ruled(
        self: &Arc<Self>,
        answer: Answer,
        texts: Vec<TextRun>,
        told: SoFar,
    ) -> Result<Option<Answer>, Refusal> {
        let SoFar { mut tally, changed: changed_before } = told;
        let (judging, read) = (Arc::clone(self), answer.clone());
        let judge = move || {
            let judged = judging.judge(&read, &texts, &mut tally);
            (judged, tally)
        };
        let is_large = answer.bytes().len() > INLINE_BODY;
        let (judged, tally) = self.shared.work(is_large, !self.policy.plugins().is_empty(), judge).await?;
        self.progress.answer_judged(&self.policy, &tally);
        let told = |outcome| self.answer_is(outcome, &tally);
        let judged = judged.inspect_err(|_| told(AnswerOutcome::Blocked))?;
        let JudgedAnswer { changed, refused, waiter } = judged;
        let was_changed = changed.is_some();
        let mut answer = changed.unwrap_or(answer);
        let gone = refused.iter().flatten().count();
        if gone > 0 {
            let left_out: Vec<bool> = refused.iter().map(Option::is_some).collect();
            let changed = answer.refused(&left_out, &refusals(answer.calls(), &refused));
            answer = self.read_again(&changed)?;
        }
        let outcome = match waiter {
            Some(waiter) => self.asked(waiter, &mut answer, gone > 0, told).await?,
            None => {
                let outcome = match gone {
                    0 if was_changed || changed_before => AnswerOutcome::Changed,
                    0 => AnswerOutcome::Passed,
                    all if all == refused.len() => AnswerOutcome::Refused,
                    _ => AnswerOutcome::PartlyRefused,
                };
                told(outcome);
                outcome
            }
        };
        let passes =
            matches!(outcome, AnswerOutcome::Passed | AnswerOutcome::Changed | AnswerOutcome::Approved);
        Ok((was_changed || !passes).then_some(answer))
    }

    /// Has a person decide about the calls of an answer, of which rules have refused `some` before.
    async fn asked(
        &self,
        waiter: Waiter,
        answer: &mut Answer,
        some: bool,
        told: impl Fn(AnswerOutcome),
    ) -> Result<AnswerOutcome, Refusal> {
        told(AnswerOutcome::Held);
        // Their client may leave while they wait for a person.
        let waiting = scopeguard::guard(told, |told| told(AnswerOutcome::Abandoned));
        let outcome = match self.decided(waiter, answer).await {
            Ok(Ok(_)) if some => AnswerOutcome::PartlyRefused,
            Ok(Ok(outcome)) => outcome,
            Ok(Err(why)) => {
                let refused = vec![true; answer.calls().len()];
                *answer = self.read_again(&answer.refused(&refused, &words(answer.calls(), &why)))?;
                AnswerOutcome::Refused
            }
            Err(refusal) => {
                ScopeGuard::into_inner(waiting)(AnswerOutcome::Blocked);
                return Err(refusal);
            }
        };
        ScopeGuard::into_inner(waiting)(outcome);
        Ok(outcome)
    }

    /// Waits for a decision about calls, and writes what was let go into the answer. What is refused has a reason.
    async fn decided(
        &self,
        mut waiter: Waiter,
        answer: &mut Answer,
    ) -> Result<Result<AnswerOutcome, String>, Refusal> {
        let release = match waiter.decision().await {
            Ok(release) => release,
            Err(dismissed) => return Ok(Err(because(dismissed.dismissal))),
        };
        check_release(&release, &waiter.to)?;
        let came = answer.calls().to_vec();
        let Some(left) = answers::calls_read(&release.body, &came) else {
            return Ok(Err("what was let go is something else".to_owned()));
        };
        let refused: Vec<bool> = left.iter().map(Option::is_none).collect();
        let calls: Vec<Call> =
            left.into_iter().zip(&came).map(|(left, came)| left.unwrap_or_else(|| came.clone())).collect();
        let edited = calls != came;
        if edited {
            match answer.changed(&[], &calls) {
                Ok(changed) => *answer = self.read_again(&changed)?,
                Err(error) => return Ok(Err(format!("what was let go cannot be written: {error}"))),
            }
        }
        let gone: Vec<Call> =
            came.into_iter().zip(&refused).filter(|(_, refused)| **refused).map(|(call, _)| call).collect();
        if !gone.is_empty() {
            let changed = answer.refused(&refused, &words(&gone, A_PERSON_REFUSED));
            *answer = self.read_again(&changed)?;
        }
        Ok(Ok(match gone.len() {
            0 if edited => AnswerOutcome::Edited,
            0 => AnswerOutcome::Approved,
            _ => AnswerOutcome::PartlyRefused,
        }))
    }
}

/// Says of each call that is refused why, those of one reason together.
fn refusals(calls: &[Call], refused: &[Option<String>]) -> String {
    let mut reasons: Vec<&String> = Vec::new();
    for why in refused.iter().flatten() {
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    let said = reasons.into_iter().map(|why| {
        let of = calls.iter().zip(refused).filter(|(_, refused)| refused.as_ref() == Some(why));
        words(&of.map(|(call, _)| call.clone()).collect::<Vec<_>>(), why)
    });
    said.collect::<Vec<_>>().join("\n")
}

/// Says to a client, and to the model with its next request, what became of the calls.
fn words(calls: &[Call], why: &str) -> String {
    let mut names: Vec<String> =
        calls.iter().take(MOST_NAMED).map(|call| format!("`{}`", call.name.expose())).collect();
    if calls.len() > MOST_NAMED {
        names.push(format!("{} more", calls.len() - MOST_NAMED));
    }
    let call = if calls.len() == 1 { "The call of" } else { "The calls of" };
    format!("[leafgate: {call} {} did not pass this gate: {why}.]", names.join(", "))
}

fn because(dismissal: Dismissal) -> String {
    match dismissal {
        Dismissal::Cancelled(CancelReason::User) => A_PERSON_REFUSED.to_owned(),
        Dismissal::CancelledBefore { .. } => "a person refused the same before".to_owned(),
        Dismissal::TimedOut { limit } => format!("nobody decided within {} s", limit.as_secs_f64()),
        Dismissal::Cancelled(CancelReason::GateStopped) => "the gate is stopping".to_owned(),
        Dismissal::Cancelled(_) => "the conversation went on meanwhile".to_owned(),
        Dismissal::Replaced => "the same came again on another connection".to_owned(),
        Dismissal::NoRoom(_) => "too much waits for people already".to_owned(),
        _ => "it was given up".to_owned(),
    }
}

pub(super) fn too_large(most: usize) -> Refusal {
    Refusal::upstream(format!(
        "rules decide about the answer, and it is larger than {most} bytes (limit `answer`) or than what \
         all answers that are kept may take (limit `answers`)"
    ))
}

pub(super) fn unreadable(error: AnswerError) -> Refusal {
    let hint = match error {
        AnswerError::Unclear => {
            "; where that is its spelling alone, as a tool's name that each chunk repeats, rules about answers with \
             `on_odd = \"respell\"` have it spelled anew"
        }
        _ => "",
    };
    Refusal::upstream(format!("rules decide about the answer, and it cannot be read: {error}{hint}"))
}

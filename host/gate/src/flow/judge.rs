//! Another form of a request, judged again.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_policy::{Cause, Hold, On, Verdict};
use leafgate_tree::Document;

use crate::apis::echo::manner;
use crate::blocked::{NOT_ELSEWHERE, blocked};
use crate::exchange::Exchange;
use crate::restore::Restoring;
use crate::stages::{Along, Came, DowngradeFlow, HeldRequest, RequestOutcome};
use crate::subject::Subject;
use leafgate_http::Refusal;

/// The name that stands for a rule where a lesser form needs a person. No rule can be called that.
const PROFILE: &str = "(profile)";

impl DowngradeFlow {
    /// Has the policy judge another form. Rules that rewrite have done so already: the bytes are
    /// those that were sent. `ask` says that a person decides whatever the policy says.
    pub(super) fn judge_again(
        self: Box<Self>,
        exchange: &Exchange,
        body: Bytes,
        ask: bool,
        mut along: Along,
    ) -> Result<RequestOutcome, Refusal> {
        let mut reservation = exchange.bodies.reserve();
        reservation.cover(2 * body.len())?;
        let document = Document::parse(body, self.format, &exchange.limits.document)
            .map_err(|error| Refusal::internal(format!("a lesser form cannot be read: {error}")))?;
        let document = Arc::new(document);
        let subject = Arc::clone(&self.subject);
        let context = subject.context(On::Request);
        let evaluation = subject.policy.replay(Arc::clone(&document), &context, &subject.vault, |_| false);
        let mut holds = match &evaluation.verdict {
            Verdict::Block(hold) => return Err(blocked(hold)),
            Verdict::Route(route) => return Err(blocked(&route.clone().refused(NOT_ELSEWHERE))),
            Verdict::Pause(holds) => holds.clone(),
            Verdict::Forward => Vec::new(),
        };
        let source = document.source().clone();
        let came = Came { wraps_more: true, ..Came::new(source.clone(), self.codings.clone(), reservation) };
        let (streams, was_approved) = (self.streams, self.lessened.approved);
        along.restoring = self.restoring(&document);
        along.flow = Some(self);
        if holds.is_empty() && !ask && !was_approved {
            let passed = came.passed(&exchange.parts, &source, evaluation.draft.render(), along);
            return Ok(RequestOutcome::Pass(passed));
        }
        if holds.is_empty() {
            let reason = match ask {
                true => "The provider does not have this model: choose another one, or cancel",
                false => "The provider does not take the request that was let go: this one does without",
            };
            holds.push(Hold::new(PROFILE.into(), Cause::Rule, reason.to_owned()));
        }
        let waiter = exchange.turns.pause(On::Request, &subject, evaluation, holds, None);
        let manner = || manner(subject.api, subject.model.as_deref(), &document);
        let manner = exchange.answer_cancelled.then(manner).flatten();
        Ok(RequestOutcome::Wait(HeldRequest { manner, waiter, came, source, streams, along }))
    }

    /// Returns how the answer is restored, where it is.
    fn restoring(&self, document: &Document) -> Option<Restoring> {
        let Subject { api, vault, .. } = &*self.subject;
        Restoring::of(*api, document, vault.clone(), self.restores.clone()?)
    }
}

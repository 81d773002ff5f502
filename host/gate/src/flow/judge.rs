//! Another form of a request, judged again.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_policy::{Cause, Hold, On, Verdict};
use leafgate_tree::Document;

use super::Flow;
use crate::apis::echo::manner;
use crate::gate::Shared;
use crate::hold::Held;
use crate::judge::{NOT_ELSEWHERE, Outcome, blocked};
use crate::outgoing::{Passed, Received};
use crate::pending::{Paused, TurnGuard};
use crate::restore::Restoring;
use crate::subject::Subject;
use leafgate_http::refusal::Refusal;

/// The name that stands for a rule where a lesser form needs a person. No rule can be called that.
const PROFILE: &str = "(profile)";

impl Flow {
    /// Has the policy judge another form. Rules that rewrite have done so already: the bytes are
    /// those that were sent. `ask` says that a person decides whatever the policy says.
    pub(super) fn judge_again(
        self: Box<Self>,
        shared: &Arc<Shared>,
        body: Bytes,
        ask: bool,
    ) -> Result<Outcome, Refusal> {
        let mut reservation = shared.bodies.reserve();
        reservation.cover(2 * body.len())?;
        let document = Document::parse(body, self.format, &shared.limits.document)
            .map_err(|error| Refusal::internal(format!("a lesser form cannot be read: {error}")))?;
        let document = Arc::new(document);
        let subject = Arc::clone(&self.subject);
        let outside = subject.outside.list();
        let context = subject.context(On::Request, &outside);
        let evaluation = subject.policy.replay(Arc::clone(&document), &context, &subject.vault, |_| false);
        let mut holds = match evaluation.verdict {
            Verdict::Block(hold) => return Err(blocked(&hold)),
            Verdict::Route(route) => return Err(blocked(&route.refused(NOT_ELSEWHERE))),
            Verdict::Pause(holds) => holds,
            Verdict::Forward => Vec::new(),
        };
        if holds.is_empty() && !ask && !self.lessened.approved {
            let received = Received {
                body: document.source().clone(),
                coded: self.coded,
                wraps_more: true,
                reservation: Some(reservation),
            };
            let restoring = self.restoring(&document);
            let passed = received.passed(document.source(), evaluation.draft.render(), restoring);
            let ruling = self.ruling.clone();
            let other_model = self.other_model.clone();
            return Ok(Outcome::Pass(Passed { flow: Some(self), ruling, other_model, ..passed }));
        }
        if holds.is_empty() {
            let reason = match ask {
                true => "The provider does not have this model: choose another one, or cancel",
                false => "The provider does not take the request that was let go: this one does without",
            };
            holds.push(Hold::new(PROFILE.into(), Cause::Rule, reason.to_owned()));
        }
        let guard =
            TurnGuard::new(On::Request, Arc::clone(&subject), evaluation.recall, evaluation.report.notes);
        let waiter =
            shared.turns.pause(Paused { draft: evaluation.draft, holds, mode: None, guard: Arc::new(guard) });
        let received = Received {
            body: document.source().clone(),
            coded: self.coded,
            wraps_more: true,
            reservation: Some(reservation),
        };
        let path = Some(subject.to.endpoint()).filter(|_| shared.answer_cancelled);
        let manner = path.and_then(|path| manner(subject.api, path, subject.model.as_deref(), &document));
        Ok(Outcome::Wait(Held {
            manner,
            waiter,
            received,
            source: document.source().clone(),
            streams: self.streams,
            api: subject.api,
            restoring: self.restoring(&document),
            ruling: self.ruling.clone(),
            other_model: self.other_model.clone(),
            flow: Some(self),
        }))
    }

    /// Returns how the answer is restored, where it is.
    fn restoring(&self, document: &Document) -> Option<Restoring> {
        let Subject { api, vault, .. } = &*self.subject;
        let restoring = Restoring::of(*api, document, vault.clone(), self.thread.clone());
        restoring.filter(|_| self.restore)
    }
}

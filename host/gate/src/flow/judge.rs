//! Another form of a request, judged again.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_policy::{Cause, Evaluation, Hold, On, Verdict};
use leafgate_tree::Document;

use super::Flow;
use crate::echo::Manner;
use crate::gate::Shared;
use crate::hold::Held;
use crate::judge::{NOT_ELSEWHERE, Outcome, blocked};
use crate::outgoing::{Passed, Received};
use crate::pending::{Paused, TurnGuard};
use crate::refusal::Refusal;
use crate::restore::Restoring;

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
        let outside = self.subject.outside.list();
        let context = self.subject.context(On::Request, &outside);
        let (policy, vault) = (&self.subject.policy, &self.subject.vault);
        let evaluation = policy.replay(Arc::clone(&document), &context, vault, |_| false);
        drop(outside);
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
        let Evaluation { draft, recall, report, .. } = evaluation;
        let guard = TurnGuard::new(On::Request, self.subject.clone(), recall, report.notes);
        let waiter =
            shared.turns.pause(Paused { title: self.title.clone(), draft, holds, mode: None, guard });
        let received = Received {
            body: document.source().clone(),
            coded: self.coded,
            wraps_more: true,
            reservation: Some(reservation),
        };
        let path = self.subject.to.path.split('?').next().filter(|_| shared.answer_cancelled);
        let manner =
            path.and_then(|path| Manner::of(self.api, path, self.subject.model.as_deref(), &document));
        Ok(Outcome::Wait(Held {
            manner,
            waiter,
            received,
            source: document.source().clone(),
            streams: self.streams,
            api: self.api,
            restoring: self.restoring(&document),
            ruling: self.ruling.clone(),
            other_model: self.other_model.clone(),
            flow: Some(self),
        }))
    }

    /// Returns how the answer is restored, where it is.
    fn restoring(&self, document: &Document) -> Option<Restoring> {
        let restoring = Restoring::of(self.api, document, self.subject.vault.clone(), self.thread.clone());
        restoring.filter(|_| self.restore)
    }
}

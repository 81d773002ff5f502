//! A request without a body, judged by what it says elsewhere.

use std::sync::Arc;

use leafgate_desk::Destination;
use leafgate_policy::{Context, Policy, Verdict};
use leafgate_vault::Vault;

use crate::apis::Wants;
use crate::blocked::{NOT_ELSEWHERE, blocked, unshowable};
use crate::outside::OutsideTexts;
use crate::ruled::refuse_unread;
use crate::tally::RuleTally;
use leafgate_http::refusal::Refusal;

/// A request without a body to judge.
pub(super) struct Bodyless {
    /// What it says.
    pub(super) outside: OutsideTexts,
    pub(super) agent: &'static str,
    pub(super) wants: Wants,
    /// Where it goes.
    pub(super) to: Destination,
    pub(super) lane: Option<Arc<str>>,
    pub(super) policy: Arc<Policy>,
    /// What tells our own tokens, which are no secrets.
    pub(super) vault: Vault,
}

impl Bodyless {
    /// Judges what the request says outside the body that it lacks, and refuses one whose answer rules
    /// would decide about: what it names was answered before, and no more of it is known. There is nothing that a person could be shown, so it is blocked
    /// where a rule asks for one.
    pub(super) fn judge(&self) -> (Result<(), Refusal>, RuleTally) {
        let outside = self.outside.list();
        let context = Context {
            agent: Some(self.agent),
            upstream: Some(&self.to.upstream),
            upstream_name: self.lane.as_deref(),
            endpoint: Some(self.to.endpoint()),
            outside: &outside,
            files: &[],
            ..Context::default()
        };
        let evaluation = self.policy.evaluate_outside(&context, &self.vault);
        let tally = RuleTally::of(&evaluation);
        let judged = match &evaluation.verdict {
            Verdict::Forward => refuse_unread(&self.policy, None, &context, &self.wants),
            Verdict::Block(hold) => Err(blocked(hold)),
            Verdict::Pause(holds) => Err(unshowable(holds)),
            Verdict::Route(route) => Err(blocked(&route.clone().refused(NOT_ELSEWHERE))),
        };
        (judged, tally)
    }
}

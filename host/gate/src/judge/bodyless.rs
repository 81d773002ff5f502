//! A request without a body, judged by what it says elsewhere.

use leafgate_policy::{Context, Policy, Verdict};
use leafgate_vault::Vault;

use crate::apis::Wants;
use crate::blocked::{NOT_ELSEWHERE, blocked, unshowable};
use crate::ruled::refuse_unread;
use crate::tally::RuleTally;
use leafgate_http::refusal::Refusal;

/// Judges what a request says outside the body that it lacks, and refuses one whose answer rules
/// would decide about: what it names was answered before, and no more of it is known. There is nothing that a person could be shown, so
/// it is blocked where a rule asks for one. `vault` tells our own tokens, which are no secrets.
pub(super) fn judge_bodyless(
    policy: &Policy,
    vault: &Vault,
    context: &Context<'_>,
    wants: &Wants,
) -> (Result<(), Refusal>, RuleTally) {
    let evaluation = policy.evaluate_outside(context, vault);
    let judged = match &evaluation.verdict {
        Verdict::Forward => refuse_unread(policy, None, context, wants),
        Verdict::Block(hold) => Err(blocked(hold)),
        Verdict::Pause(holds) => Err(unshowable(holds)),
        Verdict::Route(route) => Err(blocked(&route.clone().refused(NOT_ELSEWHERE))),
    };
    (judged, RuleTally::of(&evaluation))
}

//! A second look at a request that a person has changed: phase 5 over what is written, then phase 6 again.

use std::sync::Arc;

use leafgate_tree::Draft;
use leafgate_vault::Vault;

use super::{Recall, Run};
use crate::rule::Phase;
use crate::verdict::{Hold, Verdict};
use crate::{Context, Policy};

pub(crate) fn review(
    policy: &Policy,
    draft: &mut Draft,
    context: &Context<'_>,
    vault: &Vault,
    recall: &Recall,
) -> Result<Verdict, Hold> {
    let document = Arc::clone(draft.document());
    let mut run = Run::new(policy, &document, context, vault);
    run.draft = draft.clone();
    run.findings = recall.findings.clone();
    let written = run.draft.written();
    run.redact_again(&written);
    if let Some(hold) = run.block {
        return Err(hold);
    }
    run.phase(Phase::Decide, Run::decide);
    let evaluation = run.finish();
    *draft = evaluation.draft;
    Ok(evaluation.verdict)
}

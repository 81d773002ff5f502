//! An evaluation in which recorded edits stand where the rewriting rules would.

use std::sync::Arc;

use leafgate_tree::{Document, Draft};
use leafgate_vault::Vault;

use super::{Evaluation, Run};
use crate::rule::Phase;
use crate::{Context, Policy};

pub(crate) fn replay(
    policy: &Policy,
    document: Arc<Document>,
    context: &Context<'_>,
    vault: &Vault,
    mut step: impl FnMut(&mut Draft) -> bool,
) -> Evaluation {
    let mut run = Run::new(policy, &document, context, vault);
    run.phase(Phase::Redact, Run::redact_received);
    run.phase(Phase::Pin, Run::pin);
    run.phase(Phase::Rewrite, |run| {
        while !run.holds.blocks() && step(&mut run.draft) {
            // A recorded edit may be one of a person, who may set a JSON text as a whole.
            run.candidates = None;
            let written = run.draft.written();
            run.redact_again(&written);
        }
    });
    run.decide_last();
    run.finish()
}

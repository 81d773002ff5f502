//! An evaluation in which recorded edits stand where the rewriting rules would.

use std::sync::Arc;

use leafgate_tree::{Document, Draft, Edit, EditKind, NodeId};
use leafgate_vault::Vault;

use super::{Evaluation, Run};
use crate::{Context, Policy};

impl Policy {
    /// Evaluates one request with recorded edits in the place of its rewriting rules: redactions
    /// are made anew, and what the edits write is redacted like any other text. `step` makes the
    /// next edit and gives whether there was one.
    pub fn replay(
        &self,
        document: Arc<Document>,
        context: &Context<'_>,
        vault: &Vault,
        mut step: impl FnMut(&mut Draft) -> bool,
    ) -> Evaluation {
        let rewrite = |run: &mut Run<'_>| {
            loop {
                let (edits, inserted) = (run.draft.edits().count(), run.draft.inserted().count());
                if run.holds.blocks() || !step(&mut run.draft) {
                    break;
                }
                // A recorded edit may be one of a person, who may set a JSON text as a whole.
                run.candidates = None;
                let written: Vec<_> = run.draft.edits().skip(edits).filter_map(written).collect();
                run.redact_written(&written, inserted);
            }
        };
        self.classified(&document, context, vault, false, |mut run| run.run_phases(|_| {}, rewrite))
    }
}

/// The value that an edit wrote to.
fn written(edit: &Edit) -> Option<NodeId> {
    // What others bring back was redacted when it was written, and other texts are searched anyhow.
    (edit.kind == EditKind::Set).then_some(edit.target)
}

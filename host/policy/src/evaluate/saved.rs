//! Phase 3: edits that people saved earlier are made, between pins and rewriting rules.
//!
//! The policy does not know what they are. Whoever evaluates makes them on the draft, all at once;
//! what they wrote is redacted before any rule sees it.

use std::sync::Arc;

use leafgate_tree::{Document, Draft};
use leafgate_vault::Vault;

use super::{Evaluation, Run};
use crate::rule::Phase;
use crate::verdict::Hold;
use crate::{Context, Policy};

impl Policy {
    /// Evaluates one request as [`Policy::evaluate`] does, with a phase of edits that people saved:
    /// after redaction and pins, before rules rewrite. `make` makes them on the draft, and gives
    /// what a person must decide because of them. What they write is redacted like any other text.
    #[must_use]
    pub fn evaluate_with_saved(
        &self,
        document: Arc<Document>,
        context: &Context<'_>,
        vault: &Vault,
        make: impl FnOnce(&mut Draft) -> Vec<Hold>,
    ) -> Evaluation {
        let saved = |run: &mut Run<'_>| run.phase(Phase::Saved, |run| run.make_saved(make));
        self.classified(&document, context, vault, false, |mut run| run.run_phases(saved, Run::rewrite))
    }
}

impl Run<'_> {
    fn make_saved(&mut self, make: impl FnOnce(&mut Draft) -> Vec<Hold>) {
        let before = self.draft.edits().count();
        let holds = make(&mut self.draft);
        self.holds.pauses.extend(holds);
        if self.draft.edits().count() > before {
            // One of them may have set a JSON text as a whole.
            self.candidates = None;
            let written = self.draft.written();
            self.redact_written(&written, 0);
        }
    }
}

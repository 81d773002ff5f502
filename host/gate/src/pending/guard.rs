//! What a turn keeps of the policy that paused it.

use std::sync::Arc;

use leafgate_desk::Reviewer;
use leafgate_policy::{Context, Evaluation, Hold, Note, On, Policy, Recall, Verdict};
use leafgate_tree::{Document, Draft};
use leafgate_vault::Vault;

use crate::subject::Subject;

/// What a turn was judged by, and what its generation must know to judge it again.
#[derive(derive_more::Deref)]
pub(crate) struct TurnGuard {
    /// What waits: a request, or the tool calls of an answer.
    pub(crate) on: On,
    #[deref(forward)]
    pub(crate) subject: Arc<Subject>,
    /// The policy's name, for whoever asks which generation it was.
    pub(crate) generation: Arc<str>,
    pub(crate) recall: Recall,
    /// What plugins said about the request, redacted.
    pub(crate) notes: Vec<Note>,
}

impl TurnGuard {
    /// Evaluates the request of a draft anew, as it was received, with saved edits made by `make`.
    pub(super) fn evaluate_with_saved(
        &self,
        draft: &Draft,
        make: impl FnOnce(&mut Draft) -> Vec<Hold>,
    ) -> Evaluation {
        let document = Arc::clone(draft.document());
        self.policy.evaluate_with_saved(document, &self.context(self.on), &self.vault, make)
    }

    /// Evaluates the request of a draft anew, as it was received, by another policy and with a vault of
    /// its own.
    pub(crate) fn evaluate_by(&self, policy: &Policy, draft: &Draft) -> Evaluation {
        let vault = Vault::new(self.vault.keys().clone());
        policy.evaluate(Arc::clone(draft.document()), &self.context(self.on), &vault)
    }
}

impl Reviewer for TurnGuard {
    fn review(&self, draft: &mut Draft) -> Result<Verdict, Hold> {
        self.policy.review(draft, &self.context(self.on), &self.vault, &self.recall)
    }

    fn veiled(&self, draft: &Draft) -> Option<Draft> {
        self.policy.veiled(draft, &self.recall, &self.vault)
    }

    fn asks(&self, body: Document) -> bool {
        let vault = Vault::new(self.vault.keys().clone());
        // Another body: what stands in this one stands elsewhere there.
        let context = Context { files: &[], ..self.context(self.on) };
        // Rules that rewrite may ask for a person too.
        self.policy.evaluate(Arc::new(body), &context, &vault).verdict != Verdict::Forward
    }

    fn model_by_path(&self, body: &Document) -> Option<String> {
        self.subject.model_by_path(body)
    }

    fn generation(&self) -> &str {
        &self.generation
    }

    fn memory(&self) -> usize {
        let notes = self.notes.iter().map(|note| size_of::<Note>() + note.text.len());
        let files = self.files.iter().map(|file| file.text.len());
        self.recall.memory() + notes.sum::<usize>() + files.sum::<usize>()
    }
}

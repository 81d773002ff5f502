//! What a turn keeps of the policy that paused it.

use std::sync::Arc;

use leafgate_desk::{Destination, Reviewer, TurnClass};
use leafgate_policy::{Context, Evaluation, FileText, Hold, Note, On, Outside, Policy, Recall, Verdict};
use leafgate_tree::{Document, Draft};
use leafgate_vault::Vault;

use crate::outside::OutsideTexts;

/// The generation that judged a turn, and what it must know to judge it again.
pub(crate) struct TurnGuard {
    /// What waits: a request, or the tool calls of an answer.
    pub(crate) on: On,
    pub(crate) policy: Arc<Policy>,
    /// The policy's name, for whoever asks which generation it was.
    pub(crate) generation: Arc<str>,
    pub(crate) session: Arc<str>,
    /// The client program that sent the request.
    pub(crate) agent: Arc<str>,
    /// Model and manner of the answer, where the path says them.
    pub(crate) model: Option<Arc<str>>,
    pub(crate) stream: Option<bool>,
    /// Who asks.
    pub(crate) class: TurnClass,
    /// Where it goes.
    pub(crate) to: Destination,
    /// What that upstream is called.
    pub(crate) lane: Option<Arc<str>>,
    /// What the request says outside its body.
    pub(crate) outside: Arc<OutsideTexts>,
    /// The texts of the packed files in it.
    pub(crate) files: Arc<[FileText]>,
    pub(crate) vault: Vault,
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
        let outside = self.outside.list();
        let document = Arc::clone(draft.document());
        self.policy.evaluate_with_saved(document, &self.context(&outside), &self.vault, make)
    }

    /// Evaluates the request of a draft anew, as it was received, by another policy and with a vault of
    /// its own.
    pub(crate) fn evaluate_by(&self, policy: &Policy, draft: &Draft) -> Evaluation {
        let outside = self.outside.list();
        let vault = Vault::new(self.vault.keys().clone());
        policy.evaluate(Arc::clone(draft.document()), &self.context(&outside), &vault)
    }

    fn context<'a>(&'a self, outside: &'a [Outside<'a>]) -> Context<'a> {
        Context {
            on: self.on,
            session: &self.session,
            agent: Some(&self.agent),
            model: self.model.as_deref(),
            other_models: &[],
            stream: self.stream,
            subagent: Some(self.class == TurnClass::Subagent),
            upstream: Some(&self.to.upstream),
            upstream_name: self.lane.as_deref(),
            endpoint: Some(self.to.endpoint()),
            outside,
            files: &self.files,
        }
    }
}

impl Reviewer for TurnGuard {
    fn review(&self, draft: &mut Draft) -> Result<Verdict, Hold> {
        let outside = self.outside.list();
        self.policy.review(draft, &self.context(&outside), &self.vault, &self.recall)
    }

    fn veiled(&self, draft: &Draft) -> Option<Draft> {
        self.policy.veiled(draft, &self.recall, &self.vault)
    }

    fn asks(&self, body: Document) -> bool {
        let (outside, vault) = (self.outside.list(), Vault::new(self.vault.keys().clone()));
        // Another body: what stands in this one stands elsewhere there.
        let context = Context { files: &[], ..self.context(&outside) };
        // Rules that rewrite may ask for a person too.
        self.policy.evaluate(Arc::new(body), &context, &vault).verdict != Verdict::Forward
    }

    fn memory(&self) -> usize {
        let notes = self.notes.iter().map(|note| size_of::<Note>() + note.text.len());
        let files = self.files.iter().map(|file| file.text.len());
        self.recall.memory() + notes.sum::<usize>() + files.sum::<usize>()
    }
}

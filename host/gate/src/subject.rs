//! What a request is judged by, in every form that it takes on its way.

use std::sync::Arc;

use leafgate_desk::{Destination, TurnClass};
use leafgate_policy::{Context, FileText, On, Outside, Policy};
use leafgate_vault::Vault;

use crate::outside::OutsideTexts;

/// What a request is judged by.
#[derive(Clone)]
pub(crate) struct Subject {
    /// The generation that judges it, whatever is loaded meanwhile.
    pub(crate) policy: Arc<Policy>,
    /// The key of its conversation.
    pub(crate) session: Arc<str>,
    pub(crate) vault: Vault,
    /// The client program that sent it.
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
    /// What it says outside its body.
    pub(crate) outside: Arc<OutsideTexts>,
    /// The texts of the packed files in it.
    pub(crate) files: Arc<[FileText]>,
}

impl Subject {
    /// Returns what the policy is asked with. `outside` is the list of [`Subject::outside`].
    pub(crate) fn context<'a>(&'a self, on: On, outside: &'a [Outside<'a>]) -> Context<'a> {
        Context {
            on,
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

    /// Returns a vault that knows our tokens and remembers nothing of the conversation.
    pub(crate) fn unnamed_vault(&self) -> Vault {
        Vault::new(self.vault.keys().clone())
    }
}

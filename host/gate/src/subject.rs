//! What a request is judged by, from its first byte to the last of its answer.

use std::sync::Arc;

use leafgate_desk::{Destination, Title, TurnClass};
use leafgate_policy::{Context, FileText, OTHER_AGENT, On, Outside, Policy};
use leafgate_tree::Document;
use leafgate_vault::Vault;

use crate::apis::Api;

/// A request, or the answer to it, as rules are asked about it. Whoever judges it, keeps it for a person or judges it again
/// shares this.
#[derive(Clone)]
pub(crate) struct Subject {
    /// The generation that judges it, whatever is loaded meanwhile.
    pub(crate) policy: Arc<Policy>,
    pub(crate) api: Api,
    /// Its conversation.
    pub(crate) session: Arc<str>,
    /// What the tokens of that stand for.
    pub(crate) vault: Vault,
    /// The client program that sent it.
    pub(crate) agent: Arc<str>,
    /// The model that its path names; of an answer, the one that its request asked.
    pub(crate) model: Option<Arc<str>>,
    /// What the request of an answer names as models besides: servers differ in which of them they ask.
    pub(crate) other_models: Vec<String>,
    /// Whether its answer is to be a stream, where that is known.
    pub(crate) streams: Option<bool>,
    /// Who asks.
    pub(crate) class: TurnClass,
    /// Where it goes.
    pub(crate) to: Destination,
    /// The path by which rules know it.
    pub(crate) endpoint: Arc<str>,
    /// The name of its upstream, where that has one.
    pub(crate) lane: Option<Arc<str>>,
    /// How its conversation is called.
    pub(crate) title: Title,
    /// What it says outside its body.
    pub(crate) outside: Arc<[Outside]>,
    /// The texts of the packed files in it.
    pub(crate) files: Arc<[FileText]>,
    /// The prompt of the agent that asks, where that is sent as a user's words.
    pub(crate) prompt: Option<Arc<str>>,
}

impl Subject {
    /// Returns what rules are asked with.
    pub(crate) fn context(&self, on: On) -> Context<'_> {
        Context {
            on,
            only: None,
            session: &self.session,
            agent: Some(&self.agent),
            model: self.model.as_deref(),
            other_models: &self.other_models,
            stream: self.streams,
            subagent: Some(self.class == TurnClass::Subagent),
            upstream: Some(&self.to.upstream),
            upstream_name: self.lane.as_deref(),
            endpoint: Some(&self.endpoint),
            outside: &self.outside,
            files: &self.files,
            prompt: self.prompt.as_deref(),
        }
    }

    /// Returns the model that its path asks as it would leave, where the body does not say another one.
    pub(crate) fn model_by_path(&self, body: &Document) -> Option<String> {
        let path = self.to.endpoint();
        let repeated = || self.api.deployment(path).filter(|_| body.model().is_none());
        self.api.model(path).or_else(repeated)
    }

    /// Has another model be asked, where the path names it, and returns whether it does. Rules are asked about the one that a
    /// profile names, as they are where a body names it.
    pub(crate) fn ask_model(&mut self, model: &str, by_profile: bool) -> bool {
        let Some(target) = self.api.target_of_model(&self.to.path, model) else { return false };
        self.to.path = target.into();
        if by_profile {
            self.endpoint = self.to.endpoint().into();
            self.model = self.model.is_some().then(|| model.into());
        }
        true
    }

    /// Returns a request of which no more is known than this. It is no conversation.
    pub(crate) fn new(policy: &Arc<Policy>, api: Api, to: Destination, vault: Vault) -> Subject {
        Subject {
            policy: Arc::clone(policy),
            api,
            session: Arc::default(),
            vault,
            agent: OTHER_AGENT.into(),
            model: None,
            other_models: Vec::new(),
            streams: None,
            class: TurnClass::Main,
            endpoint: to.endpoint().into(),
            to,
            lane: None,
            title: Title { location: Arc::default(), name: Arc::default() },
            outside: Arc::default(),
            files: Arc::default(),
            prompt: None,
        }
    }
}

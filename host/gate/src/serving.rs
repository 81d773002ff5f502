//! The generation of a policy that serves, and how its loads went.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use leafgate_admin::{Event, PolicyStatus};
use leafgate_policy::{Diagnostic, Policy};
use tokio::sync::Semaphore;

use crate::config::TrialConfig;
use crate::events::Hub;
use crate::lock::lock;
use crate::plugins;
use crate::trial::PolicyTrial;

/// A policy that is replaced while requests are judged by it. Each request takes the generation that
/// serves when it comes, and keeps it.
pub(crate) struct ServingPolicy {
    serving: ArcSwap<Policy>,
    pub(crate) state: Mutex<ServingState>,
    /// Asks how long the load or look that runs now has been running.
    running: OnceLock<Box<dyn Fn() -> Option<Duration> + Send + Sync>>,
    /// Who hears of each change.
    hub: Option<Arc<Hub>>,
    pub(crate) trials: TrialConfig,
    /// One request is tried at a time.
    pub(crate) turns: Arc<Semaphore>,
}

/// How the loads went, and the next generation while it is tried.
pub(crate) struct ServingState {
    status: PolicyStatus,
    pub(crate) trial: Option<PolicyTrial>,
}

impl ServingPolicy {
    /// A policy whose further generations serve at once, and of which nobody hears.
    pub(crate) fn new(source: String, policy: Arc<Policy>) -> Self {
        let status = with(PolicyStatus { source, ..PolicyStatus::default() }, &policy);
        ServingPolicy {
            state: Mutex::new(ServingState { status, trial: None }),
            serving: ArcSwap::new(policy),
            running: OnceLock::new(),
            hub: None,
            trials: TrialConfig::default(),
            turns: Arc::new(Semaphore::new(1)),
        }
    }

    /// Has each change told, and further generations tried first.
    pub(crate) fn told_and_tried(self, hub: Arc<Hub>, trials: TrialConfig) -> Self {
        ServingPolicy { hub: Some(hub), trials, ..self }
    }

    /// Returns the generation that serves.
    pub(crate) fn load(&self) -> Arc<Policy> {
        self.serving.load_full()
    }

    /// Another generation was loaded: it serves from now on, or is tried first.
    pub(crate) fn loaded(&self, policy: Arc<Policy>) {
        // What serves means something else already: an exception of it has ended.
        let has_ended = self.load().ends_at().is_some_and(|end| end <= SystemTime::now());
        let mut state = lock(&self.state);
        if self.trials.requests == 0 || has_ended {
            return self.serve(state, policy);
        }
        let (generation, requests) = (policy.generation_name(), self.trials.requests);
        tracing::info!(target: "leafgate::policy", generation, requests, "another policy is tried beside the one that serves");
        state.trial = Some(PolicyTrial::new(policy));
        drop(state);
        self.publish(self.status());
    }

    /// A generation serves. Under the lock, so that of two the newer one does, and no status names one while a request meets another.
    pub(crate) fn serve(&self, mut state: MutexGuard<'_, ServingState>, policy: Arc<Policy>) {
        let changes = self.serving.swap(Arc::clone(&policy)).changes_to(&policy);
        let changes = changes.iter().map(ToString::to_string).collect();
        let status = with(std::mem::take(&mut state.status), &policy);
        *state = ServingState { status: PolicyStatus { changes, refused: None, ..status }, trial: None };
        let status = self.shown(state);
        let (generation, changes, source) = (&status.generation, status.changes.join(", "), &status.source);
        tracing::info!(target: "leafgate::policy", generation, changes, source, "another policy serves");
        for warning in &status.warnings {
            tracing::warn!(target: "leafgate::policy", "{warning}");
        }
        self.publish(status);
    }

    /// Names where the next generation comes from.
    pub(crate) fn comes_from(&self, source: String) {
        lock(&self.state).status.source = source;
    }

    /// Newer files cannot serve; `diagnostics` says why. The generation that serves goes on, and what was tried is older than they
    /// are.
    pub(crate) fn refused(&self, diagnostics: String) {
        self.refuse(lock(&self.state), diagnostics);
    }

    pub(crate) fn refuse(&self, mut state: MutexGuard<'_, ServingState>, diagnostics: String) {
        state.trial = None;
        state.status.failed_loads += 1;
        state.status.refused = Some(diagnostics);
        let status = self.shown(state);
        tracing::warn!(
            target: "leafgate::policy",
            serving = status.generation,
            source = status.source,
            diagnostics = status.refused,
            "the policy on disk is refused, the last good one serves"
        );
        self.publish(status);
    }

    /// Has the status tell how long a load or look has been running. Only the first caller is heard.
    pub(crate) fn watch(&self, running: impl Fn() -> Option<Duration> + Send + Sync + 'static) {
        let _ = self.running.set(Box::new(running));
    }

    pub(crate) fn status(&self) -> PolicyStatus {
        PolicyStatus { plugins: plugins::status(&self.load()), ..self.shown(lock(&self.state)) }
    }

    fn shown(&self, state: MutexGuard<'_, ServingState>) -> PolicyStatus {
        let trial = state.trial.as_ref().map(|trial| trial.status(self.trials));
        let status = PolicyStatus { trial, ..state.status.clone() };
        drop(state);
        let running = self.running.get().and_then(|running| running());
        PolicyStatus { loading_seconds: running.map(|time| time.as_secs()), ..status }
    }

    fn publish(&self, policy: PolicyStatus) {
        if let Some(hub) = &self.hub {
            hub.publish(|| Event::Policy { policy });
        }
    }
}

/// A status after one more load, that of a policy.
fn with(status: PolicyStatus, policy: &Policy) -> PolicyStatus {
    let unprotected = policy.unprotected().map(str::to_owned);
    PolicyStatus {
        generation: policy.generation_name(),
        warnings: unprotected
            .into_iter()
            .chain(policy.warnings().iter().map(Diagnostic::on_one_line))
            .collect(),
        pauses: policy.pausing_rules().map(ToString::to_string).collect(),
        loads: status.loads + 1,
        ..status
    }
}

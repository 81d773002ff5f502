//! The generation of a policy that serves, and how its loads went.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use leafgate_admin::PolicyStatus;
use leafgate_policy::Policy;

use crate::plugins;
use crate::status::Loads;

/// A policy that is replaced while requests are judged by it. Each request takes the generation that
/// serves when it comes, and keeps it.
pub(crate) struct ServingPolicy {
    serving: ArcSwap<Policy>,
    loads: Loads,
}

impl ServingPolicy {
    pub(crate) fn new(source: String, policy: Arc<Policy>) -> Self {
        ServingPolicy { loads: Loads::new(source, &policy), serving: ArcSwap::new(policy) }
    }

    /// Returns the generation that serves.
    pub(crate) fn load(&self) -> Arc<Policy> {
        self.serving.load_full()
    }

    /// Another generation serves from now on.
    pub(crate) fn loaded(&self, policy: Arc<Policy>) -> PolicyStatus {
        let next = Arc::clone(&policy);
        let status = self.loads.loaded(&policy, || self.serving.swap(Arc::clone(&next)).changes_to(&next));
        let (generation, changes, source) = (&status.generation, status.changes.join(", "), &status.source);
        tracing::info!(target: "leafgate::policy", generation, changes, source, "another policy serves");
        for warning in &status.warnings {
            tracing::warn!(target: "leafgate::policy", "{warning}");
        }
        status
    }

    /// Newer files cannot serve; `diagnostics` says why. The generation that serves goes on.
    pub(crate) fn refused(&self, diagnostics: String) -> PolicyStatus {
        let status = self.loads.refused(diagnostics);
        tracing::warn!(
            target: "leafgate::policy",
            serving = status.generation,
            source = status.source,
            diagnostics = status.refused,
            "the policy on disk is refused, the last good one serves"
        );
        status
    }

    /// Has the status tell how long a load or look has been running. Only the first caller is heard.
    pub(crate) fn watch(&self, running: impl Fn() -> Option<Duration> + Send + Sync + 'static) {
        self.loads.watch(running);
    }

    pub(crate) fn status(&self) -> PolicyStatus {
        PolicyStatus { plugins: plugins::status(&self.load()), ..self.loads.read() }
    }
}

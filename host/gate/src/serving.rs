//! The generation of a policy that serves, and how its loads went.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use leafgate_admin::PolicyStatus;
use leafgate_policy::{Diagnostic, Policy};

use crate::plugins;

/// A policy that is replaced while requests are judged by it. Each request takes the generation that
/// serves when it comes, and keeps it.
pub(crate) struct ServingPolicy {
    serving: ArcSwap<Policy>,
    status: Mutex<PolicyStatus>,
    /// Asks how long the load or look that runs now has been running.
    running: OnceLock<Box<dyn Fn() -> Option<Duration> + Send + Sync>>,
}

impl ServingPolicy {
    pub(crate) fn new(source: String, policy: Arc<Policy>) -> Self {
        let status = PolicyStatus { source, ..PolicyStatus::default() };
        ServingPolicy {
            status: Mutex::new(with(status, &policy)),
            serving: ArcSwap::new(policy),
            running: OnceLock::new(),
        }
    }

    /// Returns the generation that serves.
    pub(crate) fn load(&self) -> Arc<Policy> {
        self.serving.load_full()
    }

    /// Another generation serves from now on.
    pub(crate) fn loaded(&self, policy: Arc<Policy>) -> PolicyStatus {
        // Under the lock, so that no status names one and no request meets another.
        let status = self.change(|status| {
            let changes = self.serving.swap(Arc::clone(&policy)).changes_to(&policy);
            *status = with(std::mem::take(status), &policy);
            status.changes = changes.iter().map(ToString::to_string).collect();
            status.refused = None;
        });
        let (generation, changes, source) = (&status.generation, status.changes.join(", "), &status.source);
        tracing::info!(target: "leafgate::policy", generation, changes, source, "another policy serves");
        for warning in &status.warnings {
            tracing::warn!(target: "leafgate::policy", "{warning}");
        }
        status
    }

    /// Names where the next generation comes from.
    pub(crate) fn comes_from(&self, source: String) {
        self.change(|status| status.source = source);
    }

    /// Newer files cannot serve; `diagnostics` says why. The generation that serves goes on.
    pub(crate) fn refused(&self, diagnostics: String) -> PolicyStatus {
        let status = self.change(|status| {
            status.failed_loads += 1;
            status.refused = Some(diagnostics);
        });
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
        let _ = self.running.set(Box::new(running));
    }

    pub(crate) fn status(&self) -> PolicyStatus {
        PolicyStatus { plugins: plugins::status(&self.load()), ..self.change(|_| ()) }
    }

    fn change(&self, change: impl FnOnce(&mut PolicyStatus)) -> PolicyStatus {
        let running = self.running.get().and_then(|running| running());
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut status);
        PolicyStatus { loading_seconds: running.map(|time| time.as_secs()), ..status.clone() }
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

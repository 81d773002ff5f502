//! A generation that is tried on live requests beside the one that serves, before it serves itself.
//!
//! Nothing of what it would do leaves: its verdicts are counted beside those of the generation that
//! serves, and dropped. Where too many more requests would fail or be held, it does not serve.
//!
//! One request is tried at a time, on the blocking pool and in no judge's place, so that no request
//! waits. Requests that come meanwhile are not tried. Each is tried with a vault of its own: what a
//! generation that does not serve would redact is nothing that an answer may bring back.

use std::sync::Arc;

use leafgate_admin::TrialStatus;
use leafgate_policy::{Evaluation, On, Policy, Verdict};
use leafgate_tree::Document;
use leafgate_vault::Vault;
use tokio::sync::OwnedSemaphorePermit;

use crate::config::TrialConfig;
use crate::lock::lock;
use crate::serving::ServingPolicy;
use crate::subject::Subject;

/// A generation that is tried.
pub(crate) struct PolicyTrial {
    policy: Arc<Policy>,
    tried: usize,
    /// What becomes of these requests today, and what would.
    today: Troubles,
    next: Troubles,
}

/// Requests that a rule failed at, and those that would not simply leave.
#[derive(Clone, Copy, Default)]
struct Troubles {
    failed: usize,
    held: usize,
}

impl Troubles {
    fn add(&mut self, evaluation: &Evaluation) {
        self.failed += usize::from(evaluation.report.rules.iter().any(|rule| !rule.errors.is_empty()));
        self.held += usize::from(evaluation.verdict != Verdict::Forward);
    }
}

impl PolicyTrial {
    pub(crate) fn new(policy: Arc<Policy>) -> Self {
        PolicyTrial { policy, tried: 0, today: Troubles::default(), next: Troubles::default() }
    }

    pub(crate) fn status(&self, config: TrialConfig) -> TrialStatus {
        let generation = self.policy.generation_name();
        TrialStatus { generation, tried: self.tried, requests: config.requests }
    }

    /// Returns what the trial has come to: the policy, or why it does not serve.
    fn result(&self, config: TrialConfig) -> Option<Result<Arc<Policy>, String>> {
        let most = config.requests * config.rise / 100;
        let rises = |today: usize, next: usize| next > today + most;
        if rises(self.today.failed, self.next.failed) || rises(self.today.held, self.next.held) {
            return Some(Err(format!(
                "the policy was tried on {} live requests beside the one that serves: rules failed in {} instead \
                 of {}, and {} were held instead of {}. It does not serve: mend it, or have more be allowed by \
                 `reload.rise` ({} percent of {} requests)",
                self.tried,
                self.next.failed,
                self.today.failed,
                self.next.held,
                self.today.held,
                config.rise,
                config.requests
            )));
        }
        (self.tried >= config.requests).then(|| Ok(Arc::clone(&self.policy)))
    }
}

impl ServingPolicy {
    /// Gives a request its turn to be tried; `None` where nothing is tried, another request is just now,
    /// or another policy than the one that serves judges this one.
    pub(crate) fn turn(self: &Arc<Self>, judges: &Arc<Policy>) -> Option<TrialTurn> {
        let policy = lock(&self.state).trial.as_ref().map(|trial| Arc::clone(&trial.policy))?;
        let turn = Arc::clone(&self.turns).try_acquire_owned().ok()?;
        let serving = Arc::clone(self);
        Arc::ptr_eq(&self.load(), judges).then(|| TrialTurn { serving, policy, turn })
    }

    /// A request was tried.
    fn note(&self, tried: &Arc<Policy>, today: &Troubles, next: &Evaluation) {
        let mut state = lock(&self.state);
        // Another generation is tried by now, or none.
        let trial = state.trial.as_mut().filter(|trial| Arc::ptr_eq(&trial.policy, tried));
        let Some(trial) = trial else { return };
        trial.tried += 1;
        trial.today.failed += today.failed;
        trial.today.held += today.held;
        trial.next.add(next);
        match trial.result(self.trials) {
            None => {}
            Some(Ok(policy)) => self.serve(state, policy),
            Some(Err(diagnostics)) => self.refuse(state, diagnostics),
        }
    }
}

/// A request's turn to be tried.
pub(crate) struct TrialTurn {
    serving: Arc<ServingPolicy>,
    policy: Arc<Policy>,
    turn: OwnedSemaphorePermit,
}

impl TrialTurn {
    /// Judges a request once more, elsewhere.
    pub(crate) fn judge(self, document: Arc<Document>, subject: Arc<Subject>, today: &Evaluation) {
        let TrialTurn { serving, policy, turn } = self;
        let mut troubles = Troubles::default();
        troubles.add(today);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn_blocking(move || {
            let vault = Vault::new(subject.vault.keys().clone());
            let next = policy.evaluate(document, &subject.context(On::Request), &vault);
            // The next request may be tried before anybody hears of this one.
            drop(turn);
            serving.note(&policy, &troubles, &next);
        });
    }
}

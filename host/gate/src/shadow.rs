//! A generation that is tried on live requests beside the one that serves, before it serves itself.
//!
//! Nothing of what it would do leaves: its verdicts are counted beside those of the generation that
//! serves, and dropped. Where too many more requests would fail or be held, it does not serve.
//!
//! One request is tried at a time, on the blocking pool and in no judge's place, so that no request
//! waits. Requests that come meanwhile are not tried. Each is tried with a vault of its own: what a
//! generation that does not serve would redact is nothing that an answer may bring back.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use leafgate_admin::{Event, PolicyStatus, TrialStatus};
use leafgate_policy::{Evaluation, On, Policy, Verdict};
use leafgate_tree::Document;
use leafgate_vault::Vault;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::TrialConfig;
use crate::events::Hub;
use crate::lock::lock;
use crate::serving::ServingPolicy;
use crate::subject::Subject;

/// The policy that serves, and the next one while it is tried.
pub(crate) struct Shadow {
    pub(crate) serving: ServingPolicy,
    hub: Arc<Hub>,
    config: TrialConfig,
    trial: Mutex<Option<PolicyTrial>>,
    /// One request is tried at a time.
    turns: Arc<Semaphore>,
}

/// A generation that is tried.
struct PolicyTrial {
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

impl Shadow {
    pub(crate) fn new(serving: ServingPolicy, hub: Arc<Hub>, config: TrialConfig) -> Self {
        Shadow { serving, hub, config, trial: Mutex::new(None), turns: Arc::new(Semaphore::new(1)) }
    }

    pub(crate) fn status(&self) -> PolicyStatus {
        self.shown(self.serving.status())
    }

    /// Another generation was loaded: it serves, or is tried first.
    pub(crate) fn loaded(&self, policy: Arc<Policy>) {
        // What serves means something else already: an exception of it has ended.
        let has_ended = self.serving.load().ends_at().is_some_and(|end| end <= SystemTime::now());
        if self.config.requests == 0 || has_ended {
            return self.serve(lock(&self.trial), policy);
        }
        let generation = policy.generation_name();
        tracing::info!(
            target: "leafgate::policy",
            generation,
            requests = self.config.requests,
            "another policy is tried beside the one that serves"
        );
        let trial = PolicyTrial { policy, tried: 0, today: Troubles::default(), next: Troubles::default() };
        *lock(&self.trial) = Some(trial);
        self.publish(self.serving.status());
    }

    /// Newer files cannot serve. What was tried is older than they are.
    pub(crate) fn refused(&self, diagnostics: String) {
        self.refuse(lock(&self.trial), diagnostics);
    }

    fn refuse(&self, mut trial: MutexGuard<'_, Option<PolicyTrial>>, diagnostics: String) {
        *trial = None;
        let status = self.serving.refused(diagnostics);
        drop(trial);
        self.publish(status);
    }

    /// A generation serves. Under the lock, so that of two the newer one does.
    fn serve(&self, mut trial: MutexGuard<'_, Option<PolicyTrial>>, policy: Arc<Policy>) {
        *trial = None;
        let status = self.serving.loaded(policy);
        drop(trial);
        self.publish(status);
    }

    fn publish(&self, status: PolicyStatus) {
        let policy = self.shown(status);
        self.hub.publish(|| Event::Policy { policy });
    }

    fn shown(&self, status: PolicyStatus) -> PolicyStatus {
        let trial = lock(&self.trial).as_ref().map(|trial| TrialStatus {
            generation: trial.policy.generation_name(),
            tried: trial.tried,
            requests: self.config.requests,
        });
        PolicyStatus { trial, ..status }
    }

    /// Gives a request its turn to be tried; `None` where nothing is tried, another request is just now,
    /// or another policy than the one that serves judges this one.
    pub(crate) fn turn(self: &Arc<Self>, judges: &Arc<Policy>) -> Option<TrialTurn> {
        let policy = lock(&self.trial).as_ref().map(|trial| Arc::clone(&trial.policy))?;
        let turn = Arc::clone(&self.turns).try_acquire_owned().ok()?;
        Arc::ptr_eq(&self.serving.load(), judges).then(|| TrialTurn {
            shadow: Arc::clone(self),
            policy,
            turn,
        })
    }

    /// A request was tried.
    fn note(&self, tried: &Arc<Policy>, today: &Troubles, next: &Evaluation) {
        let mut lock = lock(&self.trial);
        // Another generation is tried by now, or none.
        let Some(trial) = lock.as_mut().filter(|trial| Arc::ptr_eq(&trial.policy, tried)) else { return };
        trial.tried += 1;
        trial.today.failed += today.failed;
        trial.today.held += today.held;
        trial.next.add(next);
        match trial.result(self.config) {
            None => {}
            Some(Ok(policy)) => self.serve(lock, policy),
            Some(Err(diagnostics)) => self.refuse(lock, diagnostics),
        }
    }
}

/// A request's turn to be tried.
pub(crate) struct TrialTurn {
    shadow: Arc<Shadow>,
    policy: Arc<Policy>,
    turn: OwnedSemaphorePermit,
}

impl TrialTurn {
    /// Judges a request once more, elsewhere.
    pub(crate) fn judge(self, document: Arc<Document>, subject: Arc<Subject>, today: &Evaluation) {
        let TrialTurn { shadow, policy, turn } = self;
        let mut troubles = Troubles::default();
        troubles.add(today);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn_blocking(move || {
            let vault = Vault::new(subject.vault.keys().clone());
            let next = policy.evaluate(document, &subject.context(On::Request), &vault);
            // The next request may be tried before anybody hears of this one.
            drop(turn);
            shadow.note(&policy, &troubles, &next);
        });
    }
}

//! How the gate is: which policy serves, why newer files do not, and what became of the requests so far.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::StatusCode;
use leafgate_admin::{Answers, Counts, RuleCount, Ruled, StatusCount};
use leafgate_policy::Policy;

use crate::log::Tally;
use crate::quiet::Matches;
use crate::refusal::Code;
use crate::ruled::AnswerOutcome;

/// Requests by how they ended. The numbers are independent, so each is exact and no two are read at one moment.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    forwarded: AtomicU64,
    blocked: AtomicU64,
    paused: AtomicU64,
    cancelled: AtomicU64,
    refused: AtomicU64,
    succeeded: AtomicU64,
    redirected: AtomicU64,
    client_errors: AtomicU64,
    server_errors: AtomicU64,
    unanswered: AtomicU64,
    faults: AtomicU64,
    files_read: AtomicU64,
    unread: AtomicU64,
    by_status: Mutex<BTreeMap<u16, u64>>,
    by_rule: Mutex<BTreeMap<String, u64>>,
    matches: Mutex<Matches>,
    /// By [`AnswerOutcome`], in its order.
    ruled: [AtomicU64; AnswerOutcome::ALL.len()],
    in_flight: Arc<AtomicUsize>,
}

/// Most rules that are counted. Reloads bring new ones, and old ones are not forgotten.
const MOST_RULES: usize = 10_000;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request in flight, until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<AtomicUsize>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Counters {
    /// A request is sent on.
    pub(crate) fn forwarded(&self) {
        self.forwarded.fetch_add(1, Relaxed);
    }

    /// A request has come.
    pub(crate) fn in_flight(&self) -> InFlight {
        self.in_flight.fetch_add(1, Relaxed);
        InFlight(Arc::clone(&self.in_flight))
    }

    /// How many requests have come and are not answered to their end.
    pub(crate) fn count_in_flight(&self) -> usize {
        self.in_flight.load(Relaxed)
    }

    /// The upstream answers.
    pub(crate) fn answered(&self, status: StatusCode) {
        *lock(&self.by_status).entry(status.as_u16()).or_default() += 1;
        match status.as_u16() {
            200..300 => &self.succeeded,
            400..500 => &self.client_errors,
            500.. => &self.server_errors,
            _ => &self.redirected,
        }
        .fetch_add(1, Relaxed);
    }

    /// There is no answer from the upstream.
    pub(crate) fn unanswered(&self) {
        self.unanswered.fetch_add(1, Relaxed);
    }

    /// Rules matched a request, or could not run to their end.
    pub(crate) fn judged(&self, tally: &Tally) {
        lock(&self.matches).judged(&tally.rules);
        self.ran(tally);
    }

    /// The same of a request that is counted: its answer was judged, or itself at another upstream.
    pub(crate) fn judged_further(&self, tally: &Tally) {
        lock(&self.matches).judged_further(&tally.rules);
        self.ran(tally);
    }

    /// Rules and people decided about an answer.
    pub(crate) fn answer_is(&self, outcome: AnswerOutcome) {
        self.ruled[outcome as usize].fetch_add(1, Relaxed);
    }

    fn ran(&self, tally: &Tally) {
        self.faults.fetch_add(tally.errors.len() as u64, Relaxed);
        self.files_read.fetch_add(tally.files_read as u64, Relaxed);
        self.unread.fetch_add(tally.unread as u64, Relaxed);
        if tally.rules.is_empty() {
            return;
        }
        let mut by_rule = lock(&self.by_rule);
        for rule in &tally.rules {
            if by_rule.len() < MOST_RULES || by_rule.contains_key(rule) {
                *by_rule.entry(rule.clone()).or_default() += 1;
            }
        }
    }

    /// Another generation of the policy serves.
    pub(crate) fn policy_loaded(&self, policy: &Policy) {
        lock(&self.matches).loaded(policy.rules().map(AsRef::as_ref));
    }

    /// Returns the rules that matched before and do not since, a line each.
    pub(crate) fn quiet(&self) -> Vec<String> {
        lock(&self.matches).quiet()
    }

    pub(crate) fn statuses(&self) -> Vec<StatusCount> {
        lock(&self.by_status).iter().map(|(&status, &answers)| StatusCount { status, answers }).collect()
    }

    pub(crate) fn rules(&self) -> Vec<RuleCount> {
        let by_rule = lock(&self.by_rule);
        by_rule.iter().map(|(rule, &requests)| RuleCount { rule: rule.clone(), requests }).collect()
    }

    /// A turn begins to wait.
    pub(crate) fn paused(&self) {
        self.paused.fetch_add(1, Relaxed);
    }

    /// A turn is given up.
    pub(crate) fn cancelled(&self) {
        self.cancelled.fetch_add(1, Relaxed);
    }

    /// The gate answers a request itself.
    pub(crate) fn refused(&self, code: Code) {
        match code {
            // A guard that could not run counts as one that said no.
            Code::Blocked | Code::Internal => &self.blocked,
            Code::Foreign
            | Code::Unsupported
            | Code::Malformed
            | Code::TooLarge
            | Code::Stalled
            | Code::Busy => &self.refused,
            // Counted already: as turns, or as forwarded.
            Code::Cancelled | Code::TimedOut | Code::Replaced | Code::Upstream | Code::Redirect => return,
        }
        .fetch_add(1, Relaxed);
    }

    fn read_ruled(&self) -> Ruled {
        let of = |outcome: AnswerOutcome| self.ruled[outcome as usize].load(Relaxed);
        Ruled {
            passed: of(AnswerOutcome::Passed),
            changed: of(AnswerOutcome::Changed),
            held: of(AnswerOutcome::Held),
            approved: of(AnswerOutcome::Approved),
            edited: of(AnswerOutcome::Edited),
            partly_refused: of(AnswerOutcome::PartlyRefused),
            refused: of(AnswerOutcome::Refused),
            abandoned: of(AnswerOutcome::Abandoned),
            blocked: of(AnswerOutcome::Blocked),
        }
    }

    pub(crate) fn read(&self) -> Counts {
        Counts {
            forwarded: self.forwarded.load(Relaxed),
            blocked: self.blocked.load(Relaxed),
            paused: self.paused.load(Relaxed),
            cancelled: self.cancelled.load(Relaxed),
            refused: self.refused.load(Relaxed),
            answers: Answers {
                succeeded: self.succeeded.load(Relaxed),
                redirected: self.redirected.load(Relaxed),
                client_errors: self.client_errors.load(Relaxed),
                server_errors: self.server_errors.load(Relaxed),
                none: self.unanswered.load(Relaxed),
            },
            faults: self.faults.load(Relaxed),
            files_read: self.files_read.load(Relaxed),
            unread: self.unread.load(Relaxed),
            ruled: self.read_ruled(),
        }
    }
}

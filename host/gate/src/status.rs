//! How the gate is: which policy serves, why newer files do not, and what became of the requests so far.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use http::StatusCode;
use leafgate_admin::{Counts, RuleCount, StatusCount};
use leafgate_policy::Policy;
use leafgate_record::AnswerOutcome;

use crate::lock::lock;
use crate::metrics::Metrics;
use crate::quiet::RuleMatches;
use crate::request_event::RequestEvent;
use crate::tally::RuleTally;
use leafgate_http::refusal::Code;

/// What is counted of requests.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    counted: Mutex<RequestCounts>,
    pub(crate) metrics: Metrics,
    in_flight: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct RequestCounts {
    /// Requests by how they ended.
    requests: Counts,
    by_status: BTreeMap<u16, u64>,
    by_rule: BTreeMap<String, u64>,
    matches: RuleMatches,
}

/// Most rules that are counted. Reloads bring new ones, and old ones are not forgotten.
const MOST_RULES: usize = 10_000;

/// A request in flight, until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<AtomicUsize>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Counters {
    /// A request has come.
    pub(crate) fn in_flight(&self) -> InFlight {
        self.in_flight.fetch_add(1, Relaxed);
        InFlight(Arc::clone(&self.in_flight))
    }

    /// Returns how many requests have come and are not answered to their end.
    pub(crate) fn count_in_flight(&self) -> usize {
        self.in_flight.load(Relaxed)
    }

    /// Counts what happens to a request.
    pub(crate) fn hear(&self, event: RequestEvent<'_>) {
        // All requests share the lock.
        if matches!(event, RequestEvent::Received(_)) {
            return;
        }
        let counted = &mut *lock(&self.counted);
        match event {
            RequestEvent::Sent(_) => counted.requests.forwarded += 1,
            RequestEvent::Answered(status, _) => counted.answered(status),
            RequestEvent::Unanswered => counted.requests.answers.none += 1,
            RequestEvent::Judged { tally, is_first, .. } => {
                if is_first {
                    counted.matches.judged();
                }
                counted.rules_ran(tally);
            }
            RequestEvent::AnswerIs(outcome, _) => counted.answer_is(outcome),
            RequestEvent::Refused(refusal) => counted.refused(refusal.code),
            RequestEvent::Received(_) => {}
        }
    }

    /// Another generation of the policy serves.
    pub(crate) fn policy_loaded(&self, policy: &Policy) {
        lock(&self.counted).matches.loaded(policy.rules().map(AsRef::as_ref));
    }

    /// Returns the rules that matched before and do not since, a line each.
    pub(crate) fn quiet(&self) -> Vec<String> {
        lock(&self.counted).matches.quiet()
    }

    pub(crate) fn statuses(&self) -> Vec<StatusCount> {
        let counted = lock(&self.counted);
        counted.by_status.iter().map(|(&status, &answers)| StatusCount { status, answers }).collect()
    }

    pub(crate) fn rules(&self) -> Vec<RuleCount> {
        let counted = lock(&self.counted);
        counted.by_rule.iter().map(|(rule, &requests)| RuleCount { rule: rule.clone(), requests }).collect()
    }

    /// A turn begins to wait.
    pub(crate) fn paused(&self) {
        lock(&self.counted).requests.paused += 1;
    }

    /// A turn is given up.
    pub(crate) fn cancelled(&self) {
        lock(&self.counted).requests.cancelled += 1;
    }

    pub(crate) fn read(&self) -> Counts {
        lock(&self.counted).requests
    }
}

impl RequestCounts {
    fn answered(&mut self, status: StatusCode) {
        *self.by_status.entry(status.as_u16()).or_default() += 1;
        let answers = &mut self.requests.answers;
        *match status.as_u16() {
            200..300 => &mut answers.succeeded,
            400..500 => &mut answers.client_errors,
            500.. => &mut answers.server_errors,
            _ => &mut answers.redirected,
        } += 1;
    }

    /// Rules matched a request or its answer, or could not run to their end.
    fn rules_ran(&mut self, tally: &RuleTally) {
        self.matches.matched(&tally.rules);
        self.requests.faults += tally.errors.len() as u64;
        self.requests.files_read += tally.files_read as u64;
        self.requests.unread += tally.unread as u64;
        for rule in &tally.rules {
            if self.by_rule.len() < MOST_RULES || self.by_rule.contains_key(rule) {
                *self.by_rule.entry(rule.clone()).or_default() += 1;
            }
        }
    }

    fn answer_is(&mut self, outcome: AnswerOutcome) {
        let ruled = &mut self.requests.ruled;
        *match outcome {
            AnswerOutcome::Passed => &mut ruled.passed,
            AnswerOutcome::Changed => &mut ruled.changed,
            AnswerOutcome::Held => &mut ruled.held,
            AnswerOutcome::Approved => &mut ruled.approved,
            AnswerOutcome::Edited => &mut ruled.edited,
            AnswerOutcome::PartlyRefused => &mut ruled.partly_refused,
            AnswerOutcome::Refused => &mut ruled.refused,
            AnswerOutcome::Abandoned => &mut ruled.abandoned,
            AnswerOutcome::Blocked => &mut ruled.blocked,
        } += 1;
    }

    fn refused(&mut self, code: Code) {
        let requests = &mut self.requests;
        *match code {
            // A guard that could not run counts as one that said no.
            Code::Blocked | Code::Internal => &mut requests.blocked,
            Code::Foreign
            | Code::Unsupported
            | Code::Malformed
            | Code::TooLarge
            | Code::Stalled
            | Code::Busy => &mut requests.refused,
            // Counted already: as turns, or as forwarded.
            Code::Cancelled | Code::TimedOut | Code::Replaced | Code::Upstream | Code::Redirect => return,
        } += 1;
    }
}

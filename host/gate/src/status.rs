//! What became of the requests so far, in numbers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::StatusCode;
use leafgate_admin::{Counts, StatusCount};

use crate::lock::lock;
use crate::metrics::Metrics;
use crate::tally::RuleTally;
use leafgate_http::Code;

/// What is counted of requests.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    counted: Mutex<RequestCounts>,
    pub(crate) metrics: Metrics,
    in_flight: InFlight,
}

#[derive(Debug, Default)]
pub(crate) struct RequestCounts {
    /// Requests by how they ended.
    pub(crate) requests: Counts,
    by_status: BTreeMap<u16, u64>,
}

/// A request in flight, until it is dropped: they are counted by who holds this.
pub(crate) type InFlight = Arc<()>;

impl Counters {
    /// A request has come.
    pub(crate) fn in_flight(&self) -> InFlight {
        Arc::clone(&self.in_flight)
    }

    /// Returns how many requests have come and are not answered to their end.
    pub(crate) fn count_in_flight(&self) -> usize {
        Arc::strong_count(&self.in_flight) - 1
    }

    /// Returns what all requests share. Nobody keeps it for longer than a count takes.
    pub(crate) fn counted(&self) -> MutexGuard<'_, RequestCounts> {
        lock(&self.counted)
    }

    /// Rules matched a request or its answer, or could not run to their end. `took` is how long a request took.
    pub(crate) fn rules_ran(&self, tally: &RuleTally, took: Option<Duration>) {
        let mut counted = self.counted();
        counted.requests.faults += tally.errors.len() as u64;
        counted.requests.files_read += tally.files_read as u64;
        counted.requests.unread += tally.unread as u64;
        drop(counted);
        self.metrics.rules_ran(tally, took);
    }
}

impl RequestCounts {
    /// Returns the upstreams' answers by their status.
    pub(crate) fn statuses(&self) -> Vec<StatusCount> {
        self.by_status.iter().map(|(&status, &answers)| StatusCount { status, answers }).collect()
    }

    pub(crate) fn answered(&mut self, status: StatusCode) {
        *self.by_status.entry(status.as_u16()).or_default() += 1;
        let answers = &mut self.requests.answers;
        *match status.as_u16() {
            200..300 => &mut answers.succeeded,
            400..500 => &mut answers.client_errors,
            500.. => &mut answers.server_errors,
            _ => &mut answers.redirected,
        } += 1;
    }

    pub(crate) fn refused(&mut self, code: Code) {
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

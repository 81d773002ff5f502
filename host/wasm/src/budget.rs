//! The budget of one plugin for one request, over all its calls.
//!
//! A call begins with the rest that earlier calls for the same request have left, and ends by
//! charging its own cost, also after a fault. A bound for each call alone would be no bound: the
//! sender of a request decides how many batches its leaves make.

use std::time::{Duration, Instant};

use leafgate_contract::{Amount, Cost, Fault, Spent};

use crate::limits::LoaderLimits;

/// One call under way. Dropping it charges the time that it took.
#[derive(Debug)]
pub(crate) struct CallBudget<'a> {
    spent: &'a Spent,
    limits: &'a LoaderLimits,
    began: Instant,
    /// The time that the request has for this plugin.
    whole: Duration,
    /// The rest of it when the call began.
    left: Duration,
}

impl<'a> CallBudget<'a> {
    /// Begins a call that shows so many bytes of leaf text.
    ///
    /// # Errors
    /// Where earlier calls have used up the request's time.
    pub(crate) fn begin(spent: &'a Spent, limits: &'a LoaderLimits, bytes: usize) -> Result<Self, Fault> {
        let shown = Cost { shown_bytes: bytes, ..Cost::default() };
        let so_far = spent.charge(shown);
        let whole = limits.request_time(so_far.shown_bytes);
        let left = whole.saturating_sub(so_far.time);
        let budget = CallBudget { spent, limits, began: Instant::now(), whole, left };
        if left.is_zero() { Err(budget.out_of_time()) } else { Ok(budget) }
    }

    /// Returns how long the call may still take.
    pub(crate) fn time_left(&self) -> Duration {
        self.left.saturating_sub(self.began.elapsed())
    }

    /// Returns how many bytes reading the answer may still take.
    pub(crate) fn answer_bytes_left(&self) -> usize {
        self.limits.answer_bytes.saturating_sub(self.spent.so_far().answer_bytes)
    }

    /// Charges an answer.
    ///
    /// # Errors
    /// Where this answer is more than the request has left.
    pub(crate) fn charge(&self, answer: Cost) -> Result<(), Fault> {
        let total = self.spent.charge(answer);
        for (used, limit, what) in [
            (total.findings, self.limits.findings, Amount::Findings),
            (total.edits, self.limits.edits, Amount::Edits),
            (total.answer_bytes, self.limits.answer_bytes, Amount::Bytes),
        ] {
            if used > limit {
                return Err(Fault::TooMuch { limit, what });
            }
        }
        Ok(())
    }

    pub(crate) fn out_of_time(&self) -> Fault {
        Fault::RequestTime { limit_ms: self.time_ms() }
    }

    /// Returns what the request has for this plugin, in milliseconds.
    pub(crate) fn time_ms(&self) -> u64 {
        u64::try_from(self.whole.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for CallBudget<'_> {
    fn drop(&mut self) {
        self.spent.charge(Cost { time: self.began.elapsed(), ..Cost::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> LoaderLimits {
        LoaderLimits {
            request_time: Duration::from_secs(2),
            request_time_per_kib: Duration::from_secs(1),
            findings: 10,
            edits: 5,
            answer_bytes: 100,
            ..LoaderLimits::default()
        }
    }

    #[test]
    fn time_adds_up_over_calls_and_grows_with_what_is_shown() {
        let (spent, limits) = (Spent::default(), limits());
        spent.charge(Cost { time: Duration::from_millis(1999), ..Cost::default() });
        assert!(CallBudget::begin(&spent, &limits, 0).unwrap().time_left() <= Duration::from_millis(1));
        spent.charge(Cost { time: Duration::from_millis(1), ..Cost::default() });
        let over = Fault::RequestTime { limit_ms: 2000 };
        assert_eq!(CallBudget::begin(&spent, &limits, 0).map(drop), Err(over));
        // Three KiB more to look at are three seconds more.
        let left = CallBudget::begin(&spent, &limits, 3 << 10).unwrap().time_left();
        assert!(left > Duration::from_millis(2900), "{left:?}");
    }

    #[test]
    fn a_call_charges_its_time_whatever_came_of_it() {
        let (spent, limits) = (Spent::default(), limits());
        drop(CallBudget::begin(&spent, &limits, 0).unwrap());
        assert!(!spent.so_far().time.is_zero());
    }

    #[test]
    fn findings_edits_and_bytes_add_up_over_calls() {
        let limits = limits();
        for (cost, fault) in [
            (Cost { findings: 6, ..Cost::default() }, Fault::TooMuch { limit: 10, what: Amount::Findings }),
            (Cost { edits: 3, ..Cost::default() }, Fault::TooMuch { limit: 5, what: Amount::Edits }),
            (
                Cost { answer_bytes: 60, ..Cost::default() },
                Fault::TooMuch { limit: 100, what: Amount::Bytes },
            ),
        ] {
            let spent = Spent::default();
            assert_eq!(CallBudget::begin(&spent, &limits, 0).unwrap().charge(cost), Ok(()));
            assert_eq!(CallBudget::begin(&spent, &limits, 0).unwrap().charge(cost), Err(fault));
        }
    }
}

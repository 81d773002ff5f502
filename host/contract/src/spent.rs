//! The cost of one request for one plugin, over all calls, batches and phases.

use std::cell::Cell;
use std::time::Duration;

/// An amount of what a plugin may use up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes of leaf text that it is shown.
    pub shown_bytes: usize,
    /// Wall time, from asking for an instance to the end of the call.
    pub time: Duration,
    /// Findings of a detector, redactions of a transformer.
    pub findings: usize,
    /// Edits of a transformer.
    pub edits: usize,
    /// Memory that its answers take on the host.
    pub answer_bytes: usize,
}

/// A running total for one plugin and one request.
///
/// The policy makes one for each plugin when it begins with a request, and hands it to every call.
/// The runner of the plugin charges it and refuses the call that would exceed the runner's limits:
/// a bound per call would grow with the number of calls, which the sender of a request chooses.
#[derive(Debug, Default)]
pub struct Spent(Cell<Cost>);

impl Spent {
    /// Returns the total so far.
    pub fn so_far(&self) -> Cost {
        self.0.get()
    }

    /// Adds to the total, and returns the new one.
    pub fn charge(&self, cost: Cost) -> Cost {
        let before = self.0.get();
        let after = Cost {
            shown_bytes: before.shown_bytes.saturating_add(cost.shown_bytes),
            time: before.time.saturating_add(cost.time),
            findings: before.findings.saturating_add(cost.findings),
            edits: before.edits.saturating_add(cost.edits),
            answer_bytes: before.answer_bytes.saturating_add(cost.answer_bytes),
        };
        self.0.set(after);
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_add_up_and_do_not_wrap_around() {
        let spent = Spent::default();
        let (time, edits) = (Duration::from_millis(3), 1);
        spent.charge(Cost { shown_bytes: 5, time, findings: 2, edits, answer_bytes: usize::MAX });
        let total = spent.charge(Cost { shown_bytes: 5, time, findings: 2, edits, answer_bytes: 1 });
        let time = Duration::from_millis(6);
        assert_eq!(total, Cost { shown_bytes: 10, time, findings: 4, edits: 2, answer_bytes: usize::MAX });
        assert_eq!(spent.so_far(), total);
    }
}

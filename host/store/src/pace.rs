//! How much of a processor the writer takes where others want it.
//!
//! Of the lowest niceness a thread still gets some time beside busy ones, and each of its slices makes
//! a request wait. Where the writer had to wait for a processor half as long as it had one, it rests so
//! long that it has a twentieth of one. That is enough for some hundred turns each second; what comes
//! beyond that is left out, and counted.

use std::time::Duration;

/// The share of a processor: one of so many parts.
const PARTS: u32 = 20;

/// A longer rest would keep too much of an answer from the disk.
const MOST: Duration = Duration::from_secs(2);

/// How long a thread had a processor, and how long it waited for one, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    ran: Duration,
    waited: Duration,
}

/// Measures the thread that it was made on.
#[derive(Debug)]
pub(crate) struct WriterPace {
    last: Option<Times>,
}

impl WriterPace {
    pub(crate) fn new() -> Self {
        WriterPace { last: times() }
    }

    /// Returns how long the thread is to rest for what it did since the last question.
    pub(crate) fn rest(&mut self) -> Duration {
        let (last, now) = (self.last, times());
        self.last = now;
        match (last, now) {
            (Some(last), Some(now)) => rest_of(Times {
                ran: now.ran.saturating_sub(last.ran),
                waited: now.waited.saturating_sub(last.waited),
            }),
            _ => Duration::ZERO,
        }
    }
}

/// Waiting for a processor is rest already.
fn rest_of(Times { ran, waited }: Times) -> Duration {
    match waited * 2 > ran {
        true => (ran * (PARTS - 1)).saturating_sub(waited).min(MOST),
        false => Duration::ZERO,
    }
}

/// Returns the times of the present thread, in the words of the kernel's `sched-stats` document the
/// time spent on the CPU and the time spent waiting on a run queue.
#[cfg(target_os = "linux")]
fn times() -> Option<Times> {
    parsed(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// No other system says how long a thread waited.
#[cfg(not(target_os = "linux"))]
fn times() -> Option<Times> {
    None
}

/// Reads nanoseconds on a processor, nanoseconds of waiting for one, and slices.
#[cfg(any(target_os = "linux", test))]
fn parsed(text: &str) -> Option<Times> {
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse().map(Duration::from_nanos));
    Some(Times { ran: fields.next()?.ok()?, waited: fields.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(ran: u64, waited: u64) -> Times {
        Times { ran: Duration::from_millis(ran), waited: Duration::from_millis(waited) }
    }

    #[test]
    fn who_waits_for_a_processor_has_a_twentieth_of_one() {
        assert_eq!(rest_of(millis(10, 0)), Duration::ZERO);
        assert_eq!(rest_of(millis(10, 5)), Duration::ZERO, "as a thread does that others let be");
        assert_eq!(rest_of(millis(10, 40)), Duration::from_millis(150));
        assert_eq!(rest_of(millis(10, 500)), Duration::ZERO, "it waited longer than it is to rest");
        assert_eq!(rest_of(millis(1000, 1001)), MOST);
    }

    #[test]
    fn the_kernel_says_nanoseconds() {
        assert_eq!(parsed("10000000 40000000 12\n"), Some(millis(10, 40)));
        assert_eq!(parsed(""), None);
        assert_eq!(parsed("10000000 -\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_computes_has_run() {
        let before = times().unwrap();
        let mut sum = 0_u64;
        // The kernel counts at its ticks and where a thread gives way.
        while times().unwrap().ran == before.ran {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
    }
}

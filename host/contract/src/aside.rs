//! What takes long, and whom that must not hold up.
//!
//! A request may be judged by a thread that has others to serve. Whoever judges there says how that
//! thread makes way for them ([`making_way`]), and who runs a plugin has it make way once a call
//! takes long ([`aside`]): most calls take microseconds, and to move each of them to another thread
//! costs more than they do.

use std::cell::Cell;

/// Runs something while another thread does what else this one would have to do.
pub type Way = fn(&mut dyn FnMut());

/// How often a thread makes way for one request. Once is enough where another thread was there to
/// take over.
const MOST: u8 = 5;

/// How this thread makes way, and how often it still does.
#[derive(Clone, Copy)]
struct Ways {
    way: Option<Way>,
    left: u8,
}

const NONE: Ways = Ways { way: None, left: 0 };

thread_local! {
    static WAYS: Cell<Ways> = const { Cell::new(NONE) };
}

/// Does work on a thread that others need too. Returns what it gave, and whether the thread made way
/// for them meanwhile.
pub fn making_way<R>(way: Way, work: impl FnOnce() -> R) -> (R, bool) {
    // However the work ends.
    let _before =
        scopeguard::guard(WAYS.replace(Ways { way: Some(way), left: MOST }), |before| WAYS.set(before));
    let result = work();
    (result, WAYS.get().left < MOST)
}

/// Returns true if and only if others need this thread, as far as is known.
pub fn is_needed() -> bool {
    WAYS.get().left > 0
}

/// Waits for something that may take long, and makes way meanwhile where others need this thread.
pub fn aside(wait: &mut dyn FnMut()) {
    let ways = WAYS.get();
    match (ways.way, ways.left.checked_sub(1)) {
        (Some(way), Some(left)) => {
            WAYS.set(Ways { left, ..ways });
            way(wait);
        }
        _ => wait(),
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    thread_local! {
        static MADE: Cell<usize> = const { Cell::new(0) };
    }

    fn way(wait: &mut dyn FnMut()) {
        MADE.set(MADE.get() + 1);
        wait();
    }

    #[test]
    fn a_thread_that_nobody_needs_only_waits() {
        let mut waited = 0;
        aside(&mut || waited += 1);
        assert!(!is_needed());
        assert_eq!((waited, MADE.get()), (1, 0));
    }

    #[test]
    fn a_thread_that_others_need_makes_way_a_few_times() {
        let (waited, made_way) = making_way(way, || {
            let mut waited = 0;
            while is_needed() {
                aside(&mut || waited += 1);
            }
            aside(&mut || waited += 1);
            waited
        });
        assert!(made_way);
        assert_eq!((waited, MADE.get()), (usize::from(MOST) + 1, usize::from(MOST)));
        assert!(!is_needed(), "the work is done");
    }

    #[test]
    fn work_that_waits_for_nothing_makes_no_way() {
        assert_eq!(making_way(way, is_needed), (true, false));
        assert_eq!(MADE.get(), 0);
    }

    #[test]
    fn work_that_panics_leaves_nothing_behind() {
        assert!(catch_unwind(|| making_way(way, || panic!("a test of panics"))).is_err());
        assert!(!is_needed());
    }
}

//! Which questions were cancelled a moment ago, so that no client gets them through by asking again.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::question::Question;
use crate::reason::CancelReason;
use crate::tick::Tick;

/// The cancels that still hold, oldest first; each holds equally long, so the first one ends first.
/// Bounded: one more makes the oldest fall. There are hardly ever more than a few, and at most as many
/// as turns may wait, so they are looked through.
#[derive(Debug, Default)]
pub(crate) struct Cancels(VecDeque<HeldCancel>);

#[derive(Debug)]
struct HeldCancel {
    session: Arc<str>,
    question: Question,
    reason: CancelReason,
    until: Tick,
}

impl Cancels {
    /// Remembers a cancel, and at most so many in all.
    pub(crate) fn add(
        &mut self,
        session: &Arc<str>,
        question: Question,
        reason: CancelReason,
        until: Tick,
        most: usize,
    ) {
        self.forget(session, &question);
        self.0.push_back(HeldCancel { session: Arc::clone(session), question, reason, until });
        self.0.drain(..self.0.len().saturating_sub(most));
    }

    /// Forgets the cancel of a question.
    pub(crate) fn forget(&mut self, session: &str, question: &Question) {
        self.0.retain(|cancel| &*cancel.session != session || cancel.question != *question);
    }

    /// Forgets what does not hold any more.
    pub(crate) fn pass(&mut self, now: Tick) {
        while self.0.pop_front_if(|cancel| cancel.until <= now).is_some() {}
    }

    /// Why a question was cancelled, where that still holds.
    pub(crate) fn of(&self, session: &str, question: &Question, now: Tick) -> Option<CancelReason> {
        let cancel = self.standing(session, now).find(|cancel| cancel.question == *question)?;
        Some(cancel.reason)
    }

    /// Whether anything of a session was cancelled.
    pub(crate) fn any(&self, session: &str, now: Tick) -> bool {
        self.standing(session, now).next().is_some()
    }

    /// Whether a person cancelled anything of a session.
    pub(crate) fn by_user(&self, session: &str, now: Tick) -> bool {
        self.standing(session, now).any(|cancel| cancel.reason == CancelReason::User)
    }

    fn standing(&self, session: &str, now: Tick) -> impl Iterator<Item = &HeldCancel> {
        self.0.iter().filter(move |cancel| &*cancel.session == session && cancel.until > now)
    }
}

#[cfg(test)]
mod tests {
    use leafgate_tree::{Document, Format, Limits};

    use super::*;

    fn question(says: u32) -> Question {
        let body = format!(r#"{{"says": {says}}}"#);
        Question::of(&Document::parse(body.into(), Format::Generic, &Limits::default()).unwrap(), None)
    }

    #[test]
    fn a_cancel_that_was_forgotten_makes_no_other_one_fall() {
        let mut cancels = Cancels::default();
        let end = Tick::from_millis(10);
        cancels.add(&"s".into(), question(1), CancelReason::User, end, 2);
        for _ in 0..4 {
            cancels.add(&"t".into(), question(2), CancelReason::Superseded, end, 2);
            cancels.forget("t", &question(2));
        }
        assert!(cancels.any("s", Tick::from_millis(9)));
        cancels.forget("s", &question(1));
        assert!(cancels.0.is_empty());
    }

    #[test]
    fn a_cancel_holds_for_its_session_and_its_time() {
        let mut cancels = Cancels::default();
        let at = Tick::from_millis;
        cancels.add(&"s".into(), question(1), CancelReason::User, at(10), 8);
        assert_eq!(cancels.of("s", &question(1), at(9)), Some(CancelReason::User));
        assert_eq!(cancels.of("s", &question(1), at(10)), None, "its time is over, told or not");
        assert_eq!(cancels.of("s", &question(2), at(9)), None);
        assert_eq!(cancels.of("t", &question(1), at(9)), None);
        assert!(cancels.any("s", at(9)) && cancels.by_user("s", at(9)) && !cancels.any("t", at(9)));
        cancels.pass(at(10));
        assert!(cancels.0.is_empty());
    }

    #[test]
    fn only_so_many_are_remembered_and_a_forgotten_one_takes_no_place_for_long() {
        let mut cancels = Cancels::default();
        let now = Tick::from_millis(0);
        for says in 0..5 {
            let session = format!("s{}", says % 2).into();
            cancels.add(&session, question(says), CancelReason::Superseded, Tick::from_millis(9), 3);
        }
        let held: Vec<_> = (0..5)
            .filter(|&says| cancels.of(&format!("s{}", says % 2), &question(says), now).is_some())
            .collect();
        assert_eq!(held, [2, 3, 4]);
        assert!(!cancels.by_user("s0", now));
        cancels.forget("s1", &question(3));
        assert!(!cancels.any("s1", now));
        cancels.add(&"s0".into(), question(4), CancelReason::User, Tick::from_millis(20), 3);
        assert_eq!(cancels.of("s0", &question(4), Tick::from_millis(9)), Some(CancelReason::User));
        cancels.pass(Tick::from_millis(9));
        assert!(cancels.by_user("s0", now), "the latest cancel of a question counts");
    }
}

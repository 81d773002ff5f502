//! Which questions were cancelled a moment ago, so that no client gets them through by asking again.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::question::Question;
use crate::reason::CancelReason;
use crate::tick::Tick;

/// The cancels that still hold. Bounded: one more makes the oldest fall.
#[derive(Debug, Default)]
pub(crate) struct Cancels {
    by_session: HashMap<Arc<str>, Vec<Cancel>>,
    /// All of them, oldest first; each holds equally long, so the first one ends first.
    order: VecDeque<(u64, Arc<str>)>,
    last: u64,
}

#[derive(Debug)]
struct Cancel {
    number: u64,
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
        self.last += 1;
        let cancel = Cancel { number: self.last, question, reason, until };
        self.by_session.entry(Arc::clone(session)).or_default().push(cancel);
        self.order.push_back((self.last, Arc::clone(session)));
        while self.order.len() > most {
            self.drop_oldest();
        }
    }

    /// Forgets the cancel of a question.
    pub(crate) fn forget(&mut self, session: &str, question: &Question) {
        self.retain(session, |cancel| cancel.question != *question);
    }

    /// Forgets what does not hold any more.
    pub(crate) fn pass(&mut self, now: Tick) {
        while let Some((number, session)) = self.order.front() {
            let cancel =
                self.by_session.get(session).and_then(|list| list.iter().find(|c| c.number == *number));
            if cancel.is_some_and(|cancel| cancel.until > now) {
                return;
            }
            self.drop_oldest();
        }
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

    /// Whether nothing at all was cancelled.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_session.is_empty()
    }

    /// Whether a person cancelled anything of a session.
    pub(crate) fn by_user(&self, session: &str, now: Tick) -> bool {
        self.standing(session, now).any(|cancel| cancel.reason == CancelReason::User)
    }

    fn standing(&self, session: &str, now: Tick) -> impl Iterator<Item = &Cancel> {
        let all = self.by_session.get(session).into_iter().flatten();
        all.filter(move |cancel| cancel.until > now)
    }

    fn drop_oldest(&mut self) {
        if let Some((number, session)) = self.order.pop_front() {
            self.retain(&session, |cancel| cancel.number != number);
        }
    }

    /// What goes leaves the order too: it must not make another one fall.
    fn retain(&mut self, session: &str, keep: impl Fn(&Cancel) -> bool) {
        let Some(list) = self.by_session.get_mut(session) else { return };
        for gone in list.extract_if(.., |cancel| !keep(cancel)) {
            self.order.retain(|(number, _)| *number != gone.number);
        }
        if list.is_empty() {
            self.by_session.remove(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use leafgate_tree::{Document, Format, Limits};

    use super::*;

    fn question(says: u32) -> Question {
        let body = format!(r#"{{"says": {says}}}"#);
        Question::of(&Document::parse(body.into(), Format::Generic, &Limits::default()).unwrap())
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
        assert!(cancels.is_empty() && cancels.order.is_empty());
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
        assert!(cancels.order.is_empty() && cancels.by_session.is_empty());
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

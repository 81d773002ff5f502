//! The rules that paused a turn, how long each of them waits, and what happens at the deadline.

use std::time::Duration;

use leafgate_admin::HoldState;
use leafgate_policy::{Cause, Hold, HoldPlace, OnTimeout, Verdict};

use crate::tick::Tick;

/// Why a change is refused that a rule would send elsewhere.
const NOT_HERE: &str = "this one waits to go to another upstream: take the change back, or cancel";

/// One pause of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnHold {
    /// The rule that asked, and why.
    pub hold: Hold,
    /// Its state.
    pub state: HoldState,
    /// When its time began to run.
    pub asked: Tick,
}

/// When a turn ends by itself, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// When.
    pub at: Tick,
    /// How.
    pub then: OnTimeout,
}

/// All pauses of a turn, and the block that its edits may have caused.
#[derive(Clone, Debug)]
pub struct TurnHolds {
    /// The pauses.
    pub list: Vec<TurnHold>,
    /// The block, which prevents a resume.
    pub block: Option<Hold>,
    /// For pauses whose rule names no time.
    timeout: Duration,
    /// When the time of the turn itself began. It counts if no rule asked.
    began: Tick,
    /// Whether a mode asks for a person too. That is a pause of the desk's own time, which cancels.
    by_mode: bool,
}

impl TurnHolds {
    pub(crate) fn new(holds: Vec<Hold>, by_mode: bool, timeout: Duration, now: Tick) -> Self {
        let mut holds_of_turn = TurnHolds { list: Vec::new(), block: None, timeout, began: now, by_mode };
        holds_of_turn.ask(holds, now);
        holds_of_turn
    }

    /// Returns true if and only if a turn with these pauses shows all that the rules object to in
    /// another request with the same body. They can differ in what stands outside of it.
    pub(crate) fn show(&self, others: &[Hold]) -> bool {
        others.iter().all(|other| {
            let asked = self.list.iter().map(|held| &held.hold);
            let mut same = asked.filter(|hold| hold.rule == other.rule && hold.cause == other.cause);
            same.next().is_some_and(|hold| {
                // What is not listed cannot be compared.
                let listed = other.total <= other.places.len();
                let shown = |place: &HoldPlace| {
                    place.node.is_some()
                        || hold
                            .places
                            .iter()
                            .any(|known| (&known.what, &known.at) == (&place.what, &place.at))
                };
                listed && other.places.iter().all(shown)
            })
        })
    }

    /// Returns what asked for a person: rules, and the kinds of their reasons. Edits may have removed
    /// what some of them asked about.
    pub(crate) fn asked(&self) -> impl Iterator<Item = (&str, Cause)> + Clone {
        self.list.iter().map(|held| (&*held.hold.rule, held.hold.cause))
    }

    /// No mode asks any more.
    pub(crate) fn leave_mode(&mut self) {
        self.by_mode = false;
    }

    /// The turn has come to the front of its queue: now its time runs.
    pub(crate) fn begin(&mut self, now: Tick) {
        self.began = now;
        self.list.iter_mut().for_each(|held| held.asked = now);
    }

    /// Takes over the verdict about a change. A pause that was asked before is not asked again, and
    /// its time continues.
    pub(crate) fn meet(&mut self, verdict: Verdict, now: Tick) {
        self.block = None;
        match verdict {
            Verdict::Forward => self.ask(Vec::new(), now),
            Verdict::Pause(holds) => self.ask(holds, now),
            // A block ends an evaluation early, so it says nothing about the pauses.
            Verdict::Block(hold) => self.block = Some(hold),
            // Where it goes was shown, and is not changed under a person's hands.
            Verdict::Route(route) => self.block = Some(route.refused(NOT_HERE)),
        }
    }

    fn ask(&mut self, holds: Vec<Hold>, now: Tick) {
        for held in &mut self.list {
            held.state = HoldState::Lapsed;
            held.hold.places.iter_mut().for_each(|place| place.stands = false);
        }
        for hold in holds {
            let known = self
                .list
                .iter_mut()
                .find(|held| held.hold.rule == hold.rule && held.hold.cause == hold.cause);
            match known {
                // Detail and places change with the request. The terms stay those of the first
                // pause.
                Some(held) => {
                    held.state = HoldState::Open;
                    let (timeout, on_timeout) = (held.hold.timeout, held.hold.on_timeout);
                    held.hold = Hold { timeout, on_timeout, ..hold };
                }
                None => self.list.push(TurnHold { hold, state: HoldState::Open, asked: now }),
            }
        }
    }

    pub(crate) fn answer(&mut self) {
        let open = self.list.iter_mut().filter(|held| held.state == HoldState::Open);
        open.for_each(|held| held.state = HoldState::Answered);
    }

    /// Returns when the turn ends by itself: with the first pause whose rule says `cancel` and
    /// whose time is over, and by a resume only when the time of every pause is over.
    pub(crate) fn expiry(&self) -> Expiry {
        let ends = |then| {
            self.list.iter().filter(move |held| held.hold.on_timeout == then).map(|held| self.end(held))
        };
        let of_mode = self.by_mode.then(|| self.began.after(self.timeout));
        if let Some(at) = ends(OnTimeout::Cancel).chain(of_mode).min() {
            return Expiry { at, then: OnTimeout::Cancel };
        }
        match ends(OnTimeout::Resume).max() {
            Some(at) => Expiry { at, then: OnTimeout::Resume },
            None => Expiry { at: self.began.after(self.timeout), then: OnTimeout::Cancel },
        }
    }

    fn end(&self, held: &TurnHold) -> Tick {
        held.asked.after(held.hold.timeout.unwrap_or(self.timeout))
    }

    /// Returns the longest time that the turn waits once it is at the front.
    pub(crate) fn longest(&self) -> Duration {
        self.began.until(self.expiry().at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: Duration = Duration::from_secs(300);

    fn hold(rule: &str, seconds: Option<u64>, on_timeout: OnTimeout) -> Hold {
        let asks = Hold::new(rule.into(), Cause::Rule, format!("{rule} asks"));
        Hold { timeout: seconds.map(Duration::from_secs), on_timeout, ..asks }
    }

    fn expiry(holds: &[Hold]) -> (u64, OnTimeout) {
        let Expiry { at, then } =
            TurnHolds::new(holds.to_vec(), false, DEFAULT, Tick::from_millis(1000)).expiry();
        (at.as_millis(), then)
    }

    #[test]
    fn one_cancel_outweighs_every_resume() {
        use OnTimeout::{Cancel, Resume};
        let cases: [(&[Hold], (u64, OnTimeout)); 5] = [
            (&[], (301_000, Cancel)),
            (&[hold("a", None, Cancel)], (301_000, Cancel)),
            (&[hold("a", Some(10), Cancel), hold("b", Some(20), Cancel)], (11_000, Cancel)),
            (&[hold("a", Some(10), Resume), hold("b", Some(20), Resume)], (21_000, Resume)),
            (&[hold("a", Some(10), Resume), hold("b", Some(20), Cancel)], (21_000, Cancel)),
        ];
        for (holds, expected) in cases {
            assert_eq!(expiry(holds), expected);
        }
    }

    #[test]
    fn a_mode_that_asks_too_lets_no_rule_send_by_time() {
        let rule = hold("a", Some(10), OnTimeout::Resume);
        let mut holds = TurnHolds::new(vec![rule], true, DEFAULT, Tick::default());
        let end = |holds: &TurnHolds| (holds.expiry().at.as_millis(), holds.expiry().then);
        assert_eq!(end(&holds), (300_000, OnTimeout::Cancel));
        holds.leave_mode();
        assert_eq!(end(&holds), (10_000, OnTimeout::Resume));
    }

    #[test]
    fn a_pause_asked_before_keeps_its_time_and_a_new_one_joins() {
        let a = hold("a", Some(10), OnTimeout::Cancel);
        let mut holds = TurnHolds::new(vec![a.clone()], false, DEFAULT, Tick::from_millis(0));
        let b = hold("b", Some(3), OnTimeout::Cancel);
        holds.meet(Verdict::Pause(vec![b, a]), Tick::from_millis(5000));
        let asked: Vec<_> =
            holds.list.iter().map(|held| (&*held.hold.rule, held.asked.as_millis())).collect();
        assert_eq!(asked, [("a", 0), ("b", 5000)]);
        assert_eq!(holds.expiry().at, Tick::from_millis(8000));
    }

    #[test]
    fn a_hold_lists_the_places_of_the_latest_look_and_once_it_lapsed_none_of_them_stands() {
        let place = |at: &str| leafgate_policy::HoldPlace {
            what: "SECRET in base64".into(),
            at: Some(at.into()),
            node: None,
            stands: true,
        };
        let at = |places: &[&str]| Hold {
            places: places.iter().map(|at| place(at)).collect(),
            total: places.len(),
            ..hold("a", None, OnTimeout::Cancel)
        };
        let mut holds = TurnHolds::new(vec![at(&["/a", "/b"])], false, DEFAULT, Tick::default());
        holds.meet(Verdict::Pause(vec![at(&["/b"])]), Tick::default());
        assert_eq!(holds.list[0].hold.places, [place("/b")]);
        assert_eq!(holds.list[0].hold.total, 1);
        holds.meet(Verdict::Forward, Tick::default());
        assert!(holds.list[0].hold.places.iter().all(|place| !place.stands));
    }

    #[test]
    fn a_pause_that_lapsed_still_waits_for_a_person() {
        let mut holds =
            TurnHolds::new(vec![hold("a", Some(10), OnTimeout::Cancel)], false, DEFAULT, Tick::default());
        let before = holds.expiry();
        holds.meet(Verdict::Forward, Tick::from_millis(5));
        assert_eq!(holds.list[0].state, HoldState::Lapsed);
        assert_eq!(holds.expiry(), before);
    }

    #[test]
    fn a_block_goes_with_the_change_that_brought_it_and_leaves_the_pauses_alone() {
        let a = hold("a", None, OnTimeout::Cancel);
        let mut holds = TurnHolds::new(vec![a.clone()], false, DEFAULT, Tick::default());
        holds.meet(Verdict::Block(hold("no", None, OnTimeout::Cancel)), Tick::default());
        assert!(holds.block.is_some());
        assert_eq!(holds.list[0].state, HoldState::Open);
        holds.meet(Verdict::Pause(vec![a]), Tick::default());
        assert!(holds.block.is_none());
    }
}

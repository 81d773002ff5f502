//! What modes and conversations promise, over random events in random order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::common::{Bench, Came, Fate, draft, hold};
use leafgate_admin::TurnMode;
use leafgate_desk::{
    CancelReason, ConnectionId, DeskLimits, Dismissal, Effect, Effects, Tick, TurnClass, TurnId,
};
use proptest::prelude::*;
use proptest::sample::Index;

const LIMITS: DeskLimits = DeskLimits {
    // As many cancels are remembered, which is as many as there can be questions here.
    turns: 24,
    queued: 2,
    memory: 1 << 20,
    timeout: Duration::from_secs(300),
    linger: Duration::from_secs(5),
    remembered: 4,
    cancel_holds: Duration::from_secs(10),
    sessions: 3,
    subagents: 10,
    session_ttl: Duration::from_secs(600),
};

const SESSIONS: [&str; 4] = ["s", "t", "u", "v"];
const CLASSES: [TurnClass; 3] = [TurnClass::Main, TurnClass::Subagent, TurnClass::Side];

#[derive(Clone, Debug)]
enum Event {
    Come { session: usize, class: usize, says: usize, model: usize, streams: bool, ruled: bool },
    Lose(Index),
    Resume(Index),
    Cancel(Index),
    Choose(usize),
    Captured,
    Cleared,
    SavedIn(Option<usize>),
    Capture,
    Select(usize),
    Follow(bool),
    Dispose(usize),
    Pass(u64),
}

fn any_event() -> impl Strategy<Value = Event> {
    let come = (
        0..SESSIONS.len(),
        prop_oneof![4 => Just(0usize), 1 => Just(1), 1 => Just(2)],
        0..3usize,
        prop_oneof![6 => Just(0usize), 1 => Just(1)],
        any::<bool>(),
        proptest::bool::weighted(0.3),
    );
    prop_oneof![
        10 => come.prop_map(|(session, class, says, model, streams, ruled)| {
            Event::Come { session, class, says, model, streams, ruled }
        }),
        1 => any::<Index>().prop_map(Event::Lose),
        3 => any::<Index>().prop_map(Event::Resume),
        2 => any::<Index>().prop_map(Event::Cancel),
        4 => (0..4usize).prop_map(Event::Choose),
        1 => Just(Event::Captured),
        1 => Just(Event::Cleared),
        1 => proptest::option::of(0..SESSIONS.len()).prop_map(Event::SavedIn),
        1 => Just(Event::Capture),
        1 => (0..SESSIONS.len()).prop_map(Event::Select),
        1 => any::<bool>().prop_map(Event::Follow),
        1 => (0..SESSIONS.len()).prop_map(Event::Dispose),
        2 => prop_oneof![1..12_000u64, 1..400_000u64].prop_map(Event::Pass),
    ]
}

/// What may give turns up during an event, besides the clock.
#[derive(Clone, Copy, Debug)]
enum Cause {
    Nothing,
    Cancel(TurnId),
    Off,
    Dispose(usize),
    Come(usize),
}

/// What is known of a turn from outside.
#[derive(Clone, Copy)]
struct Known {
    session: usize,
    class: TurnClass,
    asks: (usize, usize, bool),
    by_mode: bool,
    over: bool,
}

struct Harness {
    bench: Bench,
    turns: BTreeMap<TurnId, Known>,
    answered: BTreeSet<ConnectionId>,
    lost: BTreeSet<ConnectionId>,
    waiting: BTreeSet<ConnectionId>,
    /// When what was asked of a session was last cancelled by a decision.
    cancelled: BTreeMap<(usize, usize, usize), Tick>,
    /// When a side request was last let go or given up by a person.
    decided: BTreeMap<(usize, usize, usize, bool), Tick>,
    /// What a person lets go in this event, with what waits beside it.
    resumed: BTreeSet<TurnId>,
}

type Checked = Result<(), TestCaseError>;

impl Harness {
    fn new() -> Self {
        Harness {
            bench: Bench::with(LIMITS),
            turns: BTreeMap::new(),
            answered: BTreeSet::new(),
            lost: BTreeSet::new(),
            waiting: BTreeSet::new(),
            cancelled: BTreeMap::new(),
            decided: BTreeMap::new(),
            resumed: BTreeSet::new(),
        }
    }

    fn pick(&self, which: &Index) -> Option<TurnId> {
        let turns: Vec<_> = self.turns.keys().copied().collect();
        (!turns.is_empty()).then(|| turns[which.index(turns.len())])
    }

    fn happen(&mut self, event: &Event) -> Checked {
        self.bench.now = self.bench.now.after(Duration::from_millis(1));
        let effects = self.bench.desk.elapse(self.bench.now);
        self.observe(effects, Cause::Nothing)?;
        self.resumed.clear();
        let now = self.bench.now;
        match event {
            Event::Come { session, class, says, model, streams, ruled } => {
                self.come(*session, CLASSES[*class], *says, *model, *streams, *ruled)?;
            }
            Event::Lose(which) => {
                let waiting: Vec<_> = self.waiting.iter().copied().collect();
                if !waiting.is_empty() {
                    let connection = waiting[which.index(waiting.len())];
                    self.lost.insert(connection);
                    let effects = self.bench.lose(connection);
                    self.observe(effects, Cause::Nothing)?;
                }
            }
            Event::Resume(which) => {
                if let Some(turn) = self.pick(which) {
                    let digest = self.bench.desk.turn(turn).map(leafgate_desk::Turn::digest);
                    let with = |one: &&leafgate_desk::Turn<_>| one.id() == turn || one.with() == Some(turn);
                    let together =
                        self.bench.desk.pending().filter(with).map(leafgate_desk::Turn::id).collect();
                    if let Ok(effects) = digest.and_then(|digest| self.bench.desk.resume(turn, &digest, now))
                    {
                        self.resumed = together;
                        self.decide(turn);
                        self.observe(effects, Cause::Nothing)?;
                    }
                }
            }
            Event::Cancel(which) => {
                if let Some(turn) = self.pick(which)
                    && let Ok(effects) = self.bench.desk.cancel(turn, CancelReason::User, now)
                {
                    self.decide(turn);
                    self.observe(effects, Cause::Cancel(turn))?;
                }
            }
            Event::Choose(mode) => self.choose(TurnMode::ALL[*mode])?,
            Event::Captured => {
                drop(self.bench.desk.save(true));
                drop(self.bench.desk.captured());
            }
            Event::Cleared => drop(self.bench.desk.save(false)),
            Event::SavedIn(session) => {
                let saved: Vec<_> = session.iter().map(|session| SESSIONS[*session].into()).collect();
                drop(self.bench.desk.save_in(&saved));
            }
            Event::Capture => drop(self.bench.desk.capture()),
            Event::Select(session) => drop(self.bench.desk.select(SESSIONS[*session])),
            Event::Follow(follows) => drop(self.bench.desk.follow(*follows)),
            Event::Dispose(session) => {
                if let Ok(effects) = self.bench.desk.dispose(SESSIONS[*session], now) {
                    self.observe(effects, Cause::Dispose(*session))?;
                }
            }
            Event::Pass(millis) => {
                let effects = self.bench.pass(Duration::from_millis(*millis));
                self.observe(effects, Cause::Nothing)?;
            }
        }
        self.resumed.clear();
        let effects = self.bench.desk.elapse(self.bench.now);
        self.observe(effects, Cause::Nothing)?;
        self.check()
    }

    fn choose(&mut self, mode: TurnMode) -> Checked {
        let before = self.bench.desk.outlook().lasting;
        let effects = self.bench.set_mode(mode);
        self.observe(effects, if mode == TurnMode::Off { Cause::Off } else { Cause::Nothing })?;
        let outlook = self.bench.desk.outlook();
        prop_assert_eq!(outlook.mode, mode);
        prop_assert_eq!(outlook.lasting, if mode == TurnMode::InterceptOnce { before } else { mode });
        if mode == TurnMode::Off {
            prop_assert!(self.bench.desk.pending().all(|turn| turn.mode().is_none()), "off ends all modes");
        }
        Ok(())
    }

    fn come(
        &mut self,
        session: usize,
        class: TurnClass,
        says: usize,
        model: usize,
        streams: bool,
        ruled: bool,
    ) -> Checked {
        let body = format!(
            r#"{{"stream": {streams}, "model": "m{model}", "messages": [{{"role": "user", "content": "{says}"}}]}}"#
        );
        let holds = if ruled { vec![hold("prod")] } else { Vec::new() };
        let asked = (session, says, model);
        let holds_back =
            self.cancelled.get(&asked).is_some_and(|at| self.bench.now < at.after(LIMITS.cancel_holds));
        let Came { fate, connection, mut effects } =
            self.bench.come(SESSIONS[session], class, draft(&body), holds);
        match fate {
            Fate::Sent => prop_assert!(!ruled && !holds_back, "sent although it was cancelled or is ruled"),
            Fate::Joined(turn) => {
                prop_assert!(!self.turns[&turn].over);
                self.waiting.insert(connection);
            }
            Fate::Beside(lead) => {
                prop_assert!(class == TurnClass::Side && !self.turns[&lead].over);
                let turn = self.bench.desk.pending().last().unwrap();
                prop_assert_eq!(turn.with(), Some(lead));
                let known =
                    Known { session, class, asks: (says, model, streams), by_mode: false, over: false };
                self.turns.insert(turn.id(), known);
                self.waiting.insert(connection);
            }
            Fate::Decided => {
                let at = self.decided.get(&(session, says, model, streams));
                let lasts = at.is_some_and(|at| self.bench.now < at.after(LIMITS.cancel_holds));
                prop_assert!(class == TurnClass::Side && lasts, "nobody decided about it");
                let own = |effect: &Effect| matches!(effect, Effect::Forward { to, .. } | Effect::Answer { to, .. } if *to == connection);
                prop_assert_eq!(effects.extract_if(.., |effect| own(effect)).count(), 1);
                self.answer(connection)?;
            }
            Fate::Dismissed(Dismissal::CancelledBefore { .. }) => {
                prop_assert!(holds_back || class == TurnClass::Side, "nobody cancelled it");
            }
            Fate::Dismissed(other) => {
                prop_assert!(matches!(other, Dismissal::NoRoom(_)), "{:?}", other);
            }
            Fate::Waits(turn) => {
                let by_mode = self.bench.desk.turn(turn).unwrap().waits_by_mode();
                prop_assert!(!by_mode || class == TurnClass::Main, "a mode paused no main request");
                prop_assert!(by_mode || ruled, "nobody paused it");
                // The same question to the same model in another manner supersedes without a cancel.
                let known = Known { session, class, asks: (says, model, streams), by_mode, over: false };
                self.turns.insert(turn, known);
                self.waiting.insert(connection);
            }
        }
        self.observe(effects, Cause::Come(session))?;
        if let Fate::Waits(_) = fate {
            self.cancelled.remove(&asked);
        }
        Ok(())
    }

    fn observe(&mut self, effects: Effects, cause: Cause) -> Checked {
        let mut ended = Vec::new();
        for effect in effects {
            match effect {
                Effect::Forward { turn, to, .. } => {
                    prop_assert!(self.resumed.contains(&turn), "nobody let it go");
                    prop_assert!(!self.turns[&turn].over, "it left before");
                    let known = self.turns[&turn];
                    self.cancelled.remove(&(known.session, known.asks.0, known.asks.1));
                    self.answer(to)?;
                }
                Effect::Answer { turn, to, dismissal } => {
                    if let (Some(turn), Dismissal::Cancelled(reason)) = (turn, dismissal) {
                        self.reason(turn, reason, cause)?;
                    }
                    self.answer(to)?;
                }
                Effect::Changed(turn) => ended.push(turn),
                Effect::ModeChanged
                | Effect::SessionsChanged
                | Effect::Observed
                | Effect::NextDeadline(_) => {}
            }
        }
        for turn in ended {
            let over = self.bench.desk.turn(turn).is_err();
            if let Some(known) = self.turns.get_mut(&turn).filter(|known| over && !known.over) {
                known.over = true;
                // Whoever carries the effects out can ask how it ended.
                let ending = self.bench.desk.summary(turn).unwrap().ending.unwrap();
                let lasts = ["user", "modeDisabled", "superseded", "sessionDisposed", "contextChanged"]
                    .contains(&ending);
                if lasts && !self.resumed.contains(&turn) {
                    self.cancelled.insert((known.session, known.asks.0, known.asks.1), self.bench.now);
                }
            }
        }
        Ok(())
    }

    /// A person has decided about a turn.
    fn decide(&mut self, turn: TurnId) {
        let Known { session, class, asks: (says, model, streams), .. } = self.turns[&turn];
        if class == TurnClass::Side {
            self.decided.insert((session, says, model, streams), self.bench.now);
        }
    }

    /// A reason is the one that the event gives.
    fn reason(&self, turn: TurnId, reason: CancelReason, cause: Cause) -> Checked {
        let known = self.turns[&turn];
        let right = match (reason, cause) {
            (CancelReason::User, Cause::Cancel(by)) => {
                turn == by || (known.class == TurnClass::Side && self.turns[&by].session == known.session)
            }
            (CancelReason::ModeDisabled, Cause::Off) => known.by_mode,
            (CancelReason::Superseded, Cause::Come(session)) => known.by_mode && known.session == session,
            (CancelReason::ContextChanged, Cause::Come(session)) => {
                known.class == TurnClass::Main && known.session == session
            }
            (CancelReason::SessionDisposed, Cause::Dispose(session)) => known.session == session,
            _ => false,
        };
        prop_assert!(right, "{:?} because of {:?}", reason, cause);
        Ok(())
    }

    fn answer(&mut self, to: ConnectionId) -> Checked {
        prop_assert!(self.answered.insert(to), "a second answer");
        prop_assert!(!self.lost.contains(&to), "an answer to nobody");
        self.waiting.remove(&to);
        Ok(())
    }

    /// What holds between any two events.
    fn check(&self) -> Checked {
        let desk = &self.bench.desk;
        for session in SESSIONS {
            let of = desk.pending().filter(|turn| &**turn.session() == session);
            let by_mode = of.filter(|turn| turn.waits_by_mode()).count();
            prop_assert!(by_mode <= 1, "{} turns of one conversation wait by a mode", by_mode);
        }
        prop_assert_eq!(desk.memory(), desk.pending().map(leafgate_desk::Turn::memory).sum::<usize>());
        let last = desk.pending().map(|turn| turn.expiry().at).min();
        prop_assert!(last.is_none() || desk.next_deadline() <= last, "nobody is woken in time");
        let sessions: Vec<_> = desk.sessions().collect();
        let used = sessions.iter().filter(|line| line.pending > 0 || line.active).count();
        prop_assert!(sessions.len() <= LIMITS.sessions.max(used + 1), "more sessions than there may be");
        prop_assert!(sessions.is_sorted_by(|newer, older| newer.last >= older.last));
        let active: Vec<_> = sessions.iter().filter(|line| line.active).cloned().collect();
        prop_assert!(active.len() <= 1 && desk.active() == active.first().cloned());
        if desk.follows() {
            prop_assert_eq!(desk.active(), sessions.first().cloned(), "the newest is followed");
        }
        Ok(())
    }

    /// Lets all time pass.
    fn exhaust(&mut self) -> Checked {
        self.resumed.clear();
        while let Some(at) = self.bench.desk.next_deadline() {
            self.bench.now = self.bench.now.max(at);
            let effects = self.bench.desk.elapse(self.bench.now);
            self.observe(effects, Cause::Nothing)?;
        }
        prop_assert!(self.waiting.is_subset(&self.lost), "somebody was never answered");
        prop_assert_eq!(self.bench.desk.memory(), 0);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_modes_are_chosen_in_whatever_order(events in proptest::collection::vec(any_event(), 1..80)) {
        let mut harness = Harness::new();
        for event in &events {
            harness.happen(event)?;
        }
        harness.exhaust()?;
    }
}

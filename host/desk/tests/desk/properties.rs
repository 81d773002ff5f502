//! What the desk promises, over random events in random order.
//!
//! A model beside the desk knows only inputs and outputs: who was connected, which request said
//! what, what was last shown of each turn, which turn should be at the front. It knows nothing of
//! the desk's inside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::common::{SECRET, Words, chat, destination, hold_for, leaf, message, title};
use leafgate_admin::TurnMode;
use leafgate_desk::{
    Admission, CancelReason, Change, ConnectionId, Desk, DeskLimits, Digest, Dismissal, Effect, Effects,
    Paused, State, Tick, TurnClass, TurnId,
};
use leafgate_policy::OnTimeout;
use proptest::prelude::*;
use proptest::sample::Index;

const LIMITS: DeskLimits = DeskLimits {
    turns: 6,
    queued: 2,
    memory: 1 << 20,
    timeout: Duration::from_secs(300),
    linger: Duration::from_secs(5),
    remembered: 4,
    cancel_holds: Duration::from_secs(10),
    sessions: 4,
    subagents: 10,
    session_ttl: Duration::from_secs(600),
};

const SESSIONS: [&str; 3] = ["s", "t", "u"];
/// More than fit into one queue.
const SAYINGS: [&str; 5] = ["drop prod", "leave prod", "prod, at last", "prod again", "prod for ever"];
const TEXTS: [&str; 6] = ["prod", "audit", "forbidden", "prod xyzzy", "xyzzyxyzzy", "Hi"];

/// One event. Turns and connections are picked from all that ever existed.
#[derive(Clone, Debug)]
enum Event {
    Pause {
        session: usize,
        says: usize,
        seconds: Option<u64>,
        resumes: bool,
    },
    Lose(Index),
    Set {
        turn: Index,
        place: usize,
        text: usize,
    },
    Delete {
        turn: Index,
        place: usize,
    },
    Restore {
        turn: Index,
        place: usize,
    },
    Undo(Index),
    Redo(Index),
    Reset(Index),
    /// A change that is begun now and accepted after the next event.
    Slow {
        turn: Index,
        text: usize,
    },
    /// Resumes with the digest shown now, or with one shown earlier.
    Resume {
        turn: Index,
        stale: bool,
    },
    Cancel(Index),
    Close,
    Pass(u64),
}

fn any_event() -> impl Strategy<Value = Event> {
    let turn = any::<Index>;
    prop_oneof![
        6 => (0..SESSIONS.len(), 0..SAYINGS.len(), proptest::option::of(1..400u64), any::<bool>())
            .prop_map(|(session, says, seconds, resumes)| Event::Pause { session, says, seconds, resumes }),
        2 => turn().prop_map(Event::Lose),
        4 => (turn(), 0..3usize, 0..TEXTS.len()).prop_map(|(turn, place, text)| Event::Set { turn, place, text }),
        2 => (turn(), 0..3usize).prop_map(|(turn, place)| Event::Delete { turn, place }),
        1 => (turn(), 0..3usize).prop_map(|(turn, place)| Event::Restore { turn, place }),
        2 => turn().prop_map(Event::Undo),
        1 => turn().prop_map(Event::Redo),
        1 => turn().prop_map(Event::Reset),
        1 => (turn(), 0..TEXTS.len()).prop_map(|(turn, text)| Event::Slow { turn, text }),
        4 => (turn(), proptest::bool::weighted(0.2)).prop_map(|(turn, stale)| Event::Resume { turn, stale }),
        2 => turn().prop_map(Event::Cancel),
        1 => Just(Event::Close),
        3 => prop_oneof![1..7000u64, 1..400_000u64].prop_map(Event::Pass),
    ]
}

/// What is known of a turn from outside.
struct Known {
    session: usize,
    says: usize,
    generation: Arc<Words>,
    /// Whether all rules that have asked so far resume it at the deadline.
    resumes_by_time: bool,
    /// What was shown of it, the last at the end.
    shown: Vec<Digest>,
    version: u64,
    forwarded: bool,
    over: bool,
}

#[derive(Default)]
struct Connection {
    lost: bool,
    answers: u32,
}

struct Harness {
    desk: Desk<Words>,
    now: Tick,
    turns: BTreeMap<TurnId, Known>,
    connections: BTreeMap<ConnectionId, Connection>,
    /// The pending turns of each session, in the order in which they came.
    lines: BTreeMap<usize, Vec<TurnId>>,
    /// When a person last cancelled what a session said.
    cancelled: BTreeMap<(usize, usize), Tick>,
    slow: Option<leafgate_desk::Revised>,
    /// The turn that a person has just resumed.
    allowed: Option<TurnId>,
    wake: Option<Tick>,
}

type Checked = Result<(), TestCaseError>;

impl Harness {
    fn new() -> Self {
        Harness {
            desk: Desk::new(LIMITS, TurnMode::Off),
            now: Tick::from_millis(0),
            turns: BTreeMap::new(),
            connections: BTreeMap::new(),
            lines: BTreeMap::new(),
            cancelled: BTreeMap::new(),
            slow: None,
            allowed: None,
            wake: None,
        }
    }

    fn pick(&self, which: &Index) -> Option<TurnId> {
        let turns: Vec<_> = self.turns.keys().copied().collect();
        (!turns.is_empty()).then(|| turns[which.index(turns.len())])
    }

    fn happen(&mut self, event: &Event) -> Checked {
        let slow = self.slow.take();
        self.now = self.now.after(Duration::from_millis(1));
        self.allowed = None;
        match event {
            Event::Pause { session, says, seconds, resumes } => {
                self.pause(*session, *says, *seconds, *resumes)?
            }
            Event::Lose(which) => self.lose(which)?,
            Event::Set { turn, place, text } => {
                let node = leaf(&chat(""), &format!("/messages/{place}/content"));
                self.change(turn, Change::Set { node, text: TEXTS[*text].to_owned() })?;
            }
            Event::Delete { turn, place } => self.change(turn, Change::Delete(message(&chat(""), *place)))?,
            Event::Restore { turn, place } => {
                self.change(turn, Change::Restore(message(&chat(""), *place)))?
            }
            Event::Undo(turn) => self.undo(turn)?,
            Event::Redo(turn) => self.change(turn, Change::Redo)?,
            Event::Reset(turn) => self.change(turn, Change::Reset)?,
            Event::Slow { turn, text } => self.begin_slow(turn, *text),
            Event::Resume { turn, stale } => self.resume(turn, *stale)?,
            Event::Cancel(which) => {
                if let Some(turn) = self.pick(which)
                    && let Ok(effects) = self.desk.cancel(turn, CancelReason::User, self.now)
                {
                    let known = &self.turns[&turn];
                    self.cancelled.insert((known.session, known.says), self.now);
                    self.observe(effects)?;
                }
            }
            Event::Close => {
                let effects = self.desk.close(self.now);
                self.observe(effects)?;
                prop_assert!(self.lines.values().all(Vec::is_empty));
            }
            Event::Pass(millis) => {
                self.now = self.now.after(Duration::from_millis(*millis));
                let effects = self.desk.elapse(self.now);
                self.observe(effects)?;
            }
        }
        if let Some(revised) = slow
            && let Ok(effects) = self.desk.accept(revised, self.now)
        {
            self.observe(effects)?;
        }
        // Only now, so that events also meet a desk whose clock is late.
        self.allowed = None;
        let effects = self.desk.elapse(self.now);
        self.observe(effects)?;
        self.check()
    }

    fn pause(&mut self, session: usize, says: usize, seconds: Option<u64>, resumes: bool) -> Checked {
        // Effects of the clock come first and are none of this event's.
        let effects = self.desk.elapse(self.now);
        self.observe(effects)?;
        let connection = ConnectionId(self.connections.len() as u64);
        self.connections.insert(connection, Connection::default());
        let on_timeout = if resumes { OnTimeout::Resume } else { OnTimeout::Cancel };
        let generation = Arc::new(Words { generation: self.turns.len() as u32 });
        let paused = Paused {
            session: SESSIONS[session].into(),
            connection,
            to: destination(),
            title: title(),
            draft: chat(SAYINGS[says]),
            holds: vec![leafgate_policy::Hold {
                timeout: seconds.map(Duration::from_secs),
                ..hold_for("prod", 1, on_timeout)
            }],
            class: TurnClass::Main,
            mode: None,
            reviewer: Arc::clone(&generation),
        };
        let (admission, effects) = self.desk.pause(paused, self.now);

        let line = self.lines.entry(session).or_default();
        let same = line.iter().copied().find(|turn| self.turns[turn].says == says);
        let pending = self.turns.values().filter(|turn| !turn.over).count();
        let cancelled = self.cancelled.get(&(session, says)).copied();
        let holds = cancelled.is_some_and(|at| self.now < at.after(LIMITS.cancel_holds));
        match (admission, same) {
            (Admission::Joined(turn), Some(same)) => prop_assert_eq!(turn, same),
            (Admission::Dismissed(_), None) => prop_assert!(holds, "nobody cancelled it"),
            (_, None) if holds => prop_assert!(false, "a cancel does not hold: {:?}", admission),
            (Admission::Refused(_), None) => {
                prop_assert!(pending >= LIMITS.turns || line.len() > LIMITS.queued, "there was room");
            }
            (Admission::Waiting(turn) | Admission::Queued(turn), None) => {
                prop_assert_eq!(matches!(admission, Admission::Waiting(_)), line.is_empty());
                prop_assert!(self.turns.keys().all(|&other| other < turn), "numbers do not repeat");
                line.push(turn);
                let shown = vec![self.desk.turn(turn).unwrap().digest()];
                let known = Known {
                    session,
                    says,
                    generation,
                    resumes_by_time: resumes,
                    shown,
                    version: 0,
                    forwarded: false,
                    over: false,
                };
                self.turns.insert(turn, known);
            }
            other => prop_assert!(false, "identical bodies join, and no others: {:?}", other),
        }
        self.observe(effects)
    }

    fn lose(&mut self, which: &Index) -> Checked {
        if self.connections.is_empty() {
            return Ok(());
        }
        let effects = self.desk.elapse(self.now);
        self.observe(effects)?;
        let connection = ConnectionId(which.index(self.connections.len()) as u64);
        self.connections.get_mut(&connection).unwrap().lost = true;
        let effects = self.desk.lose(connection, self.now);
        self.observe(effects)
    }

    fn change(&mut self, which: &Index, change: Change) -> Checked {
        let Some(turn) = self.pick(which) else { return Ok(()) };
        match self.desk.change(turn, change, self.now) {
            Ok(effects) => self.observe(effects),
            Err(_) => Ok(()),
        }
    }

    /// An edit that is undone at once leaves the very bytes, and so does one redone and undone
    /// again.
    fn undo(&mut self, which: &Index) -> Checked {
        let Some(turn) = self.pick(which) else { return Ok(()) };
        let Ok(before) = self.desk.turn(turn).map(|turn| turn.body().clone()) else { return Ok(()) };
        let Ok(effects) = self.desk.change(turn, Change::Undo, self.now) else { return Ok(()) };
        self.observe(effects)?;
        let effects = self.desk.change(turn, Change::Redo, self.now).unwrap();
        self.observe(effects)?;
        prop_assert_eq!(self.desk.turn(turn).unwrap().body(), &before);
        let effects = self.desk.change(turn, Change::Undo, self.now).unwrap();
        self.observe(effects)
    }

    fn begin_slow(&mut self, which: &Index, text: usize) {
        let node = leaf(&chat(""), "/messages/2/content");
        let revision = self.pick(which).and_then(|turn| self.desk.revise(turn, self.now).ok());
        self.slow = revision
            .and_then(|revision| revision.make(Change::Set { node, text: TEXTS[text].to_owned() }).ok());
    }

    fn resume(&mut self, which: &Index, stale: bool) -> Checked {
        let Some(turn) = self.pick(which) else { return Ok(()) };
        let known = &self.turns[&turn];
        let seen = if stale { known.shown[0] } else { *known.shown.last().unwrap() };
        match self.desk.resume(turn, &seen, self.now) {
            Ok(effects) => {
                prop_assert!(!known.over, "a turn that is over was resumed");
                prop_assert_eq!(seen, *known.shown.last().unwrap(), "a stale digest was taken");
                prop_assert_eq!(self.lines[&known.session][0], turn, "a queued turn was resumed");
                self.allowed = Some(turn);
                self.observe(effects)?;
                prop_assert!(self.turns[&turn].forwarded, "what was resumed leaves");
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    /// Checks the effects of an event against the model.
    fn observe(&mut self, effects: Effects) -> Checked {
        for effect in effects {
            match effect {
                Effect::Forward { turn, to, body, digest, destination, .. } => {
                    let known = self.turns.get_mut(&turn).unwrap();
                    prop_assert!(!known.forwarded && !known.over, "a second forward, or one after the end");
                    prop_assert!(self.allowed == Some(turn) || known.resumes_by_time, "nobody let it go");
                    prop_assert_eq!(digest, *known.shown.last().unwrap(), "what leaves is what was shown");
                    prop_assert_eq!(digest, Digest::of(&destination, &body));
                    prop_assert!(
                        !String::from_utf8_lossy(&body).contains("forbidden"),
                        "a block was passed over"
                    );
                    known.forwarded = true;
                    self.answered(to)?;
                }
                Effect::Answer { to, dismissal, turn } => {
                    let replaced = dismissal == Dismissal::Replaced;
                    prop_assert!(replaced || turn.is_none_or(|turn| !self.turns[&turn].forwarded));
                    self.answered(to)?;
                }
                Effect::Changed(_) | Effect::ModeChanged | Effect::SessionsChanged | Effect::Observed => {}
                Effect::NextDeadline(at) => self.wake = Some(at),
            }
        }
        self.learn()
    }

    fn answered(&mut self, connection: ConnectionId) -> Checked {
        let connection = self.connections.get_mut(&connection).unwrap();
        connection.answers += 1;
        prop_assert_eq!(connection.answers, 1, "a second answer");
        prop_assert!(!connection.lost, "an answer to nobody");
        Ok(())
    }

    /// Notes what is shown of each turn now.
    fn learn(&mut self) -> Checked {
        for (&id, known) in &mut self.turns {
            match self.desk.turn(id) {
                Ok(turn) => {
                    prop_assert!(!known.over, "a turn came back");
                    let changed = turn.version() != known.version;
                    prop_assert!(turn.version() >= known.version, "a version went back");
                    prop_assert!(
                        changed || turn.digest() == *known.shown.last().unwrap(),
                        "changed without a version"
                    );
                    let cancels = turn.holds().iter().any(|held| held.hold.on_timeout == OnTimeout::Cancel);
                    known.resumes_by_time &= !cancels;
                    known.version = turn.version();
                    known.shown.push(turn.digest());
                }
                Err(_) if !known.over => {
                    known.over = true;
                    self.lines.get_mut(&known.session).unwrap().retain(|&turn| turn != id);
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Checks what holds between any two events.
    fn check(&self) -> Checked {
        let pending: BTreeSet<_> = self.desk.pending().map(leafgate_desk::Turn::id).collect();
        prop_assert_eq!(&pending, &self.lines.values().flatten().copied().collect());
        // What one event ended is forgotten at the next event at the earliest.
        let over = self.desk.over().len();
        prop_assert!(pending.len() <= LIMITS.turns && over <= LIMITS.remembered + LIMITS.turns);
        for line in self.lines.values() {
            prop_assert!(line.len() <= LIMITS.queued + 1);
            for (place, &turn) in line.iter().enumerate() {
                self.check_turn(turn, place)?;
            }
        }
        let due = self.desk.next_deadline();
        prop_assert!(pending.is_empty() || due.is_some());
        prop_assert!(due.is_none() || due == self.wake, "nobody asked to be woken at {:?}", due);
        Ok(())
    }

    fn check_turn(&self, id: TurnId, place: usize) -> Checked {
        let turn = self.desk.turn(id).unwrap();
        prop_assert!(turn.expiry().at >= self.now, "its deadline has passed");
        prop_assert!(!turn.state().is_over());
        prop_assert!(turn.state() != State::Queued || place > 0, "the front is queued");
        prop_assert!(place == 0 || turn.state() != State::Waiting);
        prop_assert!(Arc::ptr_eq(turn.reviewer(), &self.turns[&id].generation));
        prop_assert_eq!(turn.digest(), Digest::of(turn.destination(), turn.body()));
        prop_assert_eq!(turn.body(), &turn.draft().render());
        prop_assert!(!String::from_utf8_lossy(turn.body()).contains(SECRET), "a redacted value came back");
        Ok(())
    }

    /// Lets all time pass.
    fn exhaust(&mut self) -> Checked {
        self.allowed = None;
        let mut last_deadline = self.now;
        while let Some(at) = self.desk.next_deadline() {
            prop_assert!(at >= last_deadline);
            last_deadline = at;
            self.now = self.now.max(at);
            let before = self.desk.pending().len();
            let effects = self.desk.elapse(self.now);
            self.observe(effects)?;
            prop_assert!(self.desk.pending().len() < before, "a deadline that ends nothing");
        }
        for (id, connection) in &self.connections {
            prop_assert!(connection.lost || connection.answers == 1, "{:?} was never answered", id);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_in_whatever_order(events in proptest::collection::vec(any_event(), 1..60)) {
        let mut harness = Harness::new();
        for event in &events {
            harness.happen(event)?;
        }
        harness.exhaust()?;
    }
}

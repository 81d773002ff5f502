//! What the desk promises, over random events in random order.
//!
//! A model beside the desk knows only inputs and outputs: who was connected, which request said
//! what, what was last shown of each turn, which turn should be at the front. It knows nothing of
//! the desk's inside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Bench, Came, Fate, SECRET, Words, chat, draft, hold_for, message_key, set};
use leafgate_admin::{EditCommand, TurnMode};
use leafgate_desk::{
    CancelReason, ConnectionId, DeskLimits, Digest, Dismissal, Effect, Effects, Revised, State, Tick, Turn,
    TurnClass, TurnId, TurnRelease,
};
use leafgate_policy::OnTimeout;
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
const SAYINGS: [&str; 3] = ["drop prod", "leave prod", "Hi"];
const TEXTS: [&str; 6] = ["prod", "audit", "forbidden", "prod xyzzy", "xyzzyxyzzy", "Hi"];

/// A request: what it says to whom, and the rule that holds it, with its time and what then happens.
#[derive(Clone, Debug)]
struct Asks {
    session: usize,
    class: usize,
    says: usize,
    model: usize,
    streams: bool,
    ruled: Option<(u64, bool)>,
}

/// Session, words, model and manner of a request: the same ones are the same body.
type Body = (usize, usize, usize, bool);

impl Asks {
    fn body(&self) -> Body {
        (self.session, self.says, self.model, self.streams)
    }
}

/// One event. Turns and connections are picked from all that ever existed.
#[derive(Clone, Debug)]
enum Event {
    Come(Asks),
    Lose(Index),
    Change(Index, Edit),
    Undo(Index),
    /// A change that is begun now and accepted after the next event.
    Slow(Index, usize),
    /// Resumes with the digest shown now, or with one shown earlier.
    Resume(Index, bool),
    Cancel(Index),
    Close,
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

/// What a person does with a place.
#[derive(Clone, Debug)]
enum Edit {
    Set(usize, usize),
    Delete(usize),
    Restore(usize),
    Redo,
    Reset,
}

impl Edit {
    fn change(&self) -> EditCommand {
        let section = |place: &usize| message_key(&chat(""), *place);
        match self {
            Edit::Set(place, text) => write(*place, *text),
            Edit::Delete(place) => EditCommand::Delete { section: section(place) },
            Edit::Restore(place) => EditCommand::Restore { section: section(place) },
            Edit::Redo => EditCommand::Redo,
            Edit::Reset => EditCommand::Reset,
        }
    }
}

fn write(place: usize, text: usize) -> EditCommand {
    set(&format!("/messages/{place}/content"), TEXTS[text])
}

fn any_event() -> impl Strategy<Value = Event> {
    let turn = any::<Index>;
    let come = (
        0..SESSIONS.len(),
        prop_oneof![4 => Just(0usize), 1 => Just(1), 1 => Just(2)],
        0..SAYINGS.len(),
        prop_oneof![6 => Just(0usize), 1 => Just(1)],
        any::<bool>(),
        proptest::option::of((1..400u64, any::<bool>())),
    );
    let edit = prop_oneof![
        4 => (0..3usize, 0..TEXTS.len()).prop_map(|(place, text)| Edit::Set(place, text)),
        2 => (0..3usize).prop_map(Edit::Delete),
        1 => (0..3usize).prop_map(Edit::Restore),
        1 => Just(Edit::Redo),
        1 => Just(Edit::Reset),
    ];
    prop_oneof![
        12 => come.prop_map(|(session, class, says, model, streams, ruled)| {
            Event::Come(Asks { session, class, says, model, streams, ruled })
        }),
        2 => turn().prop_map(Event::Lose),
        6 => (turn(), edit).prop_map(|(turn, edit)| Event::Change(turn, edit)),
        2 => turn().prop_map(Event::Undo),
        1 => (turn(), 0..TEXTS.len()).prop_map(|(turn, text)| Event::Slow(turn, text)),
        5 => (turn(), proptest::bool::weighted(0.2)).prop_map(|(turn, stale)| Event::Resume(turn, stale)),
        2 => turn().prop_map(Event::Cancel),
        1 => Just(Event::Close),
        4 => (0..4usize).prop_map(Event::Choose),
        1 => Just(Event::Captured),
        1 => Just(Event::Cleared),
        1 => proptest::option::of(0..SESSIONS.len()).prop_map(Event::SavedIn),
        1 => Just(Event::Capture),
        1 => (0..SESSIONS.len()).prop_map(Event::Select),
        1 => any::<bool>().prop_map(Event::Follow),
        1 => (0..SESSIONS.len()).prop_map(Event::Dispose),
        3 => prop_oneof![1..12_000u64, 1..400_000u64].prop_map(Event::Pass),
    ]
}

/// What may give turns up during an event, besides the clock.
#[derive(Clone, Copy, Debug)]
enum Cause {
    Nothing,
    Cancel(TurnId),
    Close,
    Off,
    Dispose(usize),
    Come(usize),
}

/// What is known of a turn from outside.
struct Known {
    body: Body,
    class: TurnClass,
    generation: Arc<Words>,
    /// Whether all rules that have asked so far resume it at the deadline.
    resumes_by_time: bool,
    by_mode: bool,
    /// What was shown of it, the last at the end.
    shown: Vec<Digest>,
    version: u64,
    forwarded: bool,
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
    decided: BTreeMap<Body, Tick>,
    slow: Option<Revised>,
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
            slow: None,
            resumed: BTreeSet::new(),
        }
    }

    fn pick(&self, which: &Index) -> Option<TurnId> {
        let turns: Vec<_> = self.turns.keys().copied().collect();
        (!turns.is_empty()).then(|| turns[which.index(turns.len())])
    }

    fn happen(&mut self, event: &Event) -> Checked {
        let slow = self.slow.take();
        self.pass(Duration::from_millis(1))?;
        let now = self.bench.now;
        match event {
            Event::Come(asks) => self.come(asks)?,
            Event::Lose(which) => self.lose(which)?,
            Event::Change(turn, edit) => self.change(turn, edit.change())?,
            Event::Undo(turn) => self.undo(turn)?,
            Event::Slow(turn, text) => {
                let revision = self.pick(turn).and_then(|turn| self.bench.desk.revise(turn, now).ok());
                self.slow = revision.and_then(|revision| revision.make(&write(2, *text)).ok());
            }
            Event::Resume(turn, stale) => self.resume(turn, *stale)?,
            Event::Cancel(which) => {
                if let Some(turn) = self.pick(which)
                    && let Ok(effects) = self.bench.desk.cancel(turn, CancelReason::User, now)
                {
                    self.decide(turn);
                    self.observe(effects, Cause::Cancel(turn))?;
                }
            }
            Event::Close => {
                let effects = self.bench.desk.close(now);
                self.observe(effects, Cause::Close)?;
                prop_assert_eq!(self.bench.desk.pending().len(), 0);
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
            Event::Pass(millis) => self.pass(Duration::from_millis(*millis))?,
        }
        if let Some(revised) = slow
            && let Ok(effects) = self.bench.desk.accept(revised, now)
        {
            self.observe(effects, Cause::Nothing)?;
        }
        self.pass(Duration::ZERO)?;
        self.check()
    }

    /// Lets time pass: what a person let go before is done.
    fn pass(&mut self, time: Duration) -> Checked {
        self.resumed.clear();
        let effects = self.bench.pass(time);
        self.observe(effects, Cause::Nothing)
    }

    fn choose(&mut self, mode: TurnMode) -> Checked {
        let before = self.bench.desk.outlook().lasting;
        let effects = self.bench.set_mode(mode);
        self.observe(effects, if mode == TurnMode::Off { Cause::Off } else { Cause::Nothing })?;
        let outlook = self.bench.desk.outlook();
        prop_assert_eq!(outlook.mode, mode);
        prop_assert_eq!(outlook.lasting, if mode == TurnMode::InterceptOnce { before } else { mode });
        if mode == TurnMode::Off {
            prop_assert!(self.bench.desk.pending().all(|turn| turn.mode.is_none()), "off ends all modes");
        }
        Ok(())
    }

    fn come(&mut self, asks: &Asks) -> Checked {
        let &Asks { session, class, says, model, streams, ruled } = asks;
        let (class, says_so) = (CLASSES[class], SAYINGS[says]);
        let text = format!(
            r#"{{"stream": {streams}, "model": "m{model}", "messages": [{{"role": "system", "content": "Be brief"}}, {{"role": "user", "content": "Hi"}}, {{"role": "user", "content": "{says_so}"}}]}}"#
        );
        let on_timeout = |resumes| if resumes { OnTimeout::Resume } else { OnTimeout::Cancel };
        let holds = ruled.map(|(seconds, resumes)| hold_for("prod", seconds, on_timeout(resumes)));
        let asked = (session, says, model);
        let holds_back =
            self.cancelled.get(&asked).is_some_and(|at| self.bench.now < at.after(LIMITS.cancel_holds));
        let same = self
            .turns
            .iter()
            .find(|(_, known)| !known.over && known.body == asks.body() && known.class != TurnClass::Side);
        let same = same.map(|(turn, _)| *turn);
        let Came { fate, connection, mut effects } =
            self.bench.come(SESSIONS[session], class, draft(&text), holds.into_iter().collect());
        match fate {
            Fate::Sent => {
                prop_assert!(ruled.is_none() && !holds_back, "sent although it was cancelled or is ruled");
            }
            Fate::Joined(turn) => {
                let known = &self.turns[&turn];
                prop_assert!(!known.over && known.body == asks.body(), "another request was joined");
                self.waiting.insert(connection);
            }
            Fate::Beside(lead) => {
                prop_assert!(class == TurnClass::Side && !self.turns[&lead].over);
                let turn = self.bench.desk.pending().last().unwrap();
                prop_assert_eq!(turn.with, Some(lead));
                self.meet(turn.id, asks, connection)?;
            }
            Fate::Decided => {
                let at = self.decided.get(&asks.body());
                let lasts = at.is_some_and(|at| self.bench.now < at.after(LIMITS.cancel_holds));
                prop_assert!(class == TurnClass::Side && lasts, "nobody decided about it");
                let own = |effect: &Effect| matches!(effect, Effect::Forward { to, .. } | Effect::Answer { to, .. } if *to == connection);
                prop_assert_eq!(effects.extract_if(.., |effect| own(effect)).count(), 1);
                self.answer(connection)?;
            }
            Fate::Dismissed(Dismissal::CancelledBefore { .. }) => {
                prop_assert!(holds_back || class == TurnClass::Side, "nobody cancelled it");
            }
            Fate::Dismissed(other) => prop_assert!(matches!(other, Dismissal::NoRoom(_)), "{:?}", other),
            Fate::Waits(turn) => {
                prop_assert!(ruled.is_some() || same.is_none(), "identical bodies join");
                self.meet(turn, asks, connection)?;
                let by_mode = self.turns[&turn].by_mode;
                prop_assert!(!by_mode || class == TurnClass::Main, "a mode paused no main request");
                prop_assert!(by_mode || ruled.is_some(), "nobody paused it");
            }
        }
        self.observe(effects, Cause::Come(session))?;
        match fate {
            Fate::Waits(_) => drop(self.cancelled.remove(&asked)),
            Fate::Dismissed(Dismissal::NoRoom(_)) => {
                let full = self.bench.desk.pending().len() >= LIMITS.turns;
                prop_assert!(full || self.line(session).len() > LIMITS.queued, "there was room");
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes a turn that is new.
    fn meet(&mut self, id: TurnId, asks: &Asks, connection: ConnectionId) -> Checked {
        prop_assert!(self.turns.keys().all(|&other| other < id), "numbers do not repeat");
        let turn = self.bench.desk.turn(id).unwrap();
        let known = Known {
            body: asks.body(),
            class: CLASSES[asks.class],
            generation: Arc::clone(&turn.reviewer),
            resumes_by_time: asks.ruled.is_some_and(|(_, resumes)| resumes),
            by_mode: turn.waits_by_mode(),
            shown: vec![turn.digest()],
            version: turn.version,
            forwarded: false,
            over: false,
        };
        self.turns.insert(id, known);
        self.waiting.insert(connection);
        Ok(())
    }

    fn lose(&mut self, which: &Index) -> Checked {
        let waiting: Vec<_> = self.waiting.iter().copied().collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let connection = waiting[which.index(waiting.len())];
        self.lost.insert(connection);
        let effects = self.bench.lose(connection);
        self.observe(effects, Cause::Nothing)
    }

    fn change(&mut self, which: &Index, change: EditCommand) -> Checked {
        let Some(turn) = self.pick(which) else { return Ok(()) };
        match self.bench.change(turn, change) {
            Ok(effects) => self.observe(effects, Cause::Nothing),
            Err(_) => Ok(()),
        }
    }

    /// An edit that is undone at once leaves the very bytes, and so does one redone and undone
    /// again.
    fn undo(&mut self, which: &Index) -> Checked {
        let Some(turn) = self.pick(which) else { return Ok(()) };
        let Ok(before) = self.bench.desk.turn(turn).map(|turn| turn.body().clone()) else { return Ok(()) };
        let Ok(effects) = self.bench.change(turn, EditCommand::Undo) else { return Ok(()) };
        self.observe(effects, Cause::Nothing)?;
        let effects = self.bench.change(turn, EditCommand::Redo).unwrap();
        self.observe(effects, Cause::Nothing)?;
        prop_assert_eq!(self.bench.desk.turn(turn).unwrap().body(), &before);
        let effects = self.bench.change(turn, EditCommand::Undo).unwrap();
        self.observe(effects, Cause::Nothing)
    }

    fn resume(&mut self, which: &Index, stale: bool) -> Checked {
        let Some(turn) = self.pick(which) else { return Ok(()) };
        let known = &self.turns[&turn];
        let last = *known.shown.last().unwrap();
        let seen = if stale { known.shown[0] } else { last };
        let with = |one: &&Turn<_>| one.id == turn || one.with == Some(turn);
        let together = self.bench.desk.pending().filter(with).map(|turn| turn.id).collect();
        let Ok(effects) = self.bench.desk.resume(turn, &seen, self.bench.now) else { return Ok(()) };
        prop_assert!(!known.over, "a turn that is over was resumed");
        prop_assert_eq!(seen, last, "a stale digest was taken");
        let is_first = known.class != TurnClass::Main || self.line(known.body.0)[0] == turn;
        prop_assert!(is_first, "a queued turn was resumed");
        self.resumed = together;
        self.decide(turn);
        self.observe(effects, Cause::Nothing)?;
        prop_assert!(self.turns[&turn].forwarded, "what was resumed leaves");
        Ok(())
    }

    /// The main turns of a session that are pending, in the order in which they came.
    fn line(&self, session: usize) -> Vec<TurnId> {
        let waits = |known: &Known| !known.over && known.body.0 == session && known.class == TurnClass::Main;
        self.turns.iter().filter(|(_, known)| waits(known)).map(|(turn, _)| *turn).collect()
    }

    /// Checks the effects of an event against the model.
    fn observe(&mut self, effects: Effects, cause: Cause) -> Checked {
        for effect in effects {
            match effect {
                Effect::Forward { turn, to, release } => {
                    let TurnRelease { body, digest, destination, .. } = release;
                    let over = self.bench.desk.summary(turn, self.bench.now).unwrap();
                    let with = over.with.map(|lead| TurnId(lead.parse().unwrap()));
                    let by_time = |turn: &TurnId| self.turns[turn].resumes_by_time;
                    let may = by_time(&turn) || with.is_some_and(|lead| by_time(&lead));
                    prop_assert!(may || self.resumed.contains(&turn), "nobody let it go");
                    let known = self.turns.get_mut(&turn).unwrap();
                    prop_assert!(!known.forwarded && !known.over, "a second forward, or one after the end");
                    prop_assert_eq!(digest, *known.shown.last().unwrap(), "what leaves is what was shown");
                    prop_assert_eq!(digest, Digest::of(&destination, &body));
                    let text = String::from_utf8_lossy(&body);
                    prop_assert!(!text.contains("forbidden"), "a block was passed over");
                    known.forwarded = true;
                    let (session, says, model, _) = known.body;
                    self.cancelled.remove(&(session, says, model));
                    self.answer(to)?;
                }
                Effect::Answer { turn, to, dismissal } => {
                    if let (Some(turn), Dismissal::Cancelled(reason)) = (turn, dismissal) {
                        self.reason(turn, reason, cause)?;
                    }
                    let replaced = dismissal == Dismissal::Replaced;
                    prop_assert!(replaced || turn.is_none_or(|turn| !self.turns[&turn].forwarded));
                    self.answer(to)?;
                }
                Effect::Changed(_) | Effect::ModeChanged | Effect::SessionsChanged | Effect::Observed(_) => {}
            }
        }
        self.learn()
    }

    /// A person has decided about a turn.
    fn decide(&mut self, turn: TurnId) {
        let known = &self.turns[&turn];
        if known.class == TurnClass::Side {
            self.decided.insert(known.body, self.bench.now);
        }
    }

    /// A reason is the one that the event gives.
    fn reason(&self, turn: TurnId, reason: CancelReason, cause: Cause) -> Checked {
        let known = &self.turns[&turn];
        let is_side = known.class == TurnClass::Side;
        let right = match (reason, cause) {
            (CancelReason::User, Cause::Cancel(by)) => {
                turn == by || (is_side && self.turns[&by].body.0 == known.body.0)
            }
            (CancelReason::TurnEdited, _) => is_side,
            (CancelReason::GateStopped, Cause::Close) => true,
            (CancelReason::ModeDisabled, Cause::Off) => known.by_mode,
            (CancelReason::Superseded, Cause::Come(session)) => known.by_mode && known.body.0 == session,
            (CancelReason::ContextChanged, Cause::Come(session)) => {
                known.class == TurnClass::Main && known.body.0 == session
            }
            (CancelReason::SessionDisposed, Cause::Dispose(session)) => known.body.0 == session,
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

    /// Notes what is shown of each turn now.
    fn learn(&mut self) -> Checked {
        for (&id, known) in &mut self.turns {
            match self.bench.desk.turn(id) {
                Ok(turn) => {
                    prop_assert!(!known.over, "a turn came back");
                    prop_assert!(turn.version >= known.version, "a version went back");
                    let is_as_shown = turn.digest() == *known.shown.last().unwrap();
                    prop_assert!(turn.version != known.version || is_as_shown, "changed without a version");
                    let cancels =
                        turn.holds.list.iter().any(|held| held.hold.on_timeout == OnTimeout::Cancel);
                    known.resumes_by_time &= !cancels;
                    known.by_mode = turn.waits_by_mode();
                    known.version = turn.version;
                    known.shown.push(turn.digest());
                }
                Err(_) if !known.over => {
                    known.over = true;
                    // Whoever carries the effects out can ask how it ended.
                    let ending = self.bench.desk.summary(id, self.bench.now).unwrap().ending.unwrap();
                    let reason = CancelReason::ALL.iter().find(|reason| reason.code() == ending);
                    if !known.forwarded && reason.is_some_and(|reason| reason.lasts()) {
                        let (session, says, model, _) = known.body;
                        self.cancelled.insert((session, says, model), self.bench.now);
                    }
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Checks what holds between any two events.
    fn check(&self) -> Checked {
        let desk = &self.bench.desk;
        let pending: BTreeSet<_> = desk.pending().map(|turn| turn.id).collect();
        let known = self.turns.iter().filter(|(_, known)| !known.over).map(|(turn, _)| *turn);
        prop_assert_eq!(&pending, &known.collect());
        // What one event ended is forgotten at the next event at the earliest.
        prop_assert!(pending.len() <= LIMITS.turns && desk.over().len() <= LIMITS.remembered + LIMITS.turns);
        for (session, name) in SESSIONS.iter().enumerate() {
            let line = self.line(session);
            prop_assert!(line.len() <= LIMITS.queued + 1);
            for (place, &turn) in line.iter().enumerate() {
                let state = desk.turn(turn).unwrap().state();
                prop_assert!(state != State::Queued || place > 0, "the front is queued");
                prop_assert!(place == 0 || state != State::Waiting);
            }
            let of = desk.pending().filter(|turn| *turn.session == **name);
            let by_mode = of.filter(|turn| turn.waits_by_mode()).count();
            prop_assert!(by_mode <= 1, "{} turns of one conversation wait by a mode", by_mode);
        }
        desk.pending().try_for_each(|turn| self.check_turn(turn))?;
        // What waits with another turn has no deadline of its own.
        let alone = desk.pending().filter(|turn| turn.with.is_none());
        let (due, last) = (desk.next_deadline(), alone.map(|turn| turn.expiry().at).min());
        prop_assert!(last.is_none() || due.is_some() && due <= last, "nobody is woken in time");
        self.check_sessions()
    }

    fn check_turn(&self, turn: &Turn<Words>) -> Checked {
        prop_assert!(turn.with.is_some() || turn.expiry().at >= self.bench.now, "its deadline has passed");
        prop_assert!(!turn.state().is_over());
        prop_assert!(Arc::ptr_eq(&turn.reviewer, &self.turns[&turn.id].generation));
        prop_assert_eq!(turn.digest(), Digest::of(&turn.to, turn.body()));
        prop_assert_eq!(turn.body(), &turn.draft.render());
        prop_assert!(!String::from_utf8_lossy(turn.body()).contains(SECRET), "a redacted value came back");
        Ok(())
    }

    fn check_sessions(&self) -> Checked {
        let desk = &self.bench.desk;
        let sessions: Vec<_> = desk.sessions(self.bench.now).collect();
        let used = sessions.iter().filter(|line| line.pending > 0 || line.active).count();
        prop_assert!(sessions.len() <= LIMITS.sessions.max(used + 1), "more sessions than there may be");
        prop_assert!(sessions.is_sorted_by(|newer, older| newer.silent_ms <= older.silent_ms));
        let active: Vec<_> = sessions.iter().filter(|line| line.active).map(|line| &line.id).collect();
        let known = desk.active().map(|active| active.id);
        prop_assert!(active.len() <= 1 && known.as_ref() == active.first().copied());
        if desk.follows() {
            prop_assert_eq!(known.as_ref(), sessions.first().map(|line| &line.id), "the newest is followed");
        }
        Ok(())
    }

    /// Lets all time pass.
    fn exhaust(&mut self) -> Checked {
        let mut last_deadline = self.bench.now;
        while let Some(at) = self.bench.desk.next_deadline() {
            prop_assert!(at >= last_deadline);
            last_deadline = at;
            self.bench.now = self.bench.now.max(at);
            self.pass(Duration::ZERO)?;
            prop_assert!(self.bench.desk.next_deadline() != Some(at), "a deadline that ends nothing");
        }
        prop_assert!(self.waiting.is_subset(&self.lost), "somebody was never answered");
        prop_assert_eq!(self.bench.desk.memory(), 0);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_in_whatever_order(events in proptest::collection::vec(any_event(), 1..80)) {
        let mut harness = Harness::new();
        for event in &events {
            harness.happen(event)?;
        }
        harness.exhaust()?;
    }
}

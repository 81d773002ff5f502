//! The pending turns of a gate: the desk, the clock that it is told, and the connections that it answers.
//!
//! The desk is a state machine that does nothing itself. Here it is given the time with every event, and its effects are carried out:
//! an answer goes to the connection that waits for it, a change to whoever listens for events. Then the alarm is set to its next deadline.
//!
//! It stands behind a plain mutex and not in a task of its own. An event is a few map operations, or a look at the turns that wait; nothing is awaited and nothing
//! rendered while the lock is held, and callers want the result at once; a task would add a queue whose length is one more bound to
//! choose. Effects are carried out under the lock too (each is a send that never waits), so that no listener hears of a turn's end
//! before its change.
//!
//! A turn is given up with its connection because [`Waiter`] says so when it is dropped, however that came about.

mod beside;
mod class;
mod destination;
mod guard;
mod modes;
mod saving;
mod summary;
mod waiter;

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use leafgate_admin::{Event, Memory, ModeView, State as TurnState, TurnMode, TurnSummary};
use leafgate_desk::{
    Admission, Arrival, ConnectionId, Desk, DeskError, DeskLimits, Destination, Digest, Dismissal, Effect,
    ModePause, Paused, RequestKey, Reviewer as _, Tick, TurnId,
};
use leafgate_policy::{Evaluation, Hold, On};
use leafgate_tree::{Document, Draft, SectionId};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};

use self::modes::Keeper;
use crate::events::Hub;
use crate::metrics::Counters;
use crate::off::Off;
use crate::saved::Saved;
use crate::subject::Subject;

pub(crate) use class::ClassHint;
pub(crate) use destination::destination;
pub(crate) use guard::TurnGuard;
pub(crate) use waiter::{Decision, Dismissed, Waiter, check_release};

/// Lines that are made while the desk is held: under a millisecond's work, even where each has
/// many places.
const LISTED_AT_ONCE: usize = 32;

/// All turns that wait for a person.
pub(crate) struct Turns {
    state: Mutex<DeskState>,
    /// The desk's time counts from here.
    start: Instant,
    /// When the desk next wants to be told the time.
    alarm: watch::Sender<Option<Tick>>,
    hub: Arc<Hub>,
    counters: Arc<Counters>,
    keeper: Keeper,
    pub(crate) saved: Arc<Saved>,
    /// Whether everything passes as it comes, for how long.
    pub(crate) off: Off,
    /// The mode that listeners were told last.
    told_mode: Mutex<Option<ModeView>>,
    /// What is said of the list of requests that a mode may pause, where there is one.
    intercept: Option<Box<str>>,
}

struct DeskState {
    desk: Desk<TurnGuard>,
    /// Who waits for an answer.
    waiting: HashMap<ConnectionId, oneshot::Sender<Decision>>,
    /// The turns that listeners know of.
    told: HashSet<TurnId>,
    last_connection: u64,
}

/// A turn as it stood at one moment, to be looked at without holding anything up.
pub(crate) struct Snapshot {
    pub(crate) summary: TurnSummary,
    /// The request as it stands, for facts about it: what people see of it is [`Snapshot::shown`].
    pub(crate) draft: Arc<Draft>,
    body: Bytes,
    pub(crate) digest: Digest,
    pub(crate) version: u64,
    /// The sections that a person pinned, in order.
    pub(crate) pins: Vec<SectionId>,
    /// What the turn keeps of its policy.
    pub(crate) guard: Arc<TurnGuard>,
}

impl Snapshot {
    /// Returns the request as people see it. It takes as long as the texts are that hold it.
    pub(crate) fn shown(&self) -> Arc<Draft> {
        self.guard.veiled(&self.draft).map_or_else(|| Arc::clone(&self.draft), Arc::new)
    }

    /// Returns the body as people see it.
    pub(crate) fn shown_body(&self) -> Bytes {
        self.guard.veiled(&self.draft).map_or_else(|| self.body.clone(), |draft| draft.render())
    }
}

impl Turns {
    pub(crate) fn new(limits: DeskLimits, hub: Arc<Hub>, counters: Arc<Counters>, saved: Arc<Saved>) -> Self {
        Turns {
            state: Mutex::new(DeskState {
                desk: Desk::new(limits, TurnMode::Off),
                waiting: HashMap::new(),
                told: HashSet::new(),
                last_connection: 0,
            }),
            start: Instant::now(),
            alarm: watch::Sender::new(None),
            hub,
            counters,
            keeper: Keeper::default(),
            saved,
            off: Off::default(),
            told_mode: Mutex::default(),
            intercept: None,
        }
    }

    /// Says this of what a mode pauses.
    pub(crate) fn intercepting(self, told: Option<Box<str>>) -> Self {
        Turns { intercept: told, ..self }
    }

    /// Joins the turn of the same request, where one is pending. Asked before the policy is: another generation may serve by now.
    pub(crate) fn join(
        self: &Arc<Self>,
        session: &str,
        to: &Destination,
        document: &Document,
    ) -> Option<Waiter> {
        // The digest of a large body takes its time, and hardly ever is anything pending.
        if !self.has_pending(session) {
            return None;
        }
        let received = Digest::of(to, document.source());
        let key = RequestKey { session: session.into(), received };
        let (connection, decision) = self.lock().connect();
        let joined = self.event(|desk, now| {
            let turn = desk.join(&key, connection, now)?;
            desk.turn(turn).ok().map(|turn| Arc::clone(&turn.reviewer))
        });
        let Some(guard) = joined else {
            self.lock().waiting.remove(&connection);
            return None;
        };
        Some(Waiter { turns: Arc::clone(self), connection, decision, to: to.clone(), guard })
    }

    /// Returns true where turns of a session are pending.
    pub(crate) fn has_pending(&self, session: &str) -> bool {
        self.lock().desk.has_pending(session)
    }

    /// Makes a turn of what rules made of a request, or of the tool calls of an answer, to be decided by a person. Where there is no
    /// room for one, the waiter has its refusal.
    pub(crate) fn pause(
        self: &Arc<Self>,
        on: On,
        subject: &Arc<Subject>,
        evaluation: Evaluation,
        holds: Vec<Hold>,
        mode: Option<ModePause>,
    ) -> Waiter {
        let Evaluation { draft, recall, report, .. } = evaluation;
        let (subject, generation) = (Arc::clone(subject), subject.policy.generation_name().into());
        let guard = Arc::new(TurnGuard { on, subject, generation, recall, notes: report.notes });
        let (connection, decision) = self.lock().connect();
        let paused = Paused {
            session: Arc::clone(&guard.session),
            connection,
            to: guard.to.clone(),
            title: guard.title.clone(),
            draft: Arc::new(draft),
            holds,
            class: guard.class,
            mode,
            reviewer: Arc::clone(&guard),
        };
        // From here on the desk hears of it where this is given up.
        let waiter = Waiter { turns: Arc::clone(self), connection, decision, to: guard.to.clone(), guard };
        let (repeats, seen) = self.repeats(&paused);
        // Renders and digests, so outside of the lock.
        let arrival = Arrival::from(paused).repeating(repeats);
        let admission = self.event(|desk, now| desk.pause(arrival, now));
        if let Admission::Waiting(turn) | Admission::Queued(turn) = admission {
            self.bring_together(turn, &seen);
        }
        waiter
    }

    /// A connection is gone, answered or not.
    fn lose(&self, connection: ConnectionId) {
        self.lock().waiting.remove(&connection);
        self.event(|desk, now| desk.lose(connection, now));
    }

    /// Tells the desk the time whenever it asked for it. Does not end.
    pub(crate) async fn keep_time(&self) {
        let mut alarm = self.alarm.subscribe();
        loop {
            let at = *alarm.borrow_and_update();
            let at = at.and_then(|tick| self.start.checked_add(Duration::from_millis(tick.as_millis())));
            let ring = async {
                match at {
                    Some(at) => sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = ring => self.event(|desk, now| desk.elapse(now)),
                // Never an error: the sender is ours.
                _ = alarm.changed() => {}
            }
        }
    }

    /// The turns in a line each, oldest first. Made in pieces, so that requests and decisions come
    /// in between: what ends meanwhile is left out, what comes meanwhile is listed.
    pub(crate) fn list(&self) -> Vec<TurnSummary> {
        let mut listed = Vec::new();
        let mut last = TurnId(0);
        loop {
            let state = self.lock();
            let now = self.now();
            let mut looked = 0;
            for turn in state.desk.pending_after(last).take(LISTED_AT_ONCE) {
                (last, looked) = (turn.id, looked + 1);
                // What waits with another turn is decided with it.
                if turn.with.is_none() {
                    listed.push(turn.summary(now));
                }
            }
            if looked < LISTED_AT_ONCE {
                return listed;
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().desk.pending().filter(|turn| turn.with.is_none()).count()
    }

    /// How much memory the turns take, and how much there is for them.
    pub(crate) fn memory(&self) -> Memory {
        let state = self.lock();
        Memory { used: state.desk.memory(), limit: state.desk.limits().memory }
    }

    /// The request of a turn as it stands.
    pub(crate) fn draft(&self, turn: TurnId) -> Result<Arc<Draft>, DeskError> {
        self.lock().desk.turn(turn).map(|turn| Arc::clone(&turn.draft))
    }

    /// A turn in full.
    pub(crate) fn snapshot(&self, turn: TurnId) -> Result<Snapshot, DeskError> {
        let state = self.lock();
        let turn = state.desk.turn(turn)?;
        Ok(Snapshot {
            summary: turn.summary(self.now()),
            draft: Arc::clone(&turn.draft),
            body: turn.body().clone(),
            digest: turn.digest(),
            version: turn.version,
            pins: turn.pins.to_vec(),
            guard: Arc::clone(&turn.reviewer),
        })
    }

    /// Tells the desk of an event, and does all that comes of it before anything else happens there. Nothing else
    /// is done meanwhile, so an event is a call of the desk and no work.
    pub(crate) fn event<R>(&self, event: impl FnOnce(&mut Desk<TurnGuard>, Tick) -> R) -> R {
        let mut state = self.lock();
        let now = self.now();
        let result = event(&mut state.desk, now);
        self.carry_out(&mut state, now);
        result
    }

    fn carry_out(&self, state: &mut DeskState, now: Tick) {
        for effect in state.desk.effects() {
            match effect {
                Effect::Forward { to, release, .. } => state.answer(to, Ok(release)),
                Effect::Answer { turn, to, dismissal } => {
                    if turn.is_none() && !matches!(dismissal, Dismissal::NoRoom(_)) {
                        // It was decided before it was a turn.
                        self.counters.counted().requests.cancelled += 1;
                    }
                    let over = turn.and_then(|turn| state.desk.summary(turn, now).ok());
                    let holds = over.into_iter().flat_map(|over| over.holds);
                    let rules = holds.filter(|hold| !hold.blocks).map(|hold| hold.rule).collect();
                    state.answer(to, Err(Dismissed { dismissal, rules }));
                }
                Effect::Changed(turn) => self.publish(state, turn, now),
                Effect::ModeChanged => self.publish_mode(&state.desk),
                Effect::SessionsChanged => {
                    self.saved.forget(|session| state.desk.knows(session));
                    self.publish_sessions(&state.desk);
                }
                Effect::Observed(request) => self.hub.publish(|| Event::Subagent { request: *request }),
            }
        }
        let next = state.desk.next_deadline();
        self.alarm.send_if_modified(|alarm| std::mem::replace(alarm, next) != next);
    }

    /// Counts, logs and publishes what became of a turn.
    fn publish(&self, state: &mut DeskState, id: TurnId, now: Tick) {
        let Ok(turn) = state.desk.summary(id, now) else { return };
        let over = turn.state.is_over();
        let was_told = if over { state.told.remove(&id) } else { !state.told.insert(id) };
        match turn.state {
            // Nobody heard of it while it waited.
            _ if over && !was_told => return,
            _ if !was_told => self.counters.counted().requests.paused += 1,
            TurnState::Cancelled | TurnState::TimedOut => self.counters.counted().requests.cancelled += 1,
            _ => {}
        }
        if over {
            let ending = turn.ending.as_deref().unwrap_or_default();
            self.counters.turn_over(ending, summary::location(&turn));
        }
        if over || !was_told {
            summary::log(&turn);
        }
        self.hub.publish(|| match (was_told, over) {
            (false, _) => Event::Paused { turn },
            (true, true) => Event::Resolved { turn },
            (true, false) => Event::Changed { turn },
        });
    }

    /// Must be asked with the lock held: the desk's time does not run backwards.
    fn now(&self) -> Tick {
        Tick::from_millis(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn lock(&self) -> MutexGuard<'_, DeskState> {
        // A panic leaves the desk as it stood between two events: each changes it in one call.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeskState {
    fn connect(&mut self) -> (ConnectionId, oneshot::Receiver<Decision>) {
        self.last_connection += 1;
        let connection = ConnectionId(self.last_connection);
        let (sender, receiver) = oneshot::channel();
        self.waiting.insert(connection, sender);
        (connection, receiver)
    }

    fn answer(&mut self, to: ConnectionId, decision: Decision) {
        if let Some(waiting) = self.waiting.remove(&to) {
            // Where the connection went away in this moment, nothing is sent and nobody waits for the answer.
            let _ = waiting.send(decision);
        }
    }
}

#[cfg(test)]
mod tests {
    use leafgate_contract::NoPlugins;
    use leafgate_desk::{CancelReason, Dismissal};
    use leafgate_policy::{Cause, Policy, PolicySource};
    use leafgate_tree::{Format, Limits};
    use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};
    use tokio::time::{advance, timeout};

    use super::*;
    use crate::apis::named;

    const LIMITS: DeskLimits = DeskLimits {
        turns: 8,
        queued: 8,
        memory: 1 << 20,
        timeout: Duration::from_secs(60),
        linger: Duration::from_secs(5),
        remembered: 8,
        cancel_holds: Duration::from_secs(30),
        sessions: 8,
        subagents: 10,
        session_ttl: Duration::from_secs(3600),
    };

    fn turns() -> Arc<Turns> {
        let hub = Arc::new(Hub::new(8, Duration::from_secs(60)));
        let saved = Arc::new(Saved::new(&keys()));
        let turns = Arc::new(Turns::new(LIMITS, hub, Arc::default(), saved));
        let clock = Arc::clone(&turns);
        tokio::spawn(async move { clock.keep_time().await });
        turns
    }

    fn destination() -> Destination {
        Destination {
            upstream: "main".into(),
            method: "POST".into(),
            path: "/v1/chat/completions".into(),
            options: "".into(),
        }
    }

    fn document(session: &str) -> Arc<Document> {
        let body = format!(r#"{{"messages": [{{"role": "user", "content": "{session}"}}]}}"#);
        Arc::new(Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap())
    }

    fn keys() -> TokenKeys {
        TokenKeys::derive(&InstallationKey::from_bytes([1; 32]), &ClientIdentity::new("test"))
    }

    fn pause(turns: &Arc<Turns>, session: &str) -> Waiter {
        let policy = Arc::new(Policy::load(&PolicySource::None, &NoPlugins).unwrap());
        let subject = Subject::new(&policy, named("chat"), destination(), Vault::new(keys()));
        let subject = Arc::new(Subject { session: session.into(), ..subject });
        let evaluation = policy.evaluate(document(session), &subject.context(On::Request), &subject.vault);
        let hold = Hold::new("ask".into(), Cause::Rule, String::new());
        turns.pause(On::Request, &subject, evaluation, vec![hold], None)
    }

    /// How long it takes until a connection is answered, by a deadline.
    async fn times_out(waiter: &mut Waiter) -> Duration {
        let began = Instant::now();
        let decision = waiter.decision().await;
        assert!(matches!(decision, Err(Dismissed { dismissal: Dismissal::TimedOut { .. }, .. })));
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn each_turn_meets_its_own_deadline() {
        let turns = turns();
        let mut first = pause(&turns, "a");
        advance(Duration::from_secs(20)).await;
        let mut second = pause(&turns, "b");
        assert_eq!(times_out(&mut first).await, Duration::from_secs(40));
        assert_eq!(times_out(&mut second).await, Duration::from_secs(20));
        assert_eq!(turns.count(), 0);
        // Nothing is pending, and the next turn's clock runs all the same.
        assert_eq!(times_out(&mut pause(&turns, "c")).await, Duration::from_secs(60));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_connection_leaves_its_turn_a_moment() {
        let turns = turns();
        drop(pause(&turns, "a"));
        advance(Duration::from_secs(4)).await;
        let mut joined = turns.join("a", &destination(), &document("a")).expect("it still waits");
        assert_eq!(turns.count(), 1);
        // The deadline of the turn is that of its first connection.
        assert_eq!(times_out(&mut joined).await, Duration::from_secs(56));
        drop(pause(&turns, "b"));
        let mut end = pause(&turns, "other");
        assert!(timeout(Duration::from_secs(6), end.decision()).await.is_err());
        assert_eq!(turns.list().len(), 1, "the turn that nobody came back to is gone");
        assert!(turns.join("b", &destination(), &document("b")).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_given_up_can_be_taken_up_again() {
        let turns = turns();
        let mut waiter = pause(&turns, "a");
        assert!(timeout(Duration::from_secs(15), waiter.decision()).await.is_err());
        turns.event(|desk, now| desk.cancel(TurnId(1), CancelReason::User, now)).unwrap();
        let decision = waiter.decision().await;
        assert!(matches!(
            decision,
            Err(Dismissed { dismissal: Dismissal::Cancelled(CancelReason::User), .. })
        ));
    }
}

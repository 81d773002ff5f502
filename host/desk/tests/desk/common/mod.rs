//! A reviewer that finds plain words, requests to pause, and helpers that describe what a desk did.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use leafgate_admin::{EditCommand, ShownText, TurnMode};
use leafgate_desk::{
    Admission, Arrival, Asked, CancelReason, ConnectionId, Desk, DeskError, DeskLimits, Destination, Digest,
    Dismissal, Effect, Effects, ModelKey, Paused, Question, Repeats, Request, RequestKey, Reviewer, Revised,
    State, Tick, Title, TurnClass, TurnId, TurnRelease,
};
use leafgate_policy::{Cause, Hold, OnTimeout, Verdict};
use leafgate_tree::{Author, Document, Draft, Format, Limits, NodeId, Redaction, SectionId};

/// What the reviewer redacts.
pub(crate) const SECRET: &str = "xyzzy";
/// What it writes there.
pub(crate) const TOKEN: &str = "SECRET_0000";

/// The generation that asks about whatever a side request adds.
pub(crate) const ASKS_ALWAYS: u32 = 7;

/// Redacts [`SECRET`], blocks `forbidden`, pauses for `prod` and for `audit`.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) generation: u32,
}

impl Reviewer for Words {
    fn review(&self, draft: &mut Draft) -> Result<Verdict, Hold> {
        for node in draft.written() {
            let found = secrets(draft.text(node).expose());
            if !found.is_empty() {
                draft.redact(node, &found, &Author::rule("secrets")).map_err(|_| hold("secrets"))?;
            }
        }
        let inserted: Vec<_> = draft.inserted().map(|it| (it.number, secrets(it.text().expose()))).collect();
        for (number, found) in inserted {
            draft.redact_inserted(number, &found).map_err(|_| hold("secrets"))?;
        }
        Ok(verdict(draft))
    }

    fn veiled(&self, _: &Draft) -> Option<Draft> {
        None
    }

    fn asks(&self, body: Document) -> bool {
        self.generation == ASKS_ALWAYS || verdict(&Draft::new(Arc::new(body))) != Verdict::Forward
    }

    fn model_by_path(&self, _: &Document) -> Option<String> {
        None
    }

    fn generation(&self) -> &str {
        "words"
    }

    fn memory(&self) -> usize {
        0
    }
}

fn secrets(text: &str) -> Vec<Redaction> {
    let found = text
        .match_indices(SECRET)
        .map(|(start, secret)| Redaction::new(start..start + secret.len(), "SECRET", TOKEN));
    found.collect()
}

fn verdict(draft: &Draft) -> Verdict {
    let says = |word: &str| {
        let leaves = draft.document().leaves();
        leaves.into_iter().any(|leaf| {
            let text = draft.text(leaf.id());
            !draft.is_deleted(leaf.id()) && (text.expose().contains(word) || leaf.key().contains(word))
        })
    };
    if says("forbidden") {
        return Verdict::Block(hold("forbidden"));
    }
    let holds: Vec<_> = ["prod", "audit"].into_iter().filter(|word| says(word)).map(hold).collect();
    if holds.is_empty() { Verdict::Forward } else { Verdict::Pause(holds) }
}

/// A hold with the desk's own timeout, which cancels.
pub(crate) fn hold(rule: &str) -> Hold {
    let asks = Hold::new(rule.into(), Cause::Rule, format!("{rule} asks for a person"));
    Hold { detail: "the request as a whole".to_owned(), ..asks }
}

pub(crate) fn hold_for(rule: &str, seconds: u64, on_timeout: OnTimeout) -> Hold {
    Hold { timeout: Some(Duration::from_secs(seconds)), on_timeout, ..hold(rule) }
}

/// A chat whose last message says something.
pub(crate) fn chat(says: &str) -> Draft {
    let body = format!(
        r#"{{"model": "m-1", "messages": [{{"role": "system", "content": "Be brief"}}, {{"role": "user", "content": "Hi"}}, {{"role": "user", "content": "{says}"}}]}}"#
    );
    draft(&body)
}

pub(crate) fn draft(body: &str) -> Draft {
    let document = Document::parse(body.to_owned().into(), Format::OpenaiChat, &Limits::default()).unwrap();
    Draft::new(Arc::new(document))
}

pub(crate) fn leaf(draft: &Draft, pointer: &str) -> NodeId {
    draft.document().resolve(pointer).unwrap()
}

/// The key of the section of a whole message.
pub(crate) fn message_key(draft: &Draft, place: usize) -> String {
    draft.section_key(message(draft, place))
}

/// The section of a whole message.
pub(crate) fn message(draft: &Draft, place: usize) -> SectionId {
    let node = leaf(draft, &format!("/messages/{place}"));
    let sections = draft.document().sections();
    SectionId::from_index(sections.iter().position(|section| section.node == node).unwrap())
}

pub(crate) fn destination() -> Destination {
    Destination {
        upstream: "main".into(),
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        options: "".into(),
    }
}

pub(crate) fn title() -> Title {
    Title { location: "chat".into(), name: "test".into() }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Sent,
    Waits(TurnId),
    Joined(TurnId),
    Beside(TurnId),
    /// It shared a decision that was made before.
    Decided,
    Dismissed(Dismissal),
}

/// A request that came.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) fate: Fate,
    pub(crate) connection: ConnectionId,
    pub(crate) effects: Effects,
}

/// A desk that answers each event with what it has the gate do.
pub(crate) struct ToldDesk(Desk<Words>);

impl Deref for ToldDesk {
    type Target = Desk<Words>;

    fn deref(&self) -> &Desk<Words> {
        &self.0
    }
}

impl DerefMut for ToldDesk {
    fn deref_mut(&mut self) -> &mut Desk<Words> {
        &mut self.0
    }
}

/// What a desk answers to an event.
pub(crate) trait Told {
    /// The same with its effects.
    type With;

    fn with(self, effects: Effects) -> Self::With;
}

impl Told for () {
    type With = Effects;

    fn with(self, effects: Effects) -> Effects {
        effects
    }
}

impl Told for Result<(), DeskError> {
    type With = Result<Effects, DeskError>;

    fn with(self, effects: Effects) -> Result<Effects, DeskError> {
        assert!(self.is_ok() || effects.is_empty(), "what was refused has changed nothing");
        self.map(|()| effects)
    }
}

macro_rules! events {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)+) => {
        impl ToldDesk {
            $(pub(crate) fn $name(&mut self, $($argument: $kind),*) -> <$answer as Told>::With {
                let answer = self.0.$name($($argument),*);
                answer.with(self.0.effects())
            })+
        }
    };
    ($($answer:ty),+) => {
        $(impl Told for $answer {
            type With = ($answer, Effects);

            fn with(self, effects: Effects) -> Self::With {
                (self, effects)
            }
        })+
    };
}

events!(Admission, Asked, Option<TurnId>);

events! {
    join(key: &RequestKey, connection: ConnectionId, now: Tick) -> Option<TurnId>;
    pause(arrival: impl Into<Arrival<Words>>, now: Tick) -> Admission;
    lose(connection: ConnectionId, now: Tick) -> ();
    stand_beside(side: TurnId, repeats: Repeats, now: Tick) -> ();
    accept(revised: Revised, now: Tick) -> Result<(), DeskError>;
    arrange(turn: TurnId, sections: &[SectionId]) -> Result<(), DeskError>;
    receive(request: &Request, now: Tick) -> ();
    select(session: &str) -> Result<(), DeskError>;
    follow(follows: bool) -> ();
    dispose(session: &str, now: Tick) -> Result<(), DeskError>;
    resume(turn: TurnId, seen: &Digest, now: Tick) -> Result<(), DeskError>;
    cancel(turn: TurnId, reason: CancelReason, now: Tick) -> Result<(), DeskError>;
    close(now: Tick) -> ();
    elapse(now: Tick) -> ();
    ask(session: &str, class: TurnClass, question: Option<&Question>, now: Tick) -> Asked;
    set_mode(mode: TurnMode, now: Tick) -> ();
    captured() -> ();
    save(saved: bool) -> ();
    save_in(sessions: &[Arc<str>]) -> ();
    capture() -> Result<(), DeskError>;
}

/// A desk, its clock, and the next connection's number.
pub(crate) struct Bench {
    pub(crate) desk: ToldDesk,
    pub(crate) now: Tick,
    connections: u64,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Bench::with(DeskLimits::default())
    }

    pub(crate) fn with(limits: DeskLimits) -> Self {
        let desk = ToldDesk(Desk::new(limits, TurnMode::Off));
        Bench { desk, now: Tick::from_millis(1_000_000), connections: 0 }
    }

    pub(crate) fn connection(&mut self) -> ConnectionId {
        self.connections += 1;
        ConnectionId(self.connections)
    }

    /// A paused request on a connection of its own.
    pub(crate) fn paused(&mut self, session: &str, draft: Draft, holds: Vec<Hold>) -> Paused<Words> {
        Paused {
            session: session.into(),
            connection: self.connection(),
            to: destination(),
            title: title(),
            draft: Arc::new(draft),
            holds,
            class: TurnClass::Main,
            mode: None,
            reviewer: Arc::new(Words { generation: 1 }),
        }
    }

    /// A request that says something arrives in a session and is paused for `prod`.
    pub(crate) fn arrive(&mut self, session: &str, says: &str) -> (Admission, ConnectionId, Effects) {
        self.arrive_held(session, says, vec![hold("prod")])
    }

    pub(crate) fn arrive_held(
        &mut self,
        session: &str,
        says: &str,
        holds: Vec<Hold>,
    ) -> (Admission, ConnectionId, Effects) {
        let paused = self.paused(session, chat(says), holds);
        let connection = paused.connection;
        let (admission, effects) = self.desk.pause(paused, self.now);
        (admission, connection, effects)
    }

    /// A request comes whole: it is received, the policy says what it holds, the desk is asked, and
    /// what is to wait arrives.
    pub(crate) fn come(&mut self, session: &str, class: TurnClass, draft: Draft, holds: Vec<Hold>) -> Came {
        let (document, connection) = (Arc::clone(draft.document()), self.connection());
        let request =
            Request { session: session.into(), class, model: ModelKey::of(&document, None), title: title() };
        let mut effects = self.desk.receive(&request, self.now);
        let question = self.desk.has_cancelled(session, self.now).then(|| Question::of(&document, None));
        let (asked, more) = self.desk.ask(session, class, question.as_ref(), self.now);
        effects.extend(more);
        let fate = match asked {
            Asked::Dismissed(dismissal) => Fate::Dismissed(dismissal),
            Asked::Nothing if holds.is_empty() => Fate::Sent,
            Asked::Nothing | Asked::Pause(_) => {
                let mode = if let Asked::Pause(pause) = asked { Some(pause) } else { None };
                let paused = Paused { connection, class, mode, ..self.paused(session, draft, holds) };
                let (admission, more) = self.desk.pause(paused, self.now);
                effects.extend(more);
                match admission {
                    Admission::Waiting(turn) | Admission::Queued(turn) => Fate::Waits(turn),
                    Admission::Joined(turn) => Fate::Joined(turn),
                    Admission::Beside(turn) => Fate::Beside(turn),
                    Admission::Decided => Fate::Decided,
                    Admission::Dismissed(dismissal) => Fate::Dismissed(dismissal),
                    Admission::Refused(room) => Fate::Dismissed(Dismissal::NoRoom(room)),
                }
            }
        };
        Came { fate, connection, effects }
    }

    /// A main request that no rule holds.
    pub(crate) fn main(&mut self, session: &str, says: &str) -> Came {
        self.come(session, TurnClass::Main, chat(says), Vec::new())
    }

    /// Such a request, which must wait.
    pub(crate) fn paused_by_mode(&mut self, session: &str, says: &str) -> (TurnId, ConnectionId) {
        match self.main(session, says) {
            Came { fate: Fate::Waits(turn), connection, .. } => (turn, connection),
            other => panic!("it does not wait: {other:?}"),
        }
    }

    pub(crate) fn set_mode(&mut self, mode: TurnMode) -> Effects {
        self.desk.set_mode(mode, self.now)
    }

    pub(crate) fn cancel(&mut self, turn: TurnId) -> Effects {
        self.desk.cancel(turn, CancelReason::User, self.now).unwrap()
    }

    /// One turn at the front of session `s`, with its connection.
    pub(crate) fn waiting(&mut self, says: &str) -> (TurnId, ConnectionId) {
        match self.arrive("s", says) {
            (Admission::Waiting(turn), connection, _) => (turn, connection),
            other => panic!("not at the front: {other:?}"),
        }
    }

    pub(crate) fn lose(&mut self, connection: ConnectionId) -> Effects {
        self.desk.lose(connection, self.now)
    }

    pub(crate) fn pass(&mut self, time: Duration) -> Effects {
        self.now = self.now.after(time);
        self.desk.elapse(self.now)
    }

    pub(crate) fn state(&self, turn: TurnId) -> State {
        self.desk.summary(turn, self.now).unwrap().state
    }

    pub(crate) fn digest(&self, turn: TurnId) -> Digest {
        self.desk.turn(turn).unwrap().digest()
    }

    pub(crate) fn body(&self, turn: TurnId) -> String {
        String::from_utf8(self.desk.turn(turn).unwrap().body().to_vec()).unwrap()
    }

    pub(crate) fn resume(&mut self, turn: TurnId) -> Result<Effects, DeskError> {
        let digest = self.digest(turn);
        self.desk.resume(turn, &digest, self.now)
    }

    pub(crate) fn change(&mut self, turn: TurnId, change: EditCommand) -> Result<Effects, DeskError> {
        let revised = self.desk.revise(turn, self.now)?.make(&change)?;
        self.desk.accept(revised, self.now)
    }

    /// A person writes into a leaf.
    pub(crate) fn write(&mut self, turn: TurnId, pointer: &str, text: &str) -> Result<Effects, DeskError> {
        self.change(turn, set(pointer, text))
    }
}

/// A person's edit of a leaf.
pub(crate) fn set(pointer: &str, text: &str) -> EditCommand {
    EditCommand::Set { pointer: pointer.to_owned(), text: ShownText::new(text) }
}

/// What leaves: turn, connection and body.
pub(crate) fn forwards(effects: &Effects) -> Vec<(TurnId, ConnectionId, String)> {
    let forwards = effects.iter().filter_map(|effect| match effect {
        Effect::Forward { turn, to, release } => {
            let TurnRelease { destination, body, digest, .. } = release;
            assert_eq!(Digest::of(destination, body), *digest, "the digest is that of what leaves");
            Some((*turn, *to, String::from_utf8(body.to_vec()).unwrap()))
        }
        _ => None,
    });
    forwards.collect()
}

/// Who is refused, and why.
pub(crate) fn answers(effects: &Effects) -> Vec<(ConnectionId, Dismissal)> {
    let answers = effects.iter().filter_map(|effect| match effect {
        Effect::Answer { to, dismissal, .. } => Some((*to, *dismissal)),
        _ => None,
    });
    answers.collect()
}

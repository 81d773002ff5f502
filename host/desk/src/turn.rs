//! One pending turn: a request, its edits, and the client that waits for the answer.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_admin::{State, TurnClass};
use leafgate_policy::Hold;
use leafgate_tree::{Draft, SectionId, Version};

use crate::beside::Repeats;
use crate::digest::{Destination, Digest, Rendering};
use crate::holds::{Expiry, TurnHolds};
use crate::identity::{ConnectionId, ModelKey, RequestKey, Title, TurnId};
use crate::limits::DeskLimits;
use crate::mode::ModePause;
use crate::question::Question;
use crate::reviewer::Reviewer;
use crate::summary::TurnExtract;
use crate::tick::Tick;
use crate::words::own_words;

/// A request that the policy or a mode paused.
pub struct Paused<G> {
    /// Its session's key.
    pub session: Arc<str>,
    /// The connection that waits for the answer, or waited last.
    pub connection: ConnectionId,
    /// Where it goes, and how.
    pub to: Destination,
    /// Its name in lists.
    pub title: Title,
    /// The request as the policy left it. Shared with readers and with those who change a copy, so that handing
    /// it out copies nothing.
    pub draft: Arc<Draft>,
    /// The rules that ask for a person. A turn has them with their state.
    pub holds: Vec<Hold>,
    /// What kind of request it is.
    pub class: TurnClass,
    /// What the mode said to it ([`crate::Desk::ask`]), as long as it may.
    pub mode: Option<ModePause>,
    /// The policy generation that judged it and reviews its edits.
    pub reviewer: Arc<G>,
}

/// A paused request with the digests that the desk needs. It is made outside of any lock, because
/// the time grows with the body. As a turn changes, these follow.
#[derive(derive_more::Deref)]
pub struct Arrival<G> {
    #[deref]
    pub(crate) paused: Paused<G>,
    pub(crate) key: RequestKey,
    pub(crate) rendering: Rendering,
    pub(crate) question: Question,
    pub(crate) model: Option<ModelKey>,
    pub(crate) extract: TurnExtract,
    /// Bytes of memory, estimated, without `said`.
    pub(crate) memory: usize,
    /// What its user said last, as the policy left it, where it is no side request.
    pub(crate) said: Option<Arc<str>>,
    /// What it repeats of another turn, and adds to that.
    pub(crate) repeats: Option<Repeats>,
}

impl<G> Arrival<G> {
    /// Says what a side request repeats of a turn ([`Repeats::of`]).
    #[must_use]
    pub fn repeating(self, repeats: Option<Repeats>) -> Self {
        Arrival { repeats, ..self }
    }

    /// The bytes of memory that it takes, estimated.
    pub(crate) fn memory(&self) -> usize {
        self.memory + self.said.as_ref().map_or(0, |said| said.len())
    }
}

impl<G: Reviewer> From<Paused<G>> for Arrival<G> {
    fn from(paused: Paused<G>) -> Self {
        let rendering = Rendering::of(&paused.to, &paused.draft);
        let received = match paused.draft.is_dirty() {
            true => Digest::of(&paused.to, paused.draft.document().source()),
            false => rendering.digest,
        };
        let said = (paused.class != TurnClass::Side).then(|| own_words(&paused.draft)).flatten();
        let memory = memory(&paused.draft, &rendering, &*paused.reviewer);
        let key = RequestKey { session: Arc::clone(&paused.session), received };
        let by_path = paused.reviewer.model_by_path(paused.draft.document());
        let question = Question::of(paused.draft.document(), by_path.as_deref());
        let model = ModelKey::of(paused.draft.document(), by_path.as_deref());
        let extract = TurnExtract::of(&paused.draft, &*paused.reviewer);
        Arrival { key, rendering, question, model, extract, memory, said, repeats: None, paused }
    }
}

/// A pending turn: a request that came in, and what became of it since. Everything that can be read of it has
/// passed redaction.
#[derive(derive_more::Debug, derive_more::Deref)]
#[debug("Turn {{ id: {id}, state: {}, version: {version}, digest: {}, draft: {:?}, .. }}", self.state(), self.digest(), self.draft)]
pub struct Turn<G> {
    /// Its number.
    pub id: TurnId,
    #[deref]
    pub(crate) arrival: Arrival<G>,
    /// What asks for a person, and what prevents a resume.
    pub holds: TurnHolds,
    /// The digest of what the policy left.
    pub(crate) first: Digest,
    /// How often its draft was changed.
    pub version: Version,
    /// Until when the same request may come again, where the connection is lost.
    pub(crate) lost: Option<Tick>,
    pub(crate) queued: bool,
    /// Whether its client sent the same request again.
    pub(crate) is_joined: bool,
    /// The turn that it waits with, whose decision it shares.
    pub with: Option<TurnId>,
    /// The turns that wait with it.
    pub(crate) beside: Vec<TurnId>,
    /// The sections that a person pinned, in the order in which people see them. They stand in the request where they
    /// stood. No rule rewrites a turn that waits, so a pin protects it from nothing more.
    pub pins: Vec<SectionId>,
    pub(crate) since: Tick,
    /// The latest end while it is queued, which is after that of all turns before it.
    pub(crate) behind: Option<Tick>,
}

impl<G> Turn<G> {
    pub(crate) fn new(id: TurnId, mut arrival: Arrival<G>, limits: &DeskLimits, now: Tick) -> Self {
        let holds = std::mem::take(&mut arrival.paused.holds);
        // The turn that it repeats counts them.
        if let Some(repeats) = &mut arrival.repeats {
            repeats.said = Arc::default();
        }
        Turn {
            id,
            version: arrival.draft.edits().last().map_or(0, |edit| edit.version),
            holds: TurnHolds::new(holds, arrival.mode.is_some(), limits.timeout, now),
            first: arrival.rendering.digest,
            arrival,
            lost: None,
            queued: false,
            is_joined: false,
            with: None,
            beside: Vec::new(),
            pins: Vec::new(),
            since: now,
            behind: None,
        }
    }

    /// No mode asks for a person any more.
    pub(crate) fn leave_mode(&mut self) {
        self.arrival.paused.mode = None;
        self.holds.leave_mode();
    }

    /// Returns whether it waits because of a mode, and no rule has asked for a person.
    pub fn waits_by_mode(&self) -> bool {
        self.mode.is_some() && self.holds.list.is_empty()
    }

    /// Whether it is a turn of the conversation itself, for another model than this.
    pub(crate) fn is_of_another_model(&self, model: Option<ModelKey>) -> bool {
        self.class == TurnClass::Main && self.model.is_some() && model.is_some() && self.model != model
    }

    /// Whether it is a side request that is asked about by itself, as it came.
    pub(crate) fn stands_alone(&self) -> bool {
        self.class == TurnClass::Side && self.with.is_none() && !self.is_edited()
    }

    /// Returns its state.
    pub fn state(&self) -> State {
        match self.lost {
            Some(_) => State::Disconnected,
            None if self.queued => State::Queued,
            None => State::Waiting,
        }
    }

    /// Returns whether another body would leave than the one that the policy left.
    pub fn is_edited(&self) -> bool {
        self.rendering.digest != self.first
    }

    /// Returns the very bytes that a resume sends.
    pub fn body(&self) -> &Bytes {
        &self.rendering.body
    }

    /// Returns the digest that a resume must carry.
    pub fn digest(&self) -> Digest {
        self.rendering.digest
    }

    /// Returns when it ends by itself, and how. For a queued turn this is the latest moment,
    /// because its own time starts at the front.
    pub fn expiry(&self) -> Expiry {
        let own = self.holds.expiry();
        match self.behind {
            Some(front) if self.queued => Expiry { at: front.after(self.holds.longest()), ..own },
            _ => own,
        }
    }

    /// Returns when the clock next matters to it. Only the loss of its client ends a queued turn, or
    /// one that waits with another.
    pub(crate) fn wake(&self) -> Option<Tick> {
        let own = (!self.queued && self.with.is_none()).then(|| self.holds.expiry().at);
        self.lost.into_iter().chain(own).min()
    }

    /// Whether its time is over, or that in which its client may come again.
    pub(crate) fn is_due(&self, now: Tick) -> bool {
        self.wake().is_some_and(|at| at <= now)
    }

    /// Returns the connection that gets its answer. `None` while the client is gone.
    pub fn connection(&self) -> Option<ConnectionId> {
        self.lost.is_none().then_some(self.connection)
    }

    /// Returns the bytes of memory that it takes, estimated. A client that sends the request again
    /// brings a copy of the body.
    pub fn memory(&self) -> usize {
        self.arrival.memory() + if self.is_joined { self.draft.document().source().len() } else { 0 }
    }
}

/// Returns the bytes of memory of a turn, with the body that would leave. That body counts even if
/// it is the received buffer: an edit makes another one, and no undo may be refused for lack of
/// room.
pub(crate) fn memory(draft: &Draft, rendering: &Rendering, reviewer: &impl Reviewer) -> usize {
    draft.memory() + rendering.body.len().max(draft.document().source().len()) + reviewer.memory()
}

//! One pending turn: a request, what has been made of it, and who waits for its answer.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use leafgate_policy::Hold;
use leafgate_tree::{Draft, Invalid, Version};

use crate::digest::{Destination, Digest, Rendering};
use crate::guard::Guard;
use crate::holds::{Expiry, Holds, TurnHold};
use crate::limits::DeskLimits;
use crate::summary::Extract;
use crate::tick::Tick;

/// Number of a turn on its desk. Counts up and never repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnId(pub u64);

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One request on one connection that waits for an answer. The gate gives the numbers, each to one request only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// What tells a request that comes again from another one: its session, and the digest of destination and body as received.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey {
    /// The session's key.
    pub session: Arc<str>,
    /// Where the request goes and what it says, before any edit.
    pub received: Digest,
}

/// How a turn is called in lists. Both words are the gate's own and never come from a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// Which kind of conversation (`chat`).
    pub location: Arc<str>,
    /// Who asks (`claude-code`), as far as the gate knows.
    pub name: Arc<str>,
}

/// A request that the policy paused.
pub struct Paused<G> {
    /// Its session's key.
    pub session: Arc<str>,
    /// The request that waits for the answer.
    pub connection: ConnectionId,
    /// What it asks for beside its body.
    pub to: Destination,
    /// How it is called.
    pub title: Title,
    /// The request as the policy left it.
    pub draft: Draft,
    /// Which rules ask for a person.
    pub holds: Vec<Hold>,
    /// The policy's generation that judged it, and judges what is made of it.
    pub guard: Arc<G>,
}

/// A paused request with the digests that the desk needs. Made outside of any lock: it takes as long as the body is large.
pub struct Arrival<G> {
    pub(crate) paused: Paused<G>,
    pub(crate) key: RequestKey,
    pub(crate) rendering: Rendering,
    pub(crate) extract: Extract,
    pub(crate) memory: usize,
}

impl<G: Guard> From<Paused<G>> for Arrival<G> {
    fn from(paused: Paused<G>) -> Self {
        let rendering = Rendering::of(&paused.to, &paused.draft);
        let received = match paused.draft.is_dirty() {
            true => Digest::of(&paused.to, paused.draft.document().source()),
            false => rendering.digest,
        };
        let memory = memory(&paused.draft, &rendering, &*paused.guard);
        let key = RequestKey { session: Arc::clone(&paused.session), received };
        Arrival { key, rendering, extract: Extract::of(&paused.draft), memory, paused }
    }
}

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnState {
    /// Behind another turn of its session.
    Queued,
    /// A person must decide; what would leave is what the policy left.
    Waiting,
    /// A person must decide, and has made something else of it.
    Edited,
    /// Its connection is lost. It waits a moment for the same request on another one.
    Disconnected,
    /// It left.
    Resumed,
    /// Somebody discarded it.
    Cancelled,
    /// Nobody decided in time, and it was discarded.
    TimedOut,
}

impl TurnState {
    /// Whether nothing can happen to the turn any more.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, TurnState::Resumed | TurnState::Cancelled | TurnState::TimedOut)
    }
}

impl fmt::Display for TurnState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TurnState::Queued => "queued",
            TurnState::Waiting => "waiting",
            TurnState::Edited => "edited",
            TurnState::Disconnected => "disconnected",
            TurnState::Resumed => "resumed",
            TurnState::Cancelled => "cancelled",
            TurnState::TimedOut => "timed out",
        })
    }
}

/// Who waits for the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Client {
    Connected(ConnectionId),
    Lost { until: Tick },
}

/// A turn that is pending. Everything that can be read of it has passed redaction.
pub struct Turn<G> {
    pub(crate) id: TurnId,
    pub(crate) key: RequestKey,
    pub(crate) to: Destination,
    pub(crate) title: Title,
    /// Shared with those who look at it or change a copy, so that handing it out copies nothing.
    pub(crate) draft: Arc<Draft>,
    pub(crate) guard: Arc<G>,
    pub(crate) holds: Holds,
    pub(crate) rendering: Rendering,
    pub(crate) extract: Extract,
    pub(crate) memory: usize,
    /// What the policy left.
    pub(crate) first: Digest,
    pub(crate) version: Version,
    pub(crate) client: Client,
    pub(crate) queued: bool,
    pub(crate) joined: u32,
    pub(crate) since: Tick,
    /// When it ends at the latest while it is queued, which is after those before it.
    pub(crate) behind: Option<Tick>,
}

impl<G> Turn<G> {
    pub(crate) fn new(id: TurnId, arrival: Arrival<G>, limits: &DeskLimits, now: Tick) -> Self {
        let Arrival { paused, key, rendering, extract, memory } = arrival;
        Turn {
            id,
            key,
            to: paused.to,
            title: paused.title,
            version: paused.draft.edits().last().map_or(0, |edit| edit.version),
            draft: Arc::new(paused.draft),
            guard: paused.guard,
            holds: Holds::new(paused.holds, limits.timeout, now),
            first: rendering.digest,
            rendering,
            extract,
            memory,
            client: Client::Connected(paused.connection),
            queued: false,
            joined: 0,
            since: now,
            behind: None,
        }
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> TurnId {
        self.id
    }

    /// Its session's key.
    #[must_use]
    pub fn session(&self) -> &Arc<str> {
        &self.key.session
    }

    /// What it asks for beside its body.
    #[must_use]
    pub fn destination(&self) -> &Destination {
        &self.to
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> TurnState {
        match self.client {
            Client::Lost { .. } => TurnState::Disconnected,
            Client::Connected(_) if self.queued => TurnState::Queued,
            Client::Connected(_) if self.is_edited() => TurnState::Edited,
            Client::Connected(_) => TurnState::Waiting,
        }
    }

    /// Whether something else would leave than what the policy left.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        self.rendering.digest != self.first
    }

    /// The request with its edits.
    #[must_use]
    pub fn draft(&self) -> &Arc<Draft> {
        &self.draft
    }

    /// The very bytes that a resume sends.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.rendering.body
    }

    /// The digest that a resume must carry.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.rendering.digest
    }

    /// Number of the last change. Grows with every one, an undo included.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// What it waits for.
    #[must_use]
    pub fn holds(&self) -> &[TurnHold] {
        self.holds.list()
    }

    /// Why it cannot be resumed as it stands, where a rule blocks what was made of it.
    #[must_use]
    pub fn block(&self) -> Option<&Hold> {
        self.holds.block()
    }

    /// Why it cannot be resumed as it stands, where its API would refuse it because of the edits.
    ///
    /// # Errors
    /// The API's rule, and where it would be broken.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.draft.validate()
    }

    /// The generation that judges it.
    #[must_use]
    pub fn guard(&self) -> &Arc<G> {
        &self.guard
    }

    /// When it ends by itself, and how. For a queued turn the latest moment: its own time runs from when it comes to the front.
    #[must_use]
    pub fn expiry(&self) -> Expiry {
        let own = self.holds.expiry();
        match self.behind {
            Some(front) if self.queued => Expiry { at: front.after(self.holds.longest()), ..own },
            _ => own,
        }
    }

    /// When the clock next matters to it. Nothing but the loss of its client ends a queued turn.
    pub(crate) fn wake(&self) -> Option<Tick> {
        let lost = match self.client {
            Client::Lost { until } => Some(until),
            Client::Connected(_) => None,
        };
        let own = (!self.queued).then(|| self.holds.expiry().at);
        lost.into_iter().chain(own).min()
    }

    /// Who gets its answer; `None` while the client is gone.
    #[must_use]
    pub fn connection(&self) -> Option<ConnectionId> {
        match self.client {
            Client::Connected(connection) => Some(connection),
            Client::Lost { .. } => None,
        }
    }

    /// Bytes of memory that it takes, about. A client that sends the request again brings a copy of the body.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory + if self.joined > 0 { self.draft.document().source().len() } else { 0 }
    }
}

/// Bytes of memory that a turn takes with the body that would leave. Where that is the received buffer it counts all the same: an
/// edit makes another one, and no undo must be refused for want of room.
pub(crate) fn memory(draft: &Draft, rendering: &Rendering, guard: &impl Guard) -> usize {
    draft.memory() + rendering.body.len().max(draft.document().source().len()) + guard.memory()
}

impl<G> fmt::Debug for Turn<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("id", &self.id)
            .field("state", &self.state())
            .field("version", &self.version)
            .field("digest", &self.rendering.digest)
            .field("draft", &self.draft)
            .finish_non_exhaustive()
    }
}

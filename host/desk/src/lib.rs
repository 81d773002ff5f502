//! Requests that wait for a person: pending turns as a state machine.
//!
//! A rule or a mode paused a request, and its client waits. The [`Desk`] keeps the request as a
//! [`Turn`] and takes events, each with its time. What comes of them are [`Effect`]s: send a body, answer a
//! connection, publish a change. The gate carries them out, and calls at the next deadline.
//!
//! ```text
//!                   ┌────────────── front of its session ──────────────┐
//!  pause            │            change              resume(digest)    │
//!   ├──────────────►│  waiting ◄────────► edited  ───────────────────► │──► resumed
//!   │               │     ▲    undo, reset   ▲     time is over, and   │
//!   │  the one      │     │                  │     all holds say so    │
//!   │  before ends  │     └───────┬──────────┘                         │
//!   ├──► queued ───►│     lose │  │ join (the same request again)      │
//!   │               │          ▼  │                time is over        │
//!   │               │      disconnected   ───────────────────────────► │──► timed out
//!   │               │          │ lingered      cancel, close           │
//!   │               │          └─────────────────────────────────────► │──► cancelled
//!   │               └──────────────────────────────────────────────────┘
//!   ├──► joined: the turn of the same request; the older connection is answered at once
//!   ├──► beside: a side request with the words of another turn, whose decision it shares
//!   ├──► dismissed: the same was cancelled a moment ago, or the mode that asked is off
//!   └──► refused: no room
//! ```
//!
//! A queued turn can be cancelled and disconnected like one at the front, and nothing else. An
//! event that a state does not accept is a [`DeskError`], and the turn is unchanged.
//!
//! What it promises:
//!
//! - **Every connection is answered once**: by the upstream's answer or by a refusal, never by
//!   both, never by nothing.
//! - **Nothing leaves unseen.** A body is sent once, after a resume that carried the digest of
//!   these very bytes, or at the deadline if every rule that asked says `on_timeout = "resume"`.
//!   Neither sends a request that a rule blocks after the edits, or that the API would refuse.
//! - **A change is redacted before it counts.** It is made on a copy, redacted and judged by the
//!   turn's own generation, and then replaces the turn whole. Undo leads back to the very bytes and
//!   never to a redacted value.
//! - **A person is asked once.** A side request that repeats a turn's words and adds nothing that
//!   anybody would be asked about shares that turn's decision (`beside.rs`). Nothing else does.
//! - **A cancel holds.** The same question of the same conversation is not asked of a person again
//!   for a while, and not sent, however the client asks.
//! - **A deadline always exists**, and everything is bounded by [`DeskLimits`]. What exceeds them
//!   is refused.
//!
//! What it must not do: I/O, read a clock, wait, know HTTP, load policies. It takes the types of a
//! verdict from the policy, the modes and edits from the admin API, and asks for a review through
//! [`Reviewer`].

mod beside;
mod cancels;
mod desk;
mod digest;
mod effect;
mod error;
mod holds;
mod identity;
mod limits;
mod mode;
mod monitor;
mod question;
mod reason;
mod reviewer;
mod revision;
mod sessions;
mod summary;
mod tick;
mod turn;
mod words;

// Modes pause main requests only, and only these make a conversation newer, change its model or take
// another's place. Rules pause any class; the other two never wait behind a person's turn.
pub use leafgate_admin::TurnClass;
pub use leafgate_admin::{State, SubagentSection, SubagentVerdict};

pub use beside::{Lead, Repeats};
pub use desk::{Admission, Asked, Desk, Outlook};
pub use digest::{BadDigest, Destination, Digest, PartsDigest};
pub use effect::{Effect, Effects, TurnRelease};
pub use error::{Decided, DeskError};
pub use holds::{Expiry, TurnHold, TurnHolds};
pub use identity::{ConnectionId, ModelKey, RequestKey, Title, TurnId};
pub use limits::DeskLimits;
pub use mode::ModePause;
pub use monitor::agent_request;
pub use question::Question;
pub use reason::{CancelReason, Dismissal, Room};
pub use reviewer::Reviewer;
pub use revision::{Revised, Revision};
pub use sessions::Request;
pub use tick::Tick;
pub use turn::{Arrival, Paused, Turn};
pub use words::first_words_of;

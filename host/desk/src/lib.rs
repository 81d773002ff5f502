//! Requests that wait for a person: pending turns as a state machine.
//!
//! A rule paused a request; its client waits. The [`Desk`] keeps it as a [`Turn`], takes events, each with the time at which it
//! happened, and returns [`Effect`]s: send this, answer that, show it again, wake me then. Whoever drives the desk carries them out.
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
//!   └──► refused: no room
//! ```
//!
//! A queued turn can be cancelled and disconnected like one at the front, and nothing else. What a state does not take is a
//! [`DeskError`]; the turn then stands as it stood.
//!
//! What it promises:
//!
//! - **Every connection is answered once**: by the upstream's answer or by a refusal, never by both, never by nothing.
//! - **Nothing leaves unseen.** A body is sent once, after a resume that carried the digest of these very bytes; or when the time is
//!   over, where every rule that asked says `on_timeout = "resume"`. Where a rule blocks what a person made of it, or the API would
//!   refuse it, neither sends it.
//! - **A change is redacted before it is anything.** It is made on a copy, redacted and judged by the turn's own generation, and takes
//!   the turn's place whole. Undo leads back to the very bytes and never to a redacted value.
//! - **A deadline always exists**, and everything is bounded by [`DeskLimits`]; what exceeds them is refused.
//!
//! What it must not do: I/O, read a clock, wait, know HTTP, load policies. It depends on the policy for the words of a verdict only,
//! and asks the policy through [`Guard`].

mod desk;
mod digest;
mod effect;
mod error;
mod guard;
mod holds;
mod limits;
mod reason;
mod revision;
mod summary;
mod tick;
mod turn;

pub use desk::{Admission, Desk};
pub use digest::{BadDigest, Destination, Digest};
pub use effect::{Effect, Effects};
pub use error::DeskError;
pub use guard::Guard;
pub use holds::{Expiry, HoldState, TurnHold};
pub use limits::DeskLimits;
pub use reason::{CancelReason, Dismissal, Room};
pub use revision::{Change, Revised, Revision};
pub use summary::TurnLine;
pub use tick::Tick;
pub use turn::{Arrival, ConnectionId, Paused, RequestKey, Title, Turn, TurnId, TurnState};

//! What the desk asks the gate to do. The desk itself does nothing: the gate carries these out, in
//! order.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use leafgate_tree::Draft;

use crate::digest::{Destination, Digest};
use crate::identity::{ConnectionId, TurnId};
use crate::reason::Dismissal;
use crate::tick::Tick;

/// One thing to do.
pub enum Effect {
    /// Send a body, and give the answer to a connection. At most once per turn.
    Forward {
        /// The turn, which is over.
        turn: TurnId,
        /// The connection that gets the answer.
        to: ConnectionId,
        /// Where it goes, and how.
        destination: Destination,
        /// The very bytes that were shown.
        body: Bytes,
        /// The digest of these bytes.
        digest: Digest,
        /// What they were made of.
        draft: Arc<Draft>,
    },
    /// Answer a connection with a refusal, in the form of its API.
    Answer {
        /// The turn of the connection. `None` if there was no room for a turn.
        turn: Option<TurnId>,
        /// The connection.
        to: ConnectionId,
        /// Why the turn does not leave.
        dismissal: Dismissal,
    },
    /// A turn changed: publish it again.
    Changed(TurnId),
    /// Another mode is in force, or another state of it: show it again.
    ModeChanged,
    /// Another conversation is active, one is gone, or others are followed: show the list again.
    SessionsChanged,
    /// A request of an agent is in the monitor: publish it.
    Observed,
    /// Call [`crate::Desk::elapse`] at this time. Replaces an earlier request. A call that comes
    /// too early does no harm.
    NextDeadline(Tick),
}

/// Effects of one event, in order.
pub type Effects = Vec<Effect>;

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effect::Forward { turn, to, destination, body, digest, draft: _ } => f
                .debug_struct("Forward")
                .field("turn", turn)
                .field("to", to)
                .field("destination", destination)
                .field("body", &format_args!("{} bytes", body.len()))
                .field("digest", digest)
                .finish(),
            Effect::Answer { turn, to, dismissal } => f
                .debug_struct("Answer")
                .field("turn", turn)
                .field("to", to)
                .field("dismissal", dismissal)
                .finish(),
            Effect::Changed(turn) => f.debug_tuple("Changed").field(turn).finish(),
            Effect::ModeChanged => f.write_str("ModeChanged"),
            Effect::SessionsChanged => f.write_str("SessionsChanged"),
            Effect::Observed => f.write_str("Observed"),
            Effect::NextDeadline(at) => f.debug_tuple("NextDeadline").field(at).finish(),
        }
    }
}

//! What the desk wants done. It does nothing itself: the gate carries these out, in order.

use std::fmt;

use bytes::Bytes;

use crate::digest::{Destination, Digest};
use crate::reason::Dismissal;
use crate::tick::Tick;
use crate::turn::{ConnectionId, TurnId};

/// One thing to do.
pub enum Effect {
    /// Send a body, and give the answer to a connection. At most once per turn.
    Forward {
        /// The turn, which is over.
        turn: TurnId,
        /// Who gets the answer.
        to: ConnectionId,
        /// Where it goes, and how.
        destination: Destination,
        /// The very bytes that were shown.
        body: Bytes,
        /// Their digest.
        digest: Digest,
    },
    /// Answer a connection with a refusal, in the dialect of its API.
    Answer {
        /// The turn that it belonged to; `None` where there was no room for one.
        turn: Option<TurnId>,
        /// Who gets it.
        to: ConnectionId,
        /// What it says.
        dismissal: Dismissal,
    },
    /// Something about a turn changed: show it again.
    Changed(TurnId),
    /// Tell the desk the time then ([`crate::Desk::elapse`]). Replaces an earlier one; coming too early does no harm.
    NextDeadline(Tick),
}

/// What is to be done, in order.
pub type Effects = Vec<Effect>;

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effect::Forward { turn, to, destination, body, digest } => f
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
            Effect::NextDeadline(at) => f.debug_tuple("NextDeadline").field(at).finish(),
        }
    }
}

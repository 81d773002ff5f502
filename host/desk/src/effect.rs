//! What the desk asks the gate to do. The desk itself does nothing: the gate carries these out, in
//! order.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_admin::SubagentView;
use leafgate_tree::Draft;

use crate::digest::{Destination, Digest};
use crate::identity::{ConnectionId, TurnId};
use crate::reason::Dismissal;

/// One thing to do. `Debug` shows no body.
#[derive(derive_more::Debug)]
pub enum Effect {
    /// Send a body, and give the answer to a connection. At most once per turn.
    Forward {
        /// The turn, which is over.
        turn: TurnId,
        /// The connection that gets the answer.
        to: ConnectionId,
        /// What is sent.
        release: TurnRelease,
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
    Observed(Box<SubagentView>),
}

/// A turn that was let go. `Debug` shows no body.
#[derive(derive_more::Debug)]
pub struct TurnRelease {
    /// Where it goes, and how.
    pub destination: Destination,
    /// The very bytes that were shown.
    #[debug("{} bytes", body.len())]
    pub body: Bytes,
    /// What a person agreed to: the digest of these bytes.
    pub digest: Digest,
    /// What they were made of.
    #[debug(skip)]
    pub draft: Arc<Draft>,
    /// Edits that stand in it.
    pub edits: usize,
    /// Redactions that stand in it.
    pub redactions: usize,
    /// Who let it go: `user`, or `timeout` where a rule lets it go when nobody decides.
    pub by: &'static str,
}

/// Effects of the events since they were last taken, in order.
pub type Effects = Vec<Effect>;

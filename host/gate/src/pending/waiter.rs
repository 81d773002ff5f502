//! One connection that waits for what becomes of its turn.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_desk::{CancelReason, ConnectionId, Destination, Digest, Dismissal, ModePause, TurnHold};
use leafgate_policy::Hold;
use leafgate_tree::Draft;
use tokio::sync::oneshot;

use super::{TurnGuard, Turns};

/// A request that the policy or a mode paused.
pub(crate) struct Paused {
    pub(crate) draft: Draft,
    pub(crate) holds: Vec<Hold>,
    pub(crate) mode: Option<ModePause>,
    pub(crate) guard: Arc<TurnGuard>,
}

impl Paused {
    pub(super) fn on(self, connection: ConnectionId) -> leafgate_desk::Paused<TurnGuard> {
        leafgate_desk::Paused {
            session: Arc::clone(&self.guard.session),
            connection,
            to: self.guard.to.clone(),
            title: self.guard.title.clone(),
            draft: self.draft,
            holds: self.holds,
            class: self.guard.class,
            mode: self.mode,
            reviewer: self.guard,
        }
    }
}

/// What becomes of a turn, for the connection that gets its answer.
pub(crate) enum Decision {
    /// It is to be sent.
    Send(Release),
    /// The client gets a refusal.
    Dismissed(Dismissed),
}

/// A turn that is not sent.
pub(crate) struct Dismissed {
    pub(crate) dismissal: Dismissal,
    /// Why it waited.
    pub(crate) holds: Vec<TurnHold>,
}

/// A turn that was let go.
pub(crate) struct Release {
    /// The very bytes that were shown.
    pub(crate) body: Bytes,
    /// What the person agreed to.
    pub(crate) digest: Digest,
    /// Edits that stand in it.
    pub(crate) edits: usize,
    /// Redactions that stand in it.
    pub(crate) redactions: usize,
    /// What it was made of.
    pub(crate) draft: Arc<Draft>,
    /// Who let it go: `user`, or `timeout` where a rule lets it go when nobody decides.
    pub(crate) by: &'static str,
}

/// Waits for a decision. Dropping it tells the desk that the connection is gone.
pub(crate) struct Waiter {
    turns: Arc<Turns>,
    connection: ConnectionId,
    decision: oneshot::Receiver<Decision>,
    /// What this connection's own request asks for beside its body.
    to: Destination,
    guard: Arc<TurnGuard>,
}

impl Waiter {
    pub(super) fn new(
        turns: Arc<Turns>,
        connection: ConnectionId,
        decision: oneshot::Receiver<Decision>,
        to: Destination,
        guard: Arc<TurnGuard>,
    ) -> Self {
        Waiter { turns, connection, decision, to, guard }
    }

    /// What this connection's own request asks for beside its body: its headers are those that leave.
    pub(crate) fn destination(&self) -> &Destination {
        &self.to
    }

    /// What the turn keeps of its policy.
    pub(crate) fn guard(&self) -> &TurnGuard {
        &self.guard
    }

    /// Waits; may be given up and called again. The desk answers every connection once, at its deadline at the latest.
    pub(crate) async fn decision(&mut self) -> Decision {
        let decided = (&mut self.decision).await;
        let lost =
            || Dismissed { dismissal: Dismissal::Cancelled(CancelReason::GateStopped), holds: Vec::new() };
        decided.unwrap_or_else(|_| Decision::Dismissed(lost()))
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.turns.lose(self.connection);
    }
}

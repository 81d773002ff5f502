//! Why a request that waited did not leave, for the client and for the log.
//!
//! Everything here is fixed text and numbers, and nothing of a request.

use std::time::Duration;

leafgate_words::words! {
    /// Why a turn is cancelled.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum CancelReason {
        /// A person cancelled it.
        User = "user" / "Request canceled before sending.",
        /// The client disconnected and did not come again.
        ClientGone = "clientGone" / "its client disconnected, so it was not sent.",
        /// The gate stops.
        GateStopped = "gateStopped" / "the gate is stopping, so this request was not sent.",
        /// The modes were turned off, and one of them had paused it.
        ModeDisabled = "modeDisabled" / "Prompt Interception Mode was disabled. Pending request discarded.",
        /// Its conversation asked something else meanwhile.
        Superseded = "superseded" / "Previous pending request was discarded before sending.",
        /// Its conversation was closed.
        SessionDisposed = "sessionDisposed" / "Chat context changed (new session or model). Pending request was discarded.",
        /// Its conversation goes on with another model.
        ContextChanged = "contextChanged" / "Chat context changed (new session or model). Pending request was discarded.",
        /// It waited with a turn that a person edited.
        TurnEdited = "turnEdited" / "it repeats words of a request that a person edited before it was sent, so it was not sent as well.",
    }
    /// Returns the name of the reason in APIs and logs.
    pub fn code = 0;
    /// Returns the message for the client.
    pub fn message = 1;
}

impl CancelReason {
    /// Returns whether it holds for a while when the client asks the same again. A lost connection
    /// and a gate that stops say nothing about the question.
    pub fn lasts(self) -> bool {
        match self {
            CancelReason::User
            | CancelReason::ModeDisabled
            | CancelReason::Superseded
            | CancelReason::SessionDisposed
            | CancelReason::ContextChanged
            | CancelReason::TurnEdited => true,
            CancelReason::ClientGone | CancelReason::GateStopped => false,
        }
    }
}

/// Why the gate itself answers a connection. Its text is the message for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, derive_more::Display)]
#[non_exhaustive]
pub enum Dismissal {
    /// The turn was cancelled.
    #[display("{}", _0.message())]
    Cancelled(CancelReason),
    /// The same was asked before, and cancelled; or it belongs to a question that was.
    #[display("{} That holds for {} s, however the client asks again.", reason.message(), limit.as_secs_f64())]
    CancelledBefore {
        /// Why that was cancelled.
        reason: CancelReason,
        /// How long a cancel holds.
        limit: Duration,
    },
    /// The deadline passed without a decision.
    #[display("nobody decided about this request within {} s, so it was not sent.", limit.as_secs_f64())]
    TimedOut {
        /// How long the turn waited.
        limit: Duration,
    },
    /// The same request came again on another connection, which gets the answer.
    #[display(
        "the same request came again on another connection, and the answer goes there. For several answers ask with `n`, or one after the other."
    )]
    Replaced,
    /// The desk is full.
    #[display(
        "a person must look at this request, and {_0} already. Decide about those with `leafgate review`, then send it again."
    )]
    NoRoom(Room),
}

/// A bound of the desk that a request would have exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, derive_more::Display)]
#[non_exhaustive]
pub enum Room {
    /// Turns in all.
    #[display("{limit} requests wait for review")]
    Turns {
        /// The limit.
        limit: usize,
    },
    /// Turns queued in one session.
    #[display("{limit} requests of this session queue for review")]
    Queue {
        /// The limit.
        limit: usize,
    },
    /// Bytes of memory of all turns.
    #[display("those that wait take nearly all of the {} MiB that there are for them", limit >> 20)]
    Memory {
        /// The limit.
        limit: usize,
    },
}

impl Dismissal {
    /// Returns the name of the dismissal in APIs and logs.
    pub fn code(self) -> &'static str {
        match self {
            Dismissal::Cancelled(reason) | Dismissal::CancelledBefore { reason, .. } => reason.code(),
            Dismissal::TimedOut { .. } => "timedOut",
            Dismissal::Replaced => "replaced",
            Dismissal::NoRoom(_) => "noRoom",
        }
    }
}

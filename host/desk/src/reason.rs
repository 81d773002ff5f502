//! Why a request that waited did not leave: for the client, and for whoever reads the log.
//!
//! All of it is fixed text and numbers. Nothing here can carry what a request said.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// Why somebody cancels a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelReason {
    /// A person said so.
    User,
    /// The client took its request back: its connection was lost and did not come again.
    Token,
    /// The mode that paused it was turned off.
    ModeDisabled,
    /// Reviewing was turned off altogether.
    EditorDisabled,
    /// A newer request of the session took its place.
    Superseded,
    /// The session has ended.
    SessionDisposed,
    /// The session went on in another way; what changed, where that is known (`model`).
    ContextChanged(Option<&'static str>),
    /// It could not be sent as it stood.
    Invalid,
}

impl CancelReason {
    /// The word for it in APIs and logs.
    #[must_use]
    pub fn code(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            CancelReason::User => "user",
            CancelReason::Token => "token",
            CancelReason::ModeDisabled => "modeDisabled",
            CancelReason::EditorDisabled => "editorDisabled",
            CancelReason::Superseded => "superseded",
            CancelReason::SessionDisposed => "sessionDisposed",
            CancelReason::ContextChanged(None) => "contextChanged",
            CancelReason::ContextChanged(Some(what)) => return Cow::Owned(format!("contextChanged:{what}")),
            CancelReason::Invalid => "invalid",
        })
    }

    /// What the client reads.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            CancelReason::User | CancelReason::Token => "Request canceled before sending.",
            CancelReason::ModeDisabled | CancelReason::EditorDisabled => {
                "Prompt Interception Mode was disabled. Pending request discarded."
            }
            CancelReason::Superseded => "Previous pending request was discarded before sending.",
            CancelReason::SessionDisposed => {
                "Chat context changed (new session or model). Pending request was discarded."
            }
            CancelReason::ContextChanged(_) | CancelReason::Invalid => {
                "Pending request was discarded before sending."
            }
        }
    }
}

/// Why a connection is answered by the gate itself. [`fmt::Display`] gives what the client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dismissal {
    /// Somebody cancelled the turn.
    Cancelled(CancelReason),
    /// Nobody decided in time.
    TimedOut {
        /// How long it had waited.
        waited: Duration,
    },
    /// The same request came again on another connection, which gets the answer.
    Replaced,
    /// The desk is full.
    NoRoom(Room),
}

/// A bound of the desk that a request would have exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Room {
    /// Turns in all.
    Turns {
        /// The limit.
        limit: usize,
    },
    /// Turns queued in one session.
    Queue {
        /// The limit.
        limit: usize,
    },
    /// Bytes of all bodies.
    Bytes {
        /// The limit.
        limit: usize,
    },
}

impl Dismissal {
    /// The word for it in APIs and logs.
    #[must_use]
    pub fn code(self) -> Cow<'static, str> {
        match self {
            Dismissal::Cancelled(reason) => reason.code(),
            Dismissal::TimedOut { .. } => "timedOut".into(),
            Dismissal::Replaced => "replaced".into(),
            Dismissal::NoRoom(_) => "noRoom".into(),
        }
    }
}

impl fmt::Display for Dismissal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dismissal::Cancelled(reason) => f.write_str(reason.message()),
            Dismissal::TimedOut { waited } => write!(
                f,
                "Nobody decided about this request within {} seconds. Pending request was discarded before sending.",
                waited.as_secs()
            ),
            Dismissal::Replaced => {
                f.write_str("The same request came again on another connection, and the answer goes there.")
            }
            Dismissal::NoRoom(room) => write!(
                f,
                "A person must look at this request, and {room} already. Decide about those, then send it again."
            ),
        }
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Room::Turns { limit } => write!(f, "{limit} requests wait for review"),
            Room::Queue { limit } => write!(f, "{limit} requests of this session queue for review"),
            Room::Bytes { limit } => write!(f, "requests of nearly {limit} bytes wait for review"),
        }
    }
}

impl Serialize for Dismissal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.code())
    }
}

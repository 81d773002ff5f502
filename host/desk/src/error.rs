//! Why an event was refused. The turn is unchanged, and the sender of the event can do something
//! else.

use leafgate_admin::State;
use leafgate_policy::Hold;
use leafgate_tree::{EditError, Invalid, ResolveError};

use crate::digest::Digest;
use crate::identity::TurnId;

/// An event that a turn does not accept in its present state. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeskError {
    /// No turn had this number yet.
    #[error("there is no turn {turn}: list the pending ones")]
    Unknown {
        /// The number asked for.
        turn: TurnId,
    },
    /// The turn was decided. What was sent stays as it was sent.
    #[error("turn {turn} is over and cannot change any more{}", decision(.decided))]
    Over {
        /// The turn.
        turn: TurnId,
        /// The decision that stands, where the desk still remembers it.
        decided: Option<Decided>,
    },
    /// The deadline of the turn has passed, and the turn is about to end.
    #[error("the time of turn {turn} is over: send the request again")]
    Expired {
        /// The turn.
        turn: TurnId,
    },
    /// Another turn of its session comes first.
    #[error("turn {turn} is queued: decide about turn {behind} of the same session first")]
    Queued {
        /// The turn.
        turn: TurnId,
        /// The turn at the front.
        behind: TurnId,
    },
    /// It waits with another turn, and shares that one's decision.
    #[error("turn {turn} repeats the words of turn {lead} and waits with it: decide about turn {lead}")]
    Beside {
        /// The turn.
        turn: TurnId,
        /// The turn that it waits with.
        lead: TurnId,
    },
    /// No client is connected to get the answer.
    #[error("the client of turn {turn} is gone: the turn can be resumed if the same request comes again")]
    Disconnected {
        /// The turn.
        turn: TurnId,
    },
    /// The body that would leave is not the one that the person saw.
    #[error("turn {turn} has changed since it was shown: look at it again, then resume with digest {shown}")]
    Stale {
        /// The turn.
        turn: TurnId,
        /// The digest of what would leave now.
        shown: Digest,
    },
    /// Somebody else changed the turn while this change was being made.
    #[error("turn {turn} was changed by somebody else meanwhile: look at it again, then repeat the change")]
    Conflict {
        /// The turn.
        turn: TurnId,
    },
    /// The change adds more than there is room for.
    #[error(
        "turn {turn} would take more memory than is left of the {} MiB for requests that wait: decide about others first, or cancel",
        .limit >> 20
    )]
    NoRoom {
        /// The turn.
        turn: TurnId,
        /// The bound, in bytes.
        limit: usize,
    },
    /// A rule blocks the edited request.
    #[error("rule `{}` blocks the request as it stands: {}; undo the change or cancel", .0.rule, .0.reason)]
    Blocked(Box<Hold>),
    // No `#[from]`: the cause stands in the sentence already, and a chain of causes would say it twice.
    /// The API would refuse the request because of the edits.
    #[error("the API would refuse the request as it stands: {0}; restore what was deleted, or reset")]
    Invalid(Invalid),
    /// The change would bring in a value that must be redacted and cannot be.
    #[error("rule `{}` does not let this change in: {}", .0.rule, .0.reason)]
    Unredactable(Box<Hold>),
    /// A rule keeps the value that a person wants to release.
    #[error("rule `{}` does not let this value leave: {}", .0.rule, .0.reason)]
    NotReleasable(Box<Hold>),
    /// The leaf or section does not accept the change.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The pointer names no leaf of this request.
    #[error(transparent)]
    Place(#[from] ResolveError),
    /// The section is not one of this request.
    #[error("the request has no such section")]
    NoSuchPlace,
    /// There is no such conversation, or not any more.
    #[error("there is no such session: list them")]
    NoSuchSession,
    /// No saved edits are applied, so none can be captured.
    #[error("edits are captured in mode autoOverride only: choose that first")]
    NoCapture,
    /// Undo, redo or reset found nothing to do.
    #[error("there is nothing to {0}")]
    Nothing(&'static str),
}

/// The decision about a turn: the first one, which stands whoever comes later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// How it ended.
    pub state: State,
    /// Who or what decided: a cancel's code, `timedOut`, or who resumed it (`user`, `timeout`).
    pub ending: String,
}

fn decision(decided: &Option<Decided>) -> String {
    decided.as_ref().map_or_else(String::new, |Decided { state, ending }| match state {
        State::TimedOut => ": its time was up, and nothing was sent".to_owned(),
        State::Resumed if ending == "user" => ": a person resumed it, and it was sent".to_owned(),
        State::Resumed => ": its time was up, and it was sent as its rules say".to_owned(),
        _ if ending == "user" => ": a person cancelled it, and nothing was sent".to_owned(),
        _ => format!(": it was cancelled ({ending}), and nothing was sent"),
    })
}

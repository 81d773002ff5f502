//! The admin API as the prompt uses it: calls and answers as values, so that the model can ask
//! without I/O, and a test can answer anything.

use leafgate_admin::{
    ApiError, CapturedEdits, Diff, EditCommand, EditableRequest, ErrorCode, Excepted, ModeView, Payload,
    Resumed, SavedList, SavedScope, SessionList, SetSaved, Subagents, TurnMode, TurnSummary, TurnView,
};

/// An exception from a redaction, as a person types it. `Debug` shows no reason, which may be anything.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("ExceptionDraft {{ redaction: {redaction:?}, .. }}")]
pub struct ExceptionDraft {
    /// The number of the redaction.
    pub redaction: usize,
    /// Why.
    pub reason: String,
    /// Its last day, how long, or `never`.
    pub until: String,
}

/// The pending turns of a running gate. Calls block.
pub trait AdminApi {
    /// Makes a call, and returns the answer of its kind.
    ///
    /// # Errors
    /// The error that the gate answered, or that it could not be reached. Nothing was changed then.
    fn make(&mut self, call: ApiCall) -> Result<ApiAnswer, ApiError>;
}

/// One call to the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiCall {
    /// Lists the turns that wait, oldest first.
    Pending,
    /// Something about a turn.
    OnTurn {
        /// Its id.
        id: String,
        /// What.
        call: TurnCall,
    },
    /// Has the next turn pause, so that its edits are saved.
    CaptureNext,
    /// Lists the saved edits.
    Saved,
    /// Removes a saved edit.
    RemoveSaved {
        /// Its id.
        id: String,
    },
    /// Removes all of the scope in which edits are saved.
    ClearSaved,
    /// Chooses where edits are saved, and how much a capture shows.
    SetSaved(SetSaved),
    /// Lists what agents asked, newest first.
    Subagents,
    /// Shows which turns wait although no rule asks.
    Mode,
    /// Chooses that.
    SetMode {
        /// The mode.
        mode: TurnMode,
    },
    /// Lists the conversations, newest first.
    Sessions,
    /// Makes a conversation the active one.
    Select {
        /// Its id.
        session: String,
    },
    /// Follows the newest conversation, or stays with the present one.
    Follow {
        /// Whether to follow.
        follow: bool,
    },
}

/// A call about one turn. `Debug` shows no text: [`EditCommand`] hides its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnCall {
    /// Shows it.
    Show,
    /// Changes it.
    Edit(EditCommand),
    /// Writes an exception from one of its redactions into the gate's policy.
    Except(ExceptionDraft),
    /// Shows the received request against what would leave.
    Diff,
    /// Resumes it, if its digest is still this one.
    Resume {
        /// The digest of what was shown.
        digest: String,
    },
    /// Cancels it.
    Cancel,
    /// Shows the very body that a resume sends.
    Payload,
    /// Shows what is known about it beside what it says.
    Metadata,
    /// Saves the person's edits. It goes on waiting.
    Save {
        /// For which later turns.
        scope: SavedScope,
    },
    /// Has these sections stand first, in this order.
    Pin {
        /// Their keys.
        sections: Vec<String>,
    },
}

impl TurnCall {
    /// Returns the call about a turn of this id.
    #[must_use]
    pub fn on(self, id: &str) -> ApiCall {
        ApiCall::OnTurn { id: id.to_owned(), call: self }
    }
}

/// The gate's answer, by the kind of call.
#[derive(Debug)]
#[expect(missing_docs, reason = "the calls of these names say what each is")]
pub enum ApiAnswer {
    Pending(Vec<TurnSummary>),
    Show(Box<TurnView>),
    Edit(Box<TurnView>),
    Except(Excepted),
    Diff(Diff),
    Resume(Box<Resumed>),
    /// A resume was refused: the turn has changed since.
    Stale(ApiError),
    Cancel(TurnSummary),
    Payload(Payload),
    Metadata(Box<EditableRequest>),
    Save(CapturedEdits),
    CaptureNext(SavedList),
    Saved(SavedList),
    Subagents(Subagents),
    Pin(Box<TurnView>),
    Mode(ModeView),
    SetMode(ModeView),
    Sessions(SessionList),
    /// The call failed.
    Failed(ApiError),
}

impl ApiCall {
    /// Makes the call.
    pub fn run(self, desk: &mut dyn AdminApi) -> ApiAnswer {
        let resumes = matches!(self, ApiCall::OnTurn { call: TurnCall::Resume { .. }, .. });
        desk.make(self).unwrap_or_else(|error| match resumes && error.code == ErrorCode::Stale {
            true => ApiAnswer::Stale(error),
            false => ApiAnswer::Failed(error),
        })
    }
}

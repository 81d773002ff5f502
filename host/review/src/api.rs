//! The admin API as the prompt uses it: a trait, with its calls and answers as values.
//!
//! Calls and answers are values so that the model can ask without I/O, and a test can answer
//! anything.

use leafgate_admin::{
    ApiError, CapturedEdits, Diff, EditCommand, EditableRequest, Excepted, MetadataField, ModeView, Payload,
    Resumed, SavedList, SavedScope, SessionList, Subagents, TurnMode, TurnSummary, TurnView,
};

/// What is known about a request beside what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnMetadata {
    /// Its session, opaque.
    pub session: String,
    /// Its own name, by which operations call it.
    pub request: String,
    /// The model that it would ask, its whole name.
    pub model: String,
    /// Where in its client it was asked.
    pub location: String,
    /// The mode that asked for a person.
    pub mode: Option<TurnMode>,
    /// Whether anything would leave otherwise than it came.
    pub is_dirty: bool,
    /// The upstream and the path there.
    pub endpoint: Option<String>,
    /// What its client says that it is for.
    pub intent: Option<String>,
    /// How long the answer may be.
    pub max_response_tokens: Option<u64>,
    /// How much of its model's prompt it fills, in words.
    pub budget: Option<String>,
    /// What of all this a person is shown, in this order. The budget is shown in any case.
    pub fields: Vec<MetadataField>,
}

impl From<EditableRequest> for TurnMetadata {
    fn from(request: EditableRequest) -> Self {
        TurnMetadata {
            session: request.summary.session,
            request: request.id,
            model: request.model,
            location: request.location,
            mode: request.summary.mode,
            is_dirty: request.is_dirty,
            endpoint: request.metadata.endpoint_url,
            intent: request.metadata.intent,
            max_response_tokens: request.metadata.max_response_tokens,
            budget: request.tokens.as_ref().map(crate::rows::budget_text),
            fields: request.metadata.fields,
        }
    }
}

/// An exception from a redaction, as a person types it. `Debug` shows no reason, which may be anything.
#[derive(Clone, PartialEq, Eq)]
pub struct ExceptionDraft {
    /// The number of the redaction.
    pub redaction: usize,
    /// Why.
    pub reason: String,
    /// Its last day, how long, or `never`.
    pub until: String,
}

impl std::fmt::Debug for ExceptionDraft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExceptionDraft").field("redaction", &self.redaction).finish_non_exhaustive()
    }
}

/// The pending turns of a running gate. Calls block.
pub trait AdminApi {
    /// Returns the turns that wait, oldest first.
    ///
    /// # Errors
    /// The error that the gate answered, or that it could not be reached.
    fn pending(&mut self) -> Result<Vec<TurnSummary>, ApiError>;

    /// Returns one turn in full.
    ///
    /// # Errors
    /// As above.
    fn turn(&mut self, id: &str) -> Result<TurnView, ApiError>;

    /// Returns the received request against what would leave.
    ///
    /// # Errors
    /// As above.
    fn diff(&mut self, id: &str) -> Result<Diff, ApiError>;

    /// Changes a turn and returns it as it is then.
    ///
    /// # Errors
    /// As above. Nothing has changed then.
    fn edit(&mut self, id: &str, command: EditCommand) -> Result<TurnView, ApiError>;

    /// Writes an exception from a redaction of a turn into the gate's policy.
    ///
    /// # Errors
    /// As above. Nothing was written then.
    fn except(&mut self, id: &str, exception: ExceptionDraft) -> Result<Excepted, ApiError>;

    /// Resumes a turn, if its digest is still this one.
    ///
    /// # Errors
    /// As above. `stale` where the turn has changed.
    fn resume(&mut self, id: &str, digest: &str) -> Result<Resumed, ApiError>;

    /// Cancels a turn.
    ///
    /// # Errors
    /// As above.
    fn cancel(&mut self, id: &str) -> Result<TurnSummary, ApiError>;

    /// Returns the very body that a resume sends.
    ///
    /// # Errors
    /// As above.
    fn payload(&mut self, id: &str) -> Result<Payload, ApiError>;

    /// Returns what is known about the request beside what it says.
    ///
    /// # Errors
    /// As above.
    fn metadata(&mut self, id: &str) -> Result<TurnMetadata, ApiError>;

    /// Saves the edits that a person made in a turn, which goes on waiting.
    ///
    /// # Errors
    /// As above. `nothing` where no edit of a person stands in it.
    fn save(&mut self, id: &str, scope: SavedScope) -> Result<CapturedEdits, ApiError>;

    /// Has the next turn pause, so that its edits are saved.
    ///
    /// # Errors
    /// As above. `nothing` where the mode applies no saved edits.
    fn capture_next(&mut self) -> Result<SavedList, ApiError>;

    /// Returns the latest requests of agents, newest first.
    ///
    /// # Errors
    /// As above.
    fn subagents(&mut self) -> Result<Subagents, ApiError>;

    /// Has these sections stand first, in this order, and returns the turn as it is then.
    ///
    /// # Errors
    /// As above.
    fn pin(&mut self, id: &str, sections: Vec<String>) -> Result<TurnView, ApiError>;

    /// Returns the mode in force.
    ///
    /// # Errors
    /// As above.
    fn mode(&mut self) -> Result<ModeView, ApiError>;

    /// Chooses a mode.
    ///
    /// # Errors
    /// As above.
    fn set_mode(&mut self, mode: TurnMode) -> Result<ModeView, ApiError>;

    /// Returns the conversations, newest first.
    ///
    /// # Errors
    /// As above.
    fn sessions(&mut self) -> Result<SessionList, ApiError>;

    /// Makes a conversation the active one.
    ///
    /// # Errors
    /// As above.
    fn select(&mut self, session: &str) -> Result<SessionList, ApiError>;

    /// Follows the newest conversation, or stays with the present one.
    ///
    /// # Errors
    /// As above.
    fn follow(&mut self, follow: bool) -> Result<SessionList, ApiError>;
}

/// One call to the gate. `Debug` shows no text: [`EditCommand`] hides its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the methods of `AdminApi` say what each is")]
pub enum ApiCall {
    Pending,
    Turn { id: String },
    Diff { id: String },
    Edit { id: String, command: EditCommand },
    Except { id: String, exception: ExceptionDraft },
    Resume { id: String, digest: String },
    Cancel { id: String },
    Payload { id: String },
    Metadata { id: String },
    Save { id: String, scope: SavedScope },
    CaptureNext,
    Subagents,
    Pin { id: String, sections: Vec<String> },
    Mode,
    SetMode { mode: TurnMode },
    Sessions,
    Select { session: String },
    Follow { follow: bool },
}

/// The gate's answer, by the kind of call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the methods of `AdminApi` say what each is")]
pub enum ApiAnswer {
    Pending(Result<Vec<TurnSummary>, ApiError>),
    Turn(Result<Box<TurnView>, ApiError>),
    Diff(Result<Diff, ApiError>),
    Edit(Result<Box<TurnView>, ApiError>),
    Except(Result<Excepted, ApiError>),
    Resume(Result<Box<Resumed>, ApiError>),
    Cancel(Result<TurnSummary, ApiError>),
    Payload(Result<Payload, ApiError>),
    Metadata(Result<TurnMetadata, ApiError>),
    Save(Result<CapturedEdits, ApiError>),
    CaptureNext(Result<SavedList, ApiError>),
    Subagents(Result<Subagents, ApiError>),
    Pin(Result<Box<TurnView>, ApiError>),
    Mode(Result<ModeView, ApiError>),
    SetMode(Result<ModeView, ApiError>),
    Sessions(Result<SessionList, ApiError>),
}

impl ApiCall {
    /// Makes the call.
    pub fn run(self, desk: &mut dyn AdminApi) -> ApiAnswer {
        match self {
            ApiCall::Pending => ApiAnswer::Pending(desk.pending()),
            ApiCall::Turn { id } => ApiAnswer::Turn(desk.turn(&id).map(Box::new)),
            ApiCall::Diff { id } => ApiAnswer::Diff(desk.diff(&id)),
            ApiCall::Edit { id, command } => ApiAnswer::Edit(desk.edit(&id, command).map(Box::new)),
            ApiCall::Except { id, exception } => ApiAnswer::Except(desk.except(&id, exception)),
            ApiCall::Resume { id, digest } => ApiAnswer::Resume(desk.resume(&id, &digest).map(Box::new)),
            ApiCall::Cancel { id } => ApiAnswer::Cancel(desk.cancel(&id)),
            ApiCall::Payload { id } => ApiAnswer::Payload(desk.payload(&id)),
            ApiCall::Metadata { id } => ApiAnswer::Metadata(desk.metadata(&id)),
            ApiCall::Save { id, scope } => ApiAnswer::Save(desk.save(&id, scope)),
            ApiCall::CaptureNext => ApiAnswer::CaptureNext(desk.capture_next()),
            ApiCall::Subagents => ApiAnswer::Subagents(desk.subagents()),
            ApiCall::Pin { id, sections } => ApiAnswer::Pin(desk.pin(&id, sections).map(Box::new)),
            ApiCall::Mode => ApiAnswer::Mode(desk.mode()),
            ApiCall::SetMode { mode } => ApiAnswer::SetMode(desk.set_mode(mode)),
            ApiCall::Sessions => ApiAnswer::Sessions(desk.sessions()),
            ApiCall::Select { session } => ApiAnswer::Sessions(desk.select(&session)),
            ApiCall::Follow { follow } => ApiAnswer::Sessions(desk.follow(follow)),
        }
    }
}

//! What the prompt asks of the gate: the admin API as a trait, its calls and their answers as values.
//!
//! Calls and answers are values so that the model can ask without doing I/O, and so that a test can answer what it likes.

use leafgate_admin::{ApiError, Diff, EditCommand, TurnSummary, TurnView};

/// The pending turns of a running gate. Calls block.
pub trait AdminApi {
    /// The turns that wait, oldest first.
    ///
    /// # Errors
    /// What the gate answered, or that it could not be reached.
    fn pending(&mut self) -> Result<Vec<TurnSummary>, ApiError>;

    /// One turn in full.
    ///
    /// # Errors
    /// As above.
    fn turn(&mut self, id: &str) -> Result<TurnView, ApiError>;

    /// What came against what would leave.
    ///
    /// # Errors
    /// As above.
    fn diff(&mut self, id: &str) -> Result<Diff, ApiError>;

    /// Changes a turn; the answer is the turn after it.
    ///
    /// # Errors
    /// As above; nothing has changed then.
    fn edit(&mut self, id: &str, command: EditCommand) -> Result<TurnView, ApiError>;

    /// Lets a turn go, if its digest is still this one.
    ///
    /// # Errors
    /// As above; `stale` where the turn has changed.
    fn resume(&mut self, id: &str, digest: &str) -> Result<TurnSummary, ApiError>;

    /// Gives a turn up.
    ///
    /// # Errors
    /// As above.
    fn cancel(&mut self, id: &str) -> Result<TurnSummary, ApiError>;
}

/// One call to the desk. `Debug` shows no text: [`EditCommand`] hides its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the methods of `AdminApi` say what each is")]
pub enum ApiCall {
    Pending,
    Turn { id: String },
    Diff { id: String },
    Edit { id: String, command: EditCommand },
    Resume { id: String, digest: String },
    Cancel { id: String },
}

/// What the desk answered, by the kind of call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the methods of `AdminApi` say what each is")]
pub enum ApiAnswer {
    Pending(Result<Vec<TurnSummary>, ApiError>),
    Turn(Result<Box<TurnView>, ApiError>),
    Diff(Result<Diff, ApiError>),
    Edit(Result<Box<TurnView>, ApiError>),
    Resume(Result<TurnSummary, ApiError>),
    Cancel(Result<TurnSummary, ApiError>),
}

impl ApiCall {
    /// Makes the call.
    pub fn run(self, desk: &mut dyn AdminApi) -> ApiAnswer {
        match self {
            ApiCall::Pending => ApiAnswer::Pending(desk.pending()),
            ApiCall::Turn { id } => ApiAnswer::Turn(desk.turn(&id).map(Box::new)),
            ApiCall::Diff { id } => ApiAnswer::Diff(desk.diff(&id)),
            ApiCall::Edit { id, command } => ApiAnswer::Edit(desk.edit(&id, command).map(Box::new)),
            ApiCall::Resume { id, digest } => ApiAnswer::Resume(desk.resume(&id, &digest)),
            ApiCall::Cancel { id } => ApiAnswer::Cancel(desk.cancel(&id)),
        }
    }
}

//! What the prompt asks of the gate: the admin API as a trait, its calls and their answers as values.
//!
//! Calls and answers are values so that the model can ask without doing I/O, and so that a test can answer what it likes.

use leafgate_admin::{ApiError, Diff, EditCommand, Turn, TurnSummary};

/// The pending turns of a running gate. Calls block.
pub trait Desk {
    /// The turns that wait, oldest first.
    ///
    /// # Errors
    /// What the gate answered, or that it could not be reached.
    fn pending(&mut self) -> Result<Vec<TurnSummary>, ApiError>;

    /// One turn in full.
    ///
    /// # Errors
    /// As above.
    fn turn(&mut self, id: &str) -> Result<Turn, ApiError>;

    /// What came against what would leave.
    ///
    /// # Errors
    /// As above.
    fn diff(&mut self, id: &str) -> Result<Diff, ApiError>;

    /// Changes a turn; the answer is the turn after it.
    ///
    /// # Errors
    /// As above; nothing has changed then.
    fn edit(&mut self, id: &str, command: EditCommand) -> Result<Turn, ApiError>;

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
#[expect(missing_docs, reason = "the methods of `Desk` say what each is")]
pub enum Call {
    Pending,
    Turn { id: String },
    Diff { id: String },
    Edit { id: String, command: EditCommand },
    Resume { id: String, digest: String },
    Cancel { id: String },
}

/// What the desk answered, by the kind of call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the methods of `Desk` say what each is")]
pub enum Answer {
    Pending(Result<Vec<TurnSummary>, ApiError>),
    Turn(Result<Box<Turn>, ApiError>),
    Diff(Result<Diff, ApiError>),
    Edit(Result<Box<Turn>, ApiError>),
    Resume(Result<TurnSummary, ApiError>),
    Cancel(Result<TurnSummary, ApiError>),
}

impl Call {
    /// Makes the call.
    pub fn run(self, desk: &mut dyn Desk) -> Answer {
        match self {
            Call::Pending => Answer::Pending(desk.pending()),
            Call::Turn { id } => Answer::Turn(desk.turn(&id).map(Box::new)),
            Call::Diff { id } => Answer::Diff(desk.diff(&id)),
            Call::Edit { id, command } => Answer::Edit(desk.edit(&id, command).map(Box::new)),
            Call::Resume { id, digest } => Answer::Resume(desk.resume(&id, &digest)),
            Call::Cancel { id } => Answer::Cancel(desk.cancel(&id)),
        }
    }
}

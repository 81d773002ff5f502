//! What becomes of an answer, in one word.

/// What rules, profiles and people made of an answer. Of two, the greater one tells more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerOutcome {
    /// Rules matched in it, and it left as it came.
    Passed,
    /// Response rules changed it.
    Changed,
    /// Its tool calls wait for a person.
    Held,
    /// A person let its tool calls go.
    Approved,
    /// A person changed its tool calls.
    Edited,
    /// A person let some of its tool calls go and refused the others: the model's words name those.
    PartlyRefused,
    /// Its tool calls were refused: the model's words say so in their place.
    Refused,
    /// Its client left, or the gate ended, while its tool calls waited for a person.
    Abandoned,
    /// Its client got an error in its place.
    Blocked,
}

impl AnswerOutcome {
    /// All of them, in order.
    pub const ALL: [AnswerOutcome; 9] = [
        AnswerOutcome::Passed,
        AnswerOutcome::Changed,
        AnswerOutcome::Held,
        AnswerOutcome::Approved,
        AnswerOutcome::Edited,
        AnswerOutcome::PartlyRefused,
        AnswerOutcome::Refused,
        AnswerOutcome::Abandoned,
        AnswerOutcome::Blocked,
    ];

    /// Returns its word in logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            AnswerOutcome::Passed => "passed",
            AnswerOutcome::Changed => "changed",
            AnswerOutcome::Held => "held",
            AnswerOutcome::Approved => "approved",
            AnswerOutcome::Edited => "edited",
            AnswerOutcome::PartlyRefused => "partly-refused",
            AnswerOutcome::Refused => "refused",
            AnswerOutcome::Abandoned => "abandoned",
            AnswerOutcome::Blocked => "blocked",
        }
    }
}

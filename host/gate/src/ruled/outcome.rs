//! What becomes of an answer, in one word.

leafgate_words::words! {
    /// What rules, profiles and people made of an answer. Of two, the greater one tells more.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum AnswerOutcome {
        /// Rules matched in it, and it left as it came.
        Passed = "passed",
        /// Response rules changed it.
        Changed = "changed",
        /// Its tool calls wait for a person.
        Held = "held",
        /// A person let its tool calls go.
        Approved = "approved",
        /// A person changed its tool calls.
        Edited = "edited",
        /// A person let some of its tool calls go and refused the others: the model's words name those.
        PartlyRefused = "partly-refused",
        /// Its tool calls were refused: the model's words say so in their place.
        Refused = "refused",
        /// Its client left, or the gate ended, while its tool calls waited for a person.
        Abandoned = "abandoned",
        /// Its client got an error in its place.
        Blocked = "blocked",
    }
    /// Returns its word in logs and metrics.
    pub fn as_str = 0;
}

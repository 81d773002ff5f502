//! Text of an answer, as a type that is not printed by accident.

/// Text of an answer. Printing it by accident prints its length.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Debug, derive_more::From)]
#[from(&str, String)]
#[debug("{} bytes of text", self.0.len())]
pub struct AnswerText(String);

impl AnswerText {
    /// The text itself, for whoever may see it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text itself, taken out.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds to the end.
    pub fn push(&mut self, text: &str) {
        self.0.push_str(text);
    }
}

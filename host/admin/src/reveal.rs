//! The value of a token, for the person at this machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks for the value that a token stands for. Who asked for which token is logged before anything
/// is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reveal {
    /// The token, as `EMAIL_k7f3q2xw9mz4ab6c`, in any case.
    pub token: String,
    /// Who asks, for the log: 1 to 64 printable characters of ASCII.
    pub by: String,
}

/// The value of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revealed {
    /// The token.
    pub token: String,
    /// The key of the conversation that remembers the value.
    pub session: String,
    /// The value.
    pub value: RevealedValue,
}

/// A value that redaction took away. `Debug` prints its length.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, derive_more::Debug)]
#[debug("{} bytes of a value", self.0.len())]
#[serde(transparent)]
pub struct RevealedValue(String);

impl RevealedValue {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        RevealedValue(value.into())
    }

    /// Returns the value, for the person who asked for it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

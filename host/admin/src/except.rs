//! Exceptions that a person writes from a redaction in a turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Writes an exception from a redaction: the value may leave in later requests, as far as the rule goes
/// that redacted it. The gate writes it into its own policy folder, by the token of the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Except {
    /// The number of the redaction, as [`crate::RedactedSpan::redaction`] says it.
    pub redaction: usize,
    /// Why: one line, of at most 200 characters, in which no rule finds anything.
    pub reason: String,
    /// Who answers for it: 1 to 64 printable characters of ASCII.
    pub by: String,
    /// Its last day (`2027-03-31`), how long from today (`30d`, `2w`), or `never`. Without it, 30 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// An exception that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Excepted {
    /// The file that has it now.
    pub file: String,
    /// The rule that it is about.
    pub rule: String,
    /// The label of the finding.
    pub label: String,
    /// Its last day, or `never`.
    pub until: String,
    /// Who redacts the value all the same, in a request like this one: `rule secrets`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still: Option<String>,
}

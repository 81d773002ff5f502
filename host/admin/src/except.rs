//! Exceptions: from a redaction in a turn, and as they stand in the policy folders of a gate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Writes an exception from a redaction: the value may leave in later requests, as far as the rule goes
/// that redacted it. The gate writes it into its own policy folder, by the token of the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Except {
    /// The number of the redaction, as [`crate::RedactedSpan::redaction`] says it.
    pub redaction: usize,
    /// Why: one line, of at most 200 characters, in which no rule finds anything. It is looked at last: with
    /// an empty one nothing is written, and the error says what else stands in the way, if anything does.
    pub reason: String,
    /// Who answers for it: 1 to 64 printable characters of ASCII.
    pub by: String,
    /// Its last day (`2027-03-31`), how long from today (`30d`, `2w`), or `never`. Without it, 30 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl Except {
    /// Returns one as a person typed it. Whoever makes the call says who that is.
    pub fn typed(redaction: usize, reason: &str, until: &str) -> Except {
        Except { redaction, reason: reason.to_owned(), by: String::new(), until: Some(until.to_owned()) }
    }
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

/// The exceptions in the files of a gate's policy folders, those too that are not in force any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionList {
    /// Folder by folder, in the order of their files.
    pub exceptions: Vec<ExceptionView>,
}

/// An exception in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionView {
    /// What names it in calls: another one as soon as its table says anything else.
    pub id: String,
    /// The upstream whose own policy has it; nothing for one of the gate's policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// File and line.
    pub origin: String,
    /// The rules that it is about; all where it names none.
    pub rules: Vec<String>,
    /// Its table as TOML, with stars for what looks like a secret.
    pub table: String,
    /// Why.
    pub reason: String,
    /// Who answers for it.
    pub by: String,
    /// Its last day, or `never`.
    pub until: String,
    /// Whether that day is over.
    pub ended: bool,
}

/// Writes an exception into a policy folder of the gate.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddException {
    /// The upstream whose own policy takes it; without it the gate's policy does.
    pub upstream: Option<String>,
    /// The redact rules that it is about; all where it names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// What may leave.
    pub allows: ExceptedFinding,
    /// Why: one line, of at most 200 characters, in which no rule finds anything.
    pub reason: String,
    /// Who answers for it: 1 to 64 printable characters of ASCII.
    pub by: String,
    /// As in [`Except`].
    pub until: Option<String>,
}

/// What an exception lets leave. `Debug` prints no value.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, derive_more::Debug)]
#[serde(rename_all = "camelCase")]
pub enum ExceptedFinding {
    /// The whole of what is found. Files have it as it stands here: a token says as much and shows nothing.
    #[debug("Value")]
    Value(String),
    /// A regular expression that matches the whole of it.
    #[debug("Pattern")]
    Pattern(String),
    /// The token that stands for it: `EMAIL_k7f3q2xw9mz4ab6c`.
    #[debug("Token")]
    Token(String),
}

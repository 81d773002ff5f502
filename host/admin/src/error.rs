//! A call that failed, and the codes for why.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub struct ApiError {
    /// The code for programs.
    pub code: ErrorCode,
    /// One sentence for people, without leaf text.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ApiError {
    /// Returns the error of an answer that no gate of this version gives.
    pub fn unexpected(message: String) -> ApiError {
        let hint = format!("see whether the gate is of version {} too", env!("CARGO_PKG_VERSION"));
        ApiError { code: ErrorCode::Unexpected, message, hint: Some(hint) }
    }
}

/// Reads what a call was answered with.
///
/// # Errors
/// [`ErrorCode::Unexpected`]. The answer may hold text of a request: the error names the column and quotes nothing.
pub fn read_answer<A: DeserializeOwned>(json: &[u8]) -> Result<A, ApiError> {
    serde_json::from_slice(json).map_err(|error| {
        ApiError::unexpected(format!("the gate's answer is not understood at column {}", error.column()))
    })
}

/// Why a call failed, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// The call has no token, or another one.
    Unauthorised,
    /// Host or Origin are not the gate's own.
    ForeignOrigin,
    /// Whoever runs the gate does not allow it.
    Forbidden,
    /// There is no such path, no such turn, or no such session.
    NotFound,
    /// The path does not take this method.
    WrongMethod,
    /// The body of a POST is not labelled as JSON.
    NoJson,
    /// The body is not what the call expects.
    Malformed,
    /// The body is too large.
    TooLarge,
    /// The turn is over, or its deadline has passed.
    Over,
    /// Another turn of its session comes first.
    Queued,
    /// Its client is disconnected.
    Disconnected,
    /// The body that would leave is not the one that the person saw.
    Stale,
    /// Another change of the turn was faster.
    Conflict,
    /// A rule blocks the request as it stands.
    Blocked,
    /// The API would refuse the request as it stands.
    Invalid,
    /// There is no room for the text that an edit adds.
    Full,
    /// Undo, redo or reset found nothing to do.
    Nothing,
    /// The request does not accept the edit.
    RefusedEdit,
    /// A rule does not let a person release what it redacted.
    NotReleasable,
    /// No exception can be written from this redaction.
    NotExceptable,
    /// The gate failed.
    Internal,
    /// No gate answers. Set by callers, never by a gate.
    Unreachable,
    /// The answer does not come from a gate that speaks this API. Set by callers, never by a gate.
    Unexpected,
    /// A code of a newer gate.
    #[serde(other)]
    Unknown,
}

impl ErrorCode {
    /// Returns the HTTP status that a gate answers with.
    pub fn status(self) -> u16 {
        match self {
            ErrorCode::Malformed => 400,
            ErrorCode::Unauthorised => 401,
            ErrorCode::ForeignOrigin | ErrorCode::Forbidden | ErrorCode::NotReleasable => 403,
            ErrorCode::NotFound => 404,
            ErrorCode::WrongMethod => 405,
            ErrorCode::Over
            | ErrorCode::Queued
            | ErrorCode::Disconnected
            | ErrorCode::Stale
            | ErrorCode::Conflict
            | ErrorCode::Blocked
            | ErrorCode::Invalid => 409,
            ErrorCode::TooLarge => 413,
            ErrorCode::NoJson => 415,
            ErrorCode::Nothing | ErrorCode::RefusedEdit | ErrorCode::NotExceptable => 422,
            ErrorCode::Internal | ErrorCode::Unreachable | ErrorCode::Unexpected | ErrorCode::Unknown => 500,
            ErrorCode::Full => 507,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_a_word_and_that_of_a_newer_gate_is_read_too() {
        assert_eq!(serde_json::to_string(&ErrorCode::RefusedEdit).unwrap(), r#""refused-edit""#);
        let error: ApiError = serde_json::from_str(r#"{"code":"from-tomorrow","message":"No."}"#).unwrap();
        assert_eq!(error.code, ErrorCode::Unknown);
    }
}

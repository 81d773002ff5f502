//! What a reader keeps at most, and why it gives up.

use leafgate_tree::ParseError;

/// What a reader keeps at most of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Bytes of the answer, framing included.
    pub bytes: usize,
    /// JSON values, counted by the signs that begin one (`{`, `[`, `,`), those within strings too: a
    /// value takes many times the bytes that spell it.
    pub values: usize,
}

impl Default for AnswerLimits {
    /// What the gate keeps of an answer that it restores whole, and what the tree takes of a request.
    fn default() -> Self {
        AnswerLimits { bytes: 32 * 1024 * 1024, values: 1_000_000 }
    }
}

/// Why an answer cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It is longer than [`AnswerLimits::bytes`].
    #[error("the answer is longer than {limit} bytes (limit `bytes` of answers that are read)")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// It has more values than [`AnswerLimits::values`].
    #[error("the answer has more than {limit} JSON values (limit `values` of answers that are read)")]
    TooManyValues {
        /// The limit.
        limit: usize,
    },
    /// It is no JSON.
    #[error("the answer is no JSON (line {line}, column {column})")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// A part of it is no event, or says again something else than it said.
    #[error(
        "clients may read the answer in another way: a part of it is no event, or contradicts another one"
    )]
    Unclear,
    /// It is JSON, or a stream, and no answer of its API.
    #[error("the answer is none of {api}")]
    NoAnswer {
        /// The API.
        api: &'static str,
    },
}

impl From<ParseError> for AnswerError {
    fn from(error: ParseError) -> Self {
        AnswerError::NotJson { line: error.line, column: error.column }
    }
}

//! The tool calls of an answer, and what may become of them before a client runs them: they stay,
//! have other arguments, or are refused in words.
//!
//! Only what the client runs is a call here. What the provider runs itself (web search, hosted
//! tools) has happened already when the answer comes.
//!
//! All choices count: a client may run the calls of any.

pub(crate) mod edit;
mod stream;

pub use stream::{Gathered, Gathering, Holding};

/// Why calls or texts cannot be written into an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There are more or fewer than the answer has.
    #[error("the answer has {had} tool calls, and {given} were given")]
    Count {
        /// Those of the answer.
        had: usize,
        /// Those that were given.
        given: usize,
    },
    /// Arguments must be a JSON object.
    #[error("the arguments of tool call {at} (counted from 0) are no JSON object")]
    Arguments {
        /// Which call.
        at: usize,
    },
    /// The tool or the id of a call is fixed.
    #[error("tool call {at} (counted from 0) has another id, or another tool where it cannot be changed")]
    Fixed {
        /// Which call.
        at: usize,
    },
    /// What is signed is refused by the provider in any other form.
    #[error("a text that is signed cannot be changed")]
    Sealed,
}

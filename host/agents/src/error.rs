//! What goes wrong in a team, in the words that its document has for it.

use std::fmt;

use crate::name::AgentName;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// The file of the team is wrong.
    Configuration,
    /// Work cannot be delegated, or a report not be taken.
    Delegation,
    /// An agent called a tool that it has not.
    ToolAccess,
    /// An agent did not come to its end.
    AgentExecution,
    /// Work would go to somebody who waits for it.
    CircularDelegation,
}

impl ErrorKind {
    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Configuration => "configuration_error",
            ErrorKind::Delegation => "delegation_error",
            ErrorKind::ToolAccess => "tool_access_error",
            ErrorKind::AgentExecution => "agent_execution_error",
            ErrorKind::CircularDelegation => "circular_delegation",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error that a model reads as the result of its call, and an operator in the log. It holds
/// names of the configuration and numbers, never what a model wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct AgentError {
    /// What kind of error it is.
    pub kind: ErrorKind,
    /// The agent that it is about.
    pub agent: Option<AgentName>,
    /// What went wrong and what can be done, in a sentence or two.
    pub message: String,
}

impl AgentError {
    pub(crate) fn new(kind: ErrorKind, agent: Option<&AgentName>, message: impl Into<String>) -> Self {
        AgentError { kind, agent: agent.cloned(), message: message.into() }
    }
}

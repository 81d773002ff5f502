//! What goes wrong in a team, in the words that its document has for it.

use std::sync::Arc;

use crate::name::AgentName;

leafgate_words::words! {
    /// What kind of error it is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ErrorKind {
        /// The file of the team is wrong.
        Configuration = "configuration_error",
        /// Work cannot be delegated, or a report not be taken.
        Delegation = "delegation_error",
        /// An agent called a tool that it has not.
        ToolAccess = "tool_access_error",
        /// An agent did not come to its end.
        AgentExecution = "agent_execution_error",
        /// Work would go to somebody who waits for it.
        CircularDelegation = "circular_delegation",
    }
    /// Its word.
    pub fn as_str = 0;
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
    /// The tool that was refused: one of the client's, by the name under which it is offered, or the gate's own. Any other
    /// name is a model's text.
    pub tool: Option<Arc<str>>,
    /// What went wrong and what can be done, in a sentence or two.
    pub message: String,
}

impl AgentError {
    pub(crate) fn new(kind: ErrorKind, agent: Option<&AgentName>, message: impl Into<String>) -> Self {
        AgentError { kind, agent: agent.cloned(), tool: None, message: message.into() }
    }
}

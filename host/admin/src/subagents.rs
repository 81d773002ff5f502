//! What agents asked that others started.

use leafgate_tree::{NodeType, Role, SectionKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::turn::ShownText;

/// The latest requests of agents, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subagents {
    /// One each.
    pub requests: Vec<SubagentView>,
    /// How many came since the gate began.
    pub seen: u64,
    /// How many of them are no longer listed.
    pub trimmed: u64,
}

/// A request of an agent, as it would leave.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentView {
    /// Its number in the order of arrival, from 1.
    pub number: u64,
    /// The id of its session, opaque.
    pub session: String,
    /// `<location> · <name> · …<end of the session's id>`.
    pub label: String,
    /// What the client calls the agent, where it does.
    pub agent: Option<String>,
    /// The model that it asks.
    pub model: Option<ShownText>,
    /// Its number in the log. A gate does not know it: who reads the log beside it does.
    pub logged: Option<i64>,
    /// How it went on after the policy.
    pub verdict: SubagentVerdict,
    /// When it came, in milliseconds since the Unix epoch.
    pub at: u64,
    /// What it consists of. Long requests name their first sections.
    pub sections: Vec<SubagentSection>,
    /// All sections.
    pub total_sections: usize,
    /// Edits of rules.
    pub edits: usize,
    /// Redactions.
    pub redactions: usize,
}

/// How a request went on after the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SubagentVerdict {
    /// It was sent.
    Sent,
    /// A rule has it wait for a person.
    Held,
    /// A rule blocked it.
    Blocked,
}

/// A section of such a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentSection {
    /// What it is.
    pub node_type: NodeType,
    /// What kind of content it holds.
    pub kind: SectionKind,
    /// Whose it is.
    pub role: Role,
    /// Bytes of its texts as they would leave.
    pub bytes: usize,
    /// These texts, with tokens in the places of redacted values. Long requests have the beginning of theirs.
    #[serde(default)]
    pub text: ShownText,
}

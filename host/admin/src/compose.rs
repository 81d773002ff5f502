//! A request that a profile makes, asked for without sending it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes a request as a profile says and has the policy judge it. Nothing leaves, and nobody waits.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Compose {
    /// The body as a client would send it.
    pub body: String,
    /// The format of the body; without it, the one whose shape it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The profile; without it, the first one that is for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

/// What would leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Composed {
    /// The profile that made it.
    pub profile: String,
    /// The exact text of the body after redaction, and after all rules.
    pub body: String,
    /// What the rules say to it: `forward`, `pause` or `block`.
    pub verdict: String,
    /// What the profile did, in order.
    pub steps: Vec<ComposeStep>,
    /// Those of the steps that left out something of the client's.
    pub losses: Vec<ComposeStep>,
}

/// One thing that a profile did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComposeStep {
    /// What, as one word: `context`, `left-out-tools`.
    pub did: String,
    /// From where: a path, a member, the name of a prompt.
    pub source: String,
    /// How many bytes were put in, or how many things were changed.
    pub amount: usize,
    /// The beginning of the SHA-256 of what was put in; nothing where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

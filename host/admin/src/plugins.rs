//! How the plugins of a policy fare.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A plugin of a policy that serves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginStatus {
    /// The name that rules use.
    pub name: String,
    /// Different texts on which it failed lately.
    pub faults: usize,
    /// Why it is not asked at the moment; `None` where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<QuarantineStatus>,
}

/// A plugin that failed too often: each of its rules does what its `on_error` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuarantineStatus {
    /// What went wrong last.
    pub last_fault: String,
    /// How many seconds it has been so.
    pub seconds: u64,
    /// In how many seconds one call is let through, to see whether it answers again.
    pub probe_in_seconds: u64,
}

/// Ends the quarantine of a plugin, and forgets its faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Release {}

/// What ending a quarantine came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Released {
    /// The plugin, as it is now.
    pub plugin: PluginStatus,
    /// Whether it was in quarantine.
    pub was_quarantined: bool,
}

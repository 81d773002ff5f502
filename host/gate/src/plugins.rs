//! How the plugins of the policies that serve fare.

use leafgate_admin::{PluginStatus, QuarantineStatus, Released};
use leafgate_policy::{LoadedPlugin, Policy};

/// Returns how each plugin of a policy fares, in the order in which they were declared.
pub(crate) fn status(policy: &Policy) -> Vec<PluginStatus> {
    policy.plugins().iter().map(one).collect()
}

/// Ends the quarantine of the plugins of this name; `None` where there is none.
pub(crate) fn release<'p>(policies: impl IntoIterator<Item = &'p Policy>, name: &str) -> Option<Released> {
    let mut released: Option<Released> = None;
    let named =
        policies.into_iter().flat_map(|policy| policy.plugins()).filter(|loaded| &*loaded.name == name);
    for loaded in named {
        let was_quarantined =
            loaded.plugin.release() || released.is_some_and(|released| released.was_quarantined);
        released = Some(Released { plugin: one(loaded), was_quarantined });
    }
    if let Some(Released { was_quarantined: true, .. }) = released {
        tracing::info!(target: "leafgate::policy", plugin = name, "a person ended the quarantine of a plugin");
    }
    released
}

fn one(loaded: &LoadedPlugin) -> PluginStatus {
    let health = loaded.plugin.health();
    let quarantine = health.quarantine.map(|quarantine| QuarantineStatus {
        last_fault: quarantine.last_fault,
        seconds: quarantine.lasts.as_secs(),
        probe_in_seconds: quarantine.probe_in.as_secs(),
    });
    PluginStatus { name: loaded.name.to_string(), faults: health.faults, quarantine }
}

//! Landlock: this process, and all that it becomes and starts, connects to one port over TCP.

use anyhow::Context;
use landlock::{
    ABI, Access as _, AccessNet, CompatLevel, Compatible as _, NetPort, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, Scope,
};

/// Allows connections to this port alone.
pub(super) fn allow_only(port: u16) -> anyhow::Result<()> {
    restrict(port).context("Landlock of this system cannot restrict connections (Linux 6.7 can)")
}

fn restrict(port: u16) -> Result<(), landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessNet::ConnectTcp)?
        // What a newer system can do besides.
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessNet::ConnectSendUdp)?
        .scope(Scope::from_all(ABI::V6))?
        .create()?
        .add_rule(NetPort::new(port, AccessNet::ConnectTcp))?
        .restrict_self()?;
    Ok(())
}

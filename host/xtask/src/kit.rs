//! The program `leafgate-kit` (`tests/kit`): built together with the gate, and run for what needs a gate.

use std::process::Command;

use anyhow::Result;

use crate::paths;
use crate::run::{self, cargo, step};

/// Says what is built and for how long, and builds the gate and the kit, with cargo's progress.
pub(crate) fn build() -> Result<()> {
    step("building the gate and what shows it (the first time some 5 minutes on two cores, then seconds)");
    // One call, and of the whole workspace: features of shared dependencies are chosen once, for these programs as for each other.
    run::build(cargo().args(["build", "--workspace", "--bin", "leafgate", "--bin", "leafgate-kit"]))
}

/// Returns the kit with arguments.
pub(crate) fn kit(arguments: &[&str]) -> Command {
    let mut command = Command::new(paths::target().join("debug/leafgate-kit"));
    command.args(arguments).current_dir(paths::root());
    command
}

//! The program `leafgate-kit` (`tests/kit`): built together with the gate, and run for what needs a gate.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::paths;
use crate::run::{self, cargo, step};

/// Says what is built and for how long, and builds the gate and the kit, with cargo's progress.
pub(crate) fn build() -> Result<()> {
    step("building the gate and what shows it (the first time some 5 minutes on two cores, then seconds)");
    // One call, and of the whole workspace: features of shared dependencies are chosen once, for these programs as for each other.
    build_beside_plugins(cargo().args(["build", "--workspace", "--bin", "leafgate", "--bin", "leafgate-kit"]))
}

/// Runs a build, and one of a plugin in what that leaves idle: each ends with a long chain of crates, and so the two chains overlap.
/// What all plugins stand on is there afterwards. Where it cannot be built, the kit says so: it builds plugins next.
/// Compilers of a cargo that is killed end by themselves.
pub(crate) fn build_beside_plugins(build: &mut Command) -> Result<()> {
    let mut plugin = cargo();
    plugin.args(["build", "--quiet", "--profile", "plugin", "--target", "wasm32-unknown-unknown"]);
    plugin.args(["--package", "redact-names", "--target-dir"]).arg(paths::target().join("plugins"));
    // As the kit builds them.
    plugin.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let beside = run::idle(&plugin).stderr(Stdio::null()).spawn();
    let built = run::build(build);
    if let Ok(mut beside) = beside {
        if built.is_err() {
            drop(beside.kill());
        }
        drop(beside.wait());
    }
    built
}

/// Returns the kit with arguments.
pub(crate) fn kit(arguments: &[&str]) -> Command {
    let mut command = Command::new(paths::target().join("debug/leafgate-kit"));
    command.args(arguments).current_dir(paths::root());
    command
}

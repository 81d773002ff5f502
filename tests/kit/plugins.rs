//! `cargo xtask plugins`: builds the bundled plugins, assembles the hostile ones.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};
use leafgate_tests::{paths, plugins};

use crate::run::step;

/// Builds all plugins of this repository, and puts those that the example policies name beside them.
pub(crate) fn all() -> Result<()> {
    in_examples()?;
    step(&format!("building the plugins {}", plugins::BUNDLED.join(", ")));
    plugins::build(&plugins::BUNDLED)?;
    Ok(())
}

/// Builds what the example policies name, and puts it beside them.
pub(crate) fn in_examples() -> Result<()> {
    add_target()?;
    step(&format!("building the plugins {}", plugins::IN_DEMO.join(", ")));
    plugins::install(&demo_policy())?;
    step("assembling the plugin that loops for ever");
    let folder = looping_policy().join("plugins");
    std::fs::create_dir_all(&folder)?;
    plugins::hostile("loops-for-ever", &folder.join("loops-for-ever.wasm"))
}

/// The policy of the demo.
pub(crate) fn demo_policy() -> PathBuf {
    paths::example("policies/demo")
}

/// The policy of the demo's second half.
pub(crate) fn looping_policy() -> PathBuf {
    paths::example("hostile-plugins/policy")
}

/// Adds the target of plugins where the toolchain has not got it yet.
fn add_target() -> Result<()> {
    if has_target() {
        return Ok(());
    }
    step(&format!("adding the target {}", plugins::TARGET));
    let added =
        Command::new("rustup").args(["target", "add", plugins::TARGET]).current_dir(paths::root()).status();
    if !added.is_ok_and(|status| status.success()) || !has_target() {
        bail!("the toolchain has no target {}, and `rustup target add {0}` does not add it", plugins::TARGET);
    }
    Ok(())
}

/// Whether the compiler finds a standard library for the target.
fn has_target() -> bool {
    let libdir = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", plugins::TARGET])
        .current_dir(paths::root())
        .output();
    libdir.is_ok_and(|output| {
        let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        output.status.success() && folder.read_dir().is_ok_and(|mut files| files.next().is_some())
    })
}

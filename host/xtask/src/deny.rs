//! `cargo xtask deny`: what is known of the dependencies, by cargo-deny. `.ci/run` does not call it: building it takes as long as a
//! third of the gate, and a new advisory is no fault of a change.

use anyhow::Result;

use crate::run::{cargo, installed, run};

/// Asks, with the advisories of today.
pub(crate) fn deny() -> Result<()> {
    let folder = installed("cargo-deny", "0.20.2", &[])?;
    let mut path = folder.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    run(cargo().args(["deny", "--locked", "check"]).env("PATH", path))
}

//! `cargo xtask deny`: what is known of the dependencies, by cargo-deny. `.ci/run` leaves advisories out: they are fetched, and a new one
//! is no fault of a change.

use anyhow::Result;

use crate::run::{cargo, installed, run};

/// Makes the checks, or all without one; advisories are those of today.
pub(crate) fn deny(checks: &[&str]) -> Result<()> {
    let folder = installed("cargo-deny", "0.20.2", &[])?;
    let mut path = folder.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    run(cargo().args(["deny", "--locked", "check"]).args(checks).env("PATH", path))
}

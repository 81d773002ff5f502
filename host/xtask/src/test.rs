//! `cargo xtask test`: everything that must hold before a change is merged.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use leafgate_tests::{gate, paths};

use crate::counts::counted;
use crate::run::{cargo, run, step};
use crate::{clients, plugins, soak};

/// Cases of each property when there is time.
const SOAK_CASES: &str = "4096";

/// Runs all tests and closes with how many there were.
pub(crate) fn test(long: bool) -> Result<()> {
    let start = Instant::now();
    plugins::plugins()?;
    let binary = build()?;
    gate::is_built(binary.clone());
    step("running the tests of all crates");
    let mut tests = cargo();
    tests.args(["test", "--workspace"]).env("LEAFGATE_BIN", &binary);
    if long {
        tests.env("PROPTEST_CASES", SOAK_CASES);
    }
    let rust = counted(&mut tests)?;
    let clients = clients::test(long)?;
    if long {
        soak::soak()?;
    }
    println!(
        "\nxtask: {} tests passed, {} failed, {} ignored; {clients}; {} s",
        rust.passed,
        rust.failed,
        rust.ignored,
        start.elapsed().as_secs()
    );
    Ok(())
}

/// Builds tests and binary in one call: two calls would choose the features of shared dependencies twice, and build some twice.
fn build() -> Result<PathBuf> {
    step("building the gate and all tests");
    run(cargo().args(["test", "--workspace", "--no-run", "--quiet"]))?;
    Ok(paths::target().join("debug/leafgate"))
}

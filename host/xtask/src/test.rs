//! `cargo xtask test`: everything that must hold before a change is merged.

use std::time::Instant;

use anyhow::Result;

use crate::counts::counted;
use crate::run::{cargo, run, step};
use crate::{clients, invariants, kit, paths};

/// Cases of each property when there is time.
const SOAK_CASES: &str = "4096";

/// Runs all tests and closes with how many there were.
pub(crate) fn test(long: bool) -> Result<()> {
    let start = Instant::now();
    invariants::check()?;
    step("building the gate and all tests (the first time up to 12 minutes on two cores)");
    // Tests and programs in one call: two calls would choose the features of shared dependencies twice, and build some twice.
    run(cargo().args(["test", "--workspace", "--no-run"]))?;
    run(&mut kit::kit(&["plugins"]))?;
    step("running the tests of all crates");
    let mut tests = cargo();
    tests.args(["test", "--workspace"]).env("LEAFGATE_BIN", paths::target().join("debug/leafgate"));
    if long {
        tests.env("PROPTEST_CASES", SOAK_CASES);
    }
    let rust = counted(&mut tests)?;
    let clients = clients::test(long)?;
    if long {
        run(&mut kit::kit(&["soak"]))?;
    }
    println!(
        "\nxtask: {} tests passed, {} failed, {} ignored; {}; {} s",
        rust.passed,
        rust.failed,
        rust.ignored,
        clients::shown(&clients),
        start.elapsed().as_secs()
    );
    Ok(())
}

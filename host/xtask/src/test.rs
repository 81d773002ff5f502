//! `cargo xtask test`: everything that must hold before a change is merged.

use std::time::Instant;

use anyhow::Result;

use crate::counts::counted;
use crate::ran::Ran;
use crate::run::{cargo, run, step};
use crate::{clients, invariants, kit, package, paths, requirements, sources};

/// Cases of each property when there is time.
const SOAK_CASES: &str = "4096";

/// How many cases of each property may be thrown away then: in the same proportion as otherwise.
const SOAK_REJECTS: &str = "16384";

/// Runs all tests and closes with how many there were.
pub(crate) fn test(long: bool) -> Result<()> {
    let start = Instant::now();
    let all = sources::tests()?;
    invariants::of(&all)?;
    let requirements = requirements::check(&all)?;
    step("building the gate and all tests (the first time up to 10 minutes on two cores)");
    // Tests and programs in one call: two calls would choose the features of shared dependencies twice, and build some twice.
    kit::build_beside_plugins(cargo().args(["test", "--workspace", "--no-run"]))?;
    run(&mut kit::kit(&["plugins"]))?;
    step("running the tests of all crates");
    let mut tests = cargo();
    tests
        // All of them: what fails later would come out one run at a time.
        .args(["test", "--workspace", "--no-fail-fast"])
        .env("LEAFGATE_BIN", paths::target().join("debug/leafgate"));
    if long {
        tests.env("PROPTEST_CASES", SOAK_CASES).env("PROPTEST_MAX_GLOBAL_REJECTS", SOAK_REJECTS);
        // Processes are killed more often.
        tests.env("LEAFGATE_SOAK", "1");
    }
    let mut ran = Ran::default();
    let rust = counted(&mut tests, &mut |line| ran.hear(line))?;
    let clients = clients::test(long, &mut ran)?;
    if long {
        run(&mut kit::kit(&["soak"]))?;
        if cfg!(target_os = "linux") {
            package::twice()?;
        }
    }
    requirements.all_ran(&ran)?;
    println!("\nxtask: {}", requirements.counted());
    println!(
        "xtask: {} tests passed, {} failed, {} ignored; {}; {} s",
        rust.passed,
        rust.failed,
        rust.ignored,
        clients::shown(&clients),
        start.elapsed().as_secs()
    );
    Ok(())
}

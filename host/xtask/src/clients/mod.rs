//! Tests with real client libraries, unmodified but for their base URL: [`python`] and [`node`], each in an environment below `target/`.
//!
//! Scripts in `tests/clients/` hold what a library must see; gates, upstream and person are a [`Stage`] of ours. A language that is not
//! installed is skipped with a line that says so, and in CI fails the run.

mod node;
mod python;

use std::process::Command;

use anyhow::{Context as _, Result};
use leafgate_tests::in_ci;
use leafgate_tests::stage::Stage;

use crate::counts::counted;
use crate::run::step;

/// For how many seconds a request is held in the soak: as long as a person may well take.
const SOAK_HOLD: &str = "60";

/// What came of the client tests.
pub(crate) struct Outcome {
    passed: usize,
    skipped: Vec<&'static str>,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} client tests passed", self.passed)?;
        self.skipped.iter().try_for_each(|language| write!(f, ", {language} skipped"))
    }
}

/// A language's tests, ready to run; an error where the language is missing.
type Prepare = fn() -> Result<Command>;

const LANGUAGES: [(&str, Prepare); 2] = [("Python", python::tests), ("Node", node::tests)];

/// Runs them alone.
pub(crate) fn clients() -> Result<()> {
    println!("\nxtask: {}", test(false)?);
    Ok(())
}

/// Runs the client tests of every language that is there.
pub(crate) fn test(long: bool) -> Result<Outcome> {
    let mut outcome = Outcome { passed: 0, skipped: Vec::new() };
    for (language, prepare) in LANGUAGES {
        match prepare() {
            Ok(mut tests) => outcome.passed += run(language, &mut tests, long)?,
            Err(why) if in_ci() => return Err(why).context("the client tests must run in CI"),
            Err(why) => {
                step(&format!("skipped the client tests in {language}: {why:#}"));
                outcome.skipped.push(language);
            }
        }
    }
    Ok(outcome)
}

/// Every language has a stage of its own: no session of one is known to the other's gates.
fn run(language: &str, tests: &mut Command, long: bool) -> Result<usize> {
    step(&format!("running the client tests in {language}"));
    let stage = Stage::open()?;
    let (variable, addresses) = stage.variable();
    tests.env(variable, addresses);
    if long {
        tests.env("LEAFGATE_HOLD", SOAK_HOLD);
    }
    Ok(counted(tests)?.passed)
}

//! Tests with real client libraries, unmodified but for their base URL, with coding agents that `leafgate exec` starts, and with VS Code:
//! [`python`], [`node`] and [`editors`], each in an environment below `target/`.
//!
//! Scripts in `tests/clients/` hold what a library must see; gates, upstream and person are a [`Stage`] of ours. A language that is not
//! installed is skipped with a line that says so, and in CI fails the run.

mod editors;
mod node;
mod python;

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use leafgate_tests::in_ci;
use leafgate_tests::stage::Stage;

use crate::run::{run, step};

/// For how many seconds a request is held in the soak: as long as a person may well take.
const SOAK_HOLD: &str = "120";

/// Runs the client tests of a language, if it is there.
pub(crate) fn test(language: &str, long: bool) -> Result<()> {
    let prepared = match language {
        "Python" => python::tests(),
        "Node" => node::tests(),
        "Agents" => node::agents(),
        "Editors" => editors::tests(),
        _ => bail!("no client tests in {language}"),
    };
    match prepared {
        Ok(mut tests) => play(language, &mut tests, long),
        Err(why) if in_ci() => Err(why).context("the client tests must run in CI"),
        Err(why) => {
            step(&format!("skipped the client tests in {language}: {why:#}"));
            Ok(())
        }
    }
}

/// Every language has a stage of its own: no session of one is known to the other's gates.
fn play(language: &str, tests: &mut Command, long: bool) -> Result<()> {
    step(&format!("running the client tests in {language}"));
    let stage = match language {
        "Editors" => Stage::for_editors()?,
        _ => Stage::open()?,
    };
    let (variable, addresses) = stage.variable();
    tests.env(variable, addresses);
    if long {
        tests.env("LEAFGATE_HOLD", SOAK_HOLD);
    }
    run(tests)
}

//! `cargo xtask clients`: the tests with real client libraries, counted. `cargo xtask editors`: those with VS Code.

use anyhow::Result;

use crate::counts::{Counts, counted};
use crate::kit;
use crate::ran::Ran;

/// The languages that there are scripts in, and the agents that Node installs.
const LANGUAGES: [&str; 3] = ["Python", "Node", "Agents"];

/// What is as large as a browser, and so no part of `cargo xtask test`.
const EDITORS: [&str; 1] = ["Editors"];

/// Runs them alone.
pub(crate) fn clients() -> Result<()> {
    kit::build()?;
    println!("\nxtask: {}", shown(&test(false, &mut Ran::default())?));
    Ok(())
}

/// Runs the tests with VS Code. The first time installs it and a browser below the target folder.
pub(crate) fn editors() -> Result<()> {
    kit::build()?;
    println!("\nxtask: {}", shown(&tests(&EDITORS, false, &mut Ran::default())?));
    Ok(())
}

/// Runs the client tests of every language that is there.
pub(crate) fn test(long: bool, ran: &mut Ran) -> Result<Counts> {
    tests(&LANGUAGES, long, ran)
}

fn tests(languages: &[&str], long: bool, ran: &mut Ran) -> Result<Counts> {
    let mut all = Counts::default();
    for language in languages {
        let arguments = ["clients", language, "--long"];
        let counts =
            counted(&mut kit::kit(&arguments[..if long { 3 } else { 2 }]), &mut |line| ran.hear(line))?;
        counts.skipped.iter().for_each(|language| ran.skip(language));
        all.add(&counts);
    }
    Ok(all)
}

/// Says what came of them.
pub(crate) fn shown(counts: &Counts) -> String {
    let skipped: String = counts.skipped.iter().map(|language| format!(", {language} skipped")).collect();
    format!("{} client tests passed{skipped}", counts.passed)
}

//! `cargo xtask clients`: the tests with real client libraries, counted.

use anyhow::Result;

use crate::counts::{Counts, counted};
use crate::kit;

/// The languages that there are scripts in.
const LANGUAGES: [&str; 2] = ["Python", "Node"];

/// Runs them alone.
pub(crate) fn clients() -> Result<()> {
    kit::build()?;
    println!("\nxtask: {}", shown(&test(false)?));
    Ok(())
}

/// Runs the client tests of every language that is there.
pub(crate) fn test(long: bool) -> Result<Counts> {
    let mut all = Counts::default();
    for language in LANGUAGES {
        let arguments = ["clients", language, "--long"];
        all.add(&counted(&mut kit::kit(&arguments[..if long { 3 } else { 2 }]))?);
    }
    Ok(all)
}

/// Says what came of them.
pub(crate) fn shown(counts: &Counts) -> String {
    let skipped: String = counts.skipped.iter().map(|language| format!(", {language} skipped")).collect();
    format!("{} client tests passed{skipped}", counts.passed)
}

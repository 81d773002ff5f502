//! `cargo xtask clients`: the tests with real client libraries, counted.

use anyhow::Result;

use crate::counts::{Counts, counted};
use crate::kit;
use crate::ran::Ran;

/// The languages that there are scripts in, and the agents that Node installs.
const LANGUAGES: [&str; 3] = ["Python", "Node", "Agents"];

/// Runs them alone.
pub(crate) fn clients() -> Result<()> {
    kit::build()?;
    println!("\nxtask: {}", shown(&test(false, &mut Ran::default())?));
    Ok(())
}

/// Runs the client tests of every language that is there.
pub(crate) fn test(long: bool, ran: &mut Ran) -> Result<Counts> {
    let mut all = Counts::default();
    for language in LANGUAGES {
        let arguments = ["clients", language, "--long"];
        let (counts, _) = counted(&mut kit::kit(&arguments[..if long { 3 } else { 2 }]), &mut |line| {
            ran.hear_client(language, line);
        })?;
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

//! Running other programs from the root of the repository.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

/// Prints a line that says what happens next.
pub(crate) fn step(what: &str) {
    println!("kit: {what}");
}

/// Runs a program to its end, with this one's output.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("`{program}` cannot be run"))?;
    ensure!(status.success(), "`{program}` failed ({status})");
    Ok(())
}

/// The longest time but for one in a hundred.
pub(crate) fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) * 99 / 100).copied().unwrap_or_default()
}

//! `cargo xtask demo`: what the gate does, told in a minute and checked at every step.
//!
//! First act: a coding agent's request passes; rules and plugins edit it; the answer comes back with the real values. Second act: a
//! plugin that never returns is stopped, its request is blocked, and the next one does not notice. Third: a request waits, is edited,
//! undone and let go. Fourth: the policy changes on disk while the gate runs.

mod diff;
mod looping;
mod passing;
mod pause;
mod reload;
mod stage;

use anyhow::Result;

use crate::plugins;
use stage::Stage;

/// Tells the story; fails at the first step that differs from what it says.
pub(crate) fn demo() -> Result<()> {
    plugins::plugins()?;
    let start = std::time::Instant::now();
    let mut stage = Stage::set()?;
    passing::play(&mut stage)?;
    looping::play(&mut stage)?;
    pause::play(&mut stage)?;
    reload::play(&mut stage)?;
    println!(
        "\nAll {} checks held, in {:.1} s after the build.",
        stage.checks(),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

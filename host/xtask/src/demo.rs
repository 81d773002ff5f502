//! `cargo xtask demo`: builds, and has the kit tell the story.

use std::time::Instant;

use anyhow::Result;

use crate::kit;
use crate::run::run;

const PLAN: &str = "\
xtask: this builds the gate, builds three plugins as their authors would, and then shows in a minute what the gate does, with a check
       at every step. It needs no key, and nothing leaves this machine but the download of crates. On a fresh clone the builds take
       about 6 minutes on two cores, later seconds.";

/// Runs it.
pub(crate) fn demo() -> Result<()> {
    let start = Instant::now();
    println!("{PLAN}");
    kit::build()?;
    run(&mut kit::kit(&["demo"]))?;
    println!("xtask: {} s in all", start.elapsed().as_secs());
    Ok(())
}

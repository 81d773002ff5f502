//! `cargo xtask bench`: builds with optimisation and runs `tests/benches/cost`.

use anyhow::Result;

use crate::run::{cargo, run, step};
use crate::{kit, paths};

/// Measures all or the named parts, prints tables, and leaves the figures in `target/bench.json`.
pub(crate) fn bench(parts: &[&str]) -> Result<()> {
    kit::build()?;
    run(&mut kit::kit(&["plugins"]))?;
    step("building the gate with optimisation");
    run(cargo().args(["build", "--release", "--workspace", "--bin", "leafgate"]))?;
    step("measuring; other load on this machine spoils the figures\n");
    let figures = paths::target().join("bench.json");
    run(cargo()
        .args(["bench", "--quiet", "--workspace", "--bench", "cost", "--"])
        .arg(&figures)
        .args(parts)
        .env("LEAFGATE_BIN", paths::target().join("release/leafgate")))
}

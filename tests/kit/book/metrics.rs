//! What Prometheus reads from a gate, by the words of the gate itself.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use leafgate_tests::admin::Admin;
use leafgate_tests::gate::Gate;

use super::cell;

/// Writes the chapter.
pub(crate) fn chapter() -> Result<String> {
    let gate = Gate::start(&["--upstream", "echo:", "--policy", "default"])?;
    let exposition = Admin::of(&gate)?.metrics()?;
    let kinds: BTreeMap<&str, &str> =
        exposition.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let mut chapter = String::from("# Metrics\n\n| metric | kind | what it counts |\n|---|---|---|\n");
    for line in exposition.lines() {
        let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|line| line.split_once(' ')) else {
            continue;
        };
        let kind = kinds.get(name).with_context(|| format!("{name} has no kind"))?;
        chapter.push_str(&format!("| `{name}` | {kind} | {} |\n", cell(help)));
    }
    Ok(chapter)
}

//! The long run of `cargo xtask test --soak`: twenty thousand requests on many connections, five times as many streamed ones and their
//! log, many turns that wait at once, many runs of a team, plugins that attack, and a thousand reloads under traffic, with the gate's
//! memory watched.

use anyhow::{Context as _, Result, ensure};
use leafgate_tests::gate::Gate;
use leafgate_tests::{plant, reloads, sample};

use crate::hostile::hostile;
use crate::load::Load;
use crate::plugins::demo_policy;
use crate::run::step;
use crate::streams::streams;
use crate::teams::teams;
use crate::turns::turns;

const REQUESTS: usize = 20_000;
const CONNECTIONS: usize = 8;

/// How often the policy changes while requests flow.
const RELOADS: usize = 1_000;

/// All of it.
pub(crate) fn soak() -> Result<()> {
    requests()?;
    streams()?;
    turns()?;
    teams()?;
    hostile()?;
    reload()
}

/// Changes the policy and watches.
fn reload() -> Result<()> {
    step(&format!("changing the policy {RELOADS} times under steady traffic"));
    let seen = reloads::under_traffic(RELOADS)?;
    let memory = seen.memory.map_or_else(
        || "this system does not tell how much memory".to_owned(),
        |(before, after)| format!("{} MiB after a fifth, {} MiB at the end", before / 1024, after / 1024),
    );
    step(&format!(
        "{} reloads, {} requests, none failed, judged by {} generations, each by one; {memory}",
        seen.reloads, seen.requests, seen.generations
    ));
    Ok(())
}

/// Sends chats of many sessions and sizes, each of which must come back as it was sent.
fn requests() -> Result<()> {
    step(&format!("sending {REQUESTS} requests over {CONNECTIONS} connections"));
    let gate = Gate::of(&demo_policy())?;
    let load = Load { requests: REQUESTS, connections: CONNECTIONS };
    load.stays_level(&gate, |client, number| {
        let text =
            format!("{number}: {} {}", plant::github(number as u64), "and so on ".repeat(number % 700));
        let answer = client.chat(&sample::chat(&text))?;
        ensure!(answer.status() == 200, "request {number} got `{}`", answer.start);
        let said: serde_json::Value =
            serde_json::from_str(&answer.said()?).context("the echo is not JSON")?;
        ensure!(said["messages"][0]["content"] == *text, "request {number} came back changed");
        Ok(())
    })
}

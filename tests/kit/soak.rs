//! The long run of `cargo xtask test --soak`: twenty thousand requests on many connections, five times as many streamed ones and their
//! log, many turns that wait at once, many runs of a team, plugins that attack, and a thousand reloads under traffic, with the gate's
//! memory watched.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use leafgate_tests::gate::Gate;
use leafgate_tests::{plant, reloads, sample};

use crate::hostile::hostile;
use crate::plugins::demo_policy;
use crate::run::step;
use crate::streams::streams;
use crate::teams::teams;
use crate::turns::turns;

const REQUESTS: usize = 20_000;
const CONNECTIONS: usize = 8;

/// After this share of the requests caches and pools have their size; from then on memory may grow by no more than [`GROWTH`].
const SETTLED: usize = REQUESTS / 4;

/// What a thousand remembered sessions and the allocator's own habits may take, in KiB. A leak of one body per request is ten times that.
const GROWTH: usize = 64 * 1024;

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

/// Sends the requests and watches.
fn requests() -> Result<()> {
    step(&format!("sending {REQUESTS} requests over {CONNECTIONS} connections"));
    let policy = demo_policy();
    let gate = Gate::of(&policy)?;
    let (sent, settled) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..CONNECTIONS).map(|_| scope.spawn(|| talk(&gate, &sent, &settled))).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().map_err(|_| anyhow::anyhow!("a connection's thread panicked"))?
        })
    })?;
    let (before, after) = (settled.load(Ordering::Relaxed), gate.memory()?);
    let (Some(after), true) = (after, before > 0) else {
        step("this system does not tell how much memory a process has; its growth was not checked");
        return Ok(());
    };
    step(&format!(
        "the gate had {} MiB after {SETTLED} requests and {} MiB after {REQUESTS}",
        before / 1024,
        after / 1024
    ));
    ensure!(after < before + GROWTH, "the gate's memory grew from {before} to {after} KiB");
    Ok(())
}

/// One connection: chats of many sessions and sizes, each of which must come back as it was sent.
fn talk(gate: &Gate, sent: &AtomicUsize, settled: &AtomicUsize) -> Result<()> {
    let mut client = gate.client()?;
    loop {
        let number = sent.fetch_add(1, Ordering::Relaxed);
        if number >= REQUESTS {
            return Ok(());
        }
        if number == SETTLED {
            settled.store(gate.memory()?.unwrap_or(0), Ordering::Relaxed);
        }
        let text =
            format!("{number}: {} {}", plant::github(number as u64), "and so on ".repeat(number % 700));
        let answer = client.chat(&sample::chat(&text))?;
        ensure!(answer.status() == 200, "request {number} got `{}`", answer.start);
        let said: serde_json::Value =
            serde_json::from_str(&answer.said()?).context("the echo is not JSON")?;
        ensure!(said["messages"][0]["content"] == *text, "request {number} came back changed");
    }
}

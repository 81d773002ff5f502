//! The long run of `cargo xtask test --soak`: twenty thousand requests on many connections, with the gate's memory watched.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use leafgate_tests::gate::Gate;
use leafgate_tests::{plant, sample};

use crate::plugins::demo_policy;
use crate::run::step;

const REQUESTS: usize = 20_000;
const CONNECTIONS: usize = 8;

/// After this share of the requests caches and pools have their size; from then on memory may grow by no more than [`GROWTH`].
const SETTLED: usize = REQUESTS / 4;

/// What a thousand remembered sessions and the allocator's own habits may take, in KiB. A leak of one body per request is ten times that.
const GROWTH: usize = 64 * 1024;

/// Sends the requests and watches.
pub(crate) fn soak() -> Result<()> {
    step(&format!("sending {REQUESTS} requests over {CONNECTIONS} connections"));
    let policy = demo_policy();
    let gate =
        Gate::start(&["--policy".as_ref(), policy.as_os_str(), "--upstream".as_ref(), "echo:".as_ref()])?;
    let (sent, settled) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..CONNECTIONS).map(|_| scope.spawn(|| talk(&gate, &sent, &settled))).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().map_err(|_| anyhow::anyhow!("a connection's thread panicked"))?
        })
    })?;
    let (before, after) = (settled.load(Ordering::Relaxed), memory(gate.pid())?);
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
            settled.store(memory(gate.pid())?.unwrap_or(0), Ordering::Relaxed);
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

/// Resident memory of a process in KiB, where the system tells.
fn memory(pid: u32) -> Result<Option<usize>> {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { return Ok(None) };
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.split_whitespace().next().and_then(|size| size.parse().ok()))
}

//! Many requests at a time, and the memory of the gate that serves them.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, anyhow, ensure};
use leafgate_tests::gate::Gate;
use leafgate_tests::http::Client;

use crate::run::step;

/// What a thousand remembered sessions and the allocator's own habits may take, in KiB. A leak of one body per request is ten times that.
const GROWTH: usize = 64 * 1024;

/// So many requests over so many connections.
pub(crate) struct Load {
    pub(crate) requests: usize,
    pub(crate) connections: usize,
}

impl Load {
    /// Has `send` send each request, by its number, and fails where the gate's memory grows by more than [`GROWTH`] once a quarter was
    /// sent: caches, pools and queues have their size then.
    pub(crate) fn stays_level(
        &self,
        gate: &Gate,
        send: impl Fn(&mut Client, usize) -> Result<()> + Sync,
    ) -> Result<()> {
        let (sent, settled) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let quarter = self.requests / 4;
        let talk = || {
            let mut client = gate.client()?;
            loop {
                let number = sent.fetch_add(1, Ordering::Relaxed);
                if number >= self.requests {
                    return Ok(());
                }
                if number == quarter {
                    settled.store(gate.memory()?.unwrap_or(0), Ordering::Relaxed);
                }
                send(&mut client, number)?;
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.connections).map(|_| scope.spawn(talk)).collect();
            let join = |worker: std::thread::ScopedJoinHandle<'_, Result<()>>| {
                worker.join().map_err(|_| anyhow!("a connection's thread panicked"))?
            };
            workers.into_iter().try_for_each(join)
        })?;
        let (before, after) = (settled.load(Ordering::Relaxed), gate.memory()?);
        let (Some(after), true) = (after, before > 0) else {
            step("this system does not tell how much memory a process has; its growth was not checked");
            return Ok(());
        };
        let (shown, end) = (before / 1024, after / 1024);
        step(&format!(
            "the gate had {shown} MiB after {quarter} requests and {end} MiB after {}",
            self.requests
        ));
        ensure!(after < before + GROWTH, "the gate's memory grew from {before} to {after} KiB");
        Ok(())
    }
}

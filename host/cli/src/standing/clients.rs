//! The programs behind the standing gate. Each `exec` holds a shared lock of one file as long as its
//! program runs, so one that is killed lets go of it too. Who holds it alone knows that there is none.
//!
//! It is taken, shared or alone, under the lock of the standing gate: a gate that ends because it is idle
//! keeps both until its process is gone, and who comes meanwhile starts the next one.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use leafgate_gate::Gate;

use super::Standing;
use crate::private;
use crate::stop::Stop;

const FILE: &str = "standing.clients";

/// How often a gate that must stay looks whether it still must.
const STAYING: Duration = Duration::from_secs(60);

/// A program is behind the gate as long as this is kept.
pub(crate) struct ClientsBehind {
    _lock: File,
}

impl ClientsBehind {
    pub(super) fn join(data: &Path) -> anyhow::Result<ClientsBehind> {
        let file = open(data)?;
        file.lock_shared().with_context(|| cannot(data))?;
        Ok(ClientsBehind { _lock: file })
    }
}

/// Returns whether some program is behind the gate.
pub(super) fn are_there(data: &Path) -> anyhow::Result<bool> {
    let file = open(data)?;
    let is_held = || file.try_lock().is_err();
    if !is_held() {
        return Ok(false);
    }
    // A gate that waits for the end of the last one holds it for a moment, alone.
    file.lock_shared().and_then(|()| file.unlock()).with_context(|| cannot(data))?;
    Ok(is_held())
}

fn open(data: &Path) -> anyhow::Result<File> {
    private::lock_file(data, FILE).with_context(|| cannot(data))
}

fn cannot(data: &Path) -> String {
    format!("the lock {} cannot be had", data.join(FILE).display())
}

/// Has the gate of this process end when it has been idle for a time, and nothing wants it to stay.
pub(super) fn end_when_idle(data: &Path, gate: Gate, stop: Stop, grace: Duration) -> anyhow::Result<()> {
    let (clients, data) = (open(data)?, data.to_owned());
    std::thread::Builder::new().name("idle".to_owned()).spawn(move || {
        if let Err(error) = wait_and_end(&data, &clients, &gate, &stop, grace) {
            tracing::warn!(target: "leafgate::standing", "the gate goes on when nobody needs it: {error:#}");
        }
    })?;
    Ok(())
}

fn wait_and_end(
    data: &Path,
    clients: &File,
    gate: &Gate,
    stop: &Stop,
    grace: Duration,
) -> anyhow::Result<()> {
    loop {
        // Waits for the end of the last one.
        clients.lock()?;
        clients.unlock()?;
        let before = gate.status().requests;
        std::thread::sleep(grace);
        let status = gate.status();
        if status.in_flight > 0 || status.requests != before {
            continue;
        }
        let standing = Standing::lock_in(data)?;
        if clients.try_lock().is_err() {
            continue;
        }
        if standing.stays()? {
            clients.unlock()?;
            drop(standing);
            std::thread::sleep(STAYING);
            continue;
        }
        stop.request();
        loop {
            // Both locks go with the process.
            std::thread::park();
        }
    }
}

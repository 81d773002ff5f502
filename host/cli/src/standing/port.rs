//! The port of the standing gate: the one that the settings name, else the one where it stood last,
//! else the usual one where it is free.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use leafgate_config::{SettingSource, Settings};
use leafgate_http::listen_address;

use crate::print::Printer;

/// For how long a gate may hold its port after its end.
const MOMENT: Duration = Duration::from_secs(1);

/// Where it will listen.
pub(super) struct PortChoice {
    pub(super) address: SocketAddr,
    /// Why it is another place than expected.
    pub(super) moved: Option<String>,
}

impl PortChoice {
    /// Says that the gate stands elsewhere than before, if it does.
    pub(super) fn tell(&self, listen: &str, printer: &mut Printer) {
        if let Some(why) = &self.moved {
            printer.error_line(&format!("leafgate: {why}: the gate stands at {listen} from now on"));
        }
    }
}

/// Chooses the place. Where no editor leads to the last one, the gate may move.
///
/// # Errors
/// When another program has the port that editors lead to.
pub(super) fn choose(settings: &Settings, last: Option<u16>, may_move: bool) -> anyhow::Result<PortChoice> {
    let configured = listen_address(settings.text("listen").unwrap_or_default())
        .with_context(|| format!("the setting `listen` is wrong ({})", settings.source("listen")))?;
    let is_fixed = settings.source("listen") != SettingSource::Default && configured.port() != 0;
    let mut address = configured;
    if let Some(last) = last.filter(|_| !is_fixed) {
        address.set_port(last);
    }
    if address.port() == 0 || is_free(address)? {
        return Ok(PortChoice { address, moved: None });
    }
    let taken = format!("another program listens on {address}");
    if is_fixed {
        bail!(
            "{taken}, which the setting `listen` names ({}): end it, or set another port",
            settings.source("listen")
        );
    }
    if last.is_some() && !may_move {
        bail!(
            "{taken}, where the gate stood last: what editors send now goes to that program. End it, or have `leafgate vscode on` lead the editors to another port"
        );
    }
    address.set_port(0);
    Ok(PortChoice { address, moved: Some(taken) })
}

/// Whether an address can be listened on, now or in a moment: of a gate that ends, the system lets go its lock before its sockets,
/// and nothing tells of these.
fn is_free(address: SocketAddr) -> anyhow::Result<bool> {
    let asked = Instant::now();
    loop {
        match TcpListener::bind(address) {
            Ok(_) => return Ok(true),
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                return Err(error).with_context(|| format!("nothing can listen on {address}"));
            }
            Err(_) if asked.elapsed() > MOMENT => return Ok(false),
            Err(_) => thread::sleep(MOMENT / 20),
        }
    }
}

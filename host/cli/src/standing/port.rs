//! The port of the standing gate: the one that the settings name, else the one where it stood last,
//! else the usual one where it is free.

use std::io;
use std::net::{SocketAddr, TcpListener};

use anyhow::{Context, bail};
use leafgate_config::{Settings, Source};
use leafgate_gate::listen_address;

use super::MayMove;

/// Where it will listen.
pub(super) struct Place {
    pub(super) address: SocketAddr,
    /// Why it is another place than expected.
    pub(super) moved: Option<String>,
}

/// Chooses the place.
///
/// # Errors
/// When another program has the port that editors lead to.
pub(super) fn choose(settings: &Settings, last: Option<u16>, may_move: MayMove) -> anyhow::Result<Place> {
    let configured = listen_address(settings.text("listen").unwrap_or_default())
        .with_context(|| format!("the setting `listen` is wrong ({})", settings.source("listen")))?;
    let is_fixed = settings.source("listen") != Source::Default && configured.port() != 0;
    let mut address = configured;
    if let Some(last) = last.filter(|_| !is_fixed) {
        address.set_port(last);
    }
    if address.port() == 0 || is_free(address)? {
        return Ok(Place { address, moved: None });
    }
    let taken = format!("another program listens on {address}");
    if is_fixed {
        bail!(
            "{taken}, which the setting `listen` names ({}): end it, or set another port",
            settings.source("listen")
        );
    }
    if last.is_some() && may_move == MayMove::No {
        bail!(
            "{taken}, where the gate stood last: what editors send now goes to that program. End it, or have `leafgate vscode on` lead the editors to another port"
        );
    }
    address.set_port(0);
    Ok(Place { address, moved: Some(taken) })
}

fn is_free(address: SocketAddr) -> anyhow::Result<bool> {
    match TcpListener::bind(address) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(false),
        Err(error) => Err(error).with_context(|| format!("nothing can listen on {address}")),
    }
}

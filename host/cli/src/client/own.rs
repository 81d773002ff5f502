//! A gate that is started for one client, in the process of `exec`, and ends with it.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use leafgate_gate::{FirstUpstream, NamedUpstream, UpstreamKind, UpstreamName};

use super::choice::ChosenGate;
use super::exec::ClientStart;
use super::{COPILOT, ClientOrigin};
use crate::print::{Exit, Printer};
use crate::serve::OpenGate;
use crate::settings::{self, GateSetup, LogTo};
use crate::stop::Stop;

/// Starts a gate, and the client behind it. The gate ends with the client.
pub(super) async fn serve(start: &ClientStart<'_>, printer: &mut Printer) -> anyhow::Result<Exit> {
    let stop = Stop::by_hand();
    let gate = OpenGate::open(setup(start)?, start.settings).await?;
    let found = ChosenGate { status: gate.status(), by_name: false };
    let serving = gate.serve(&stop);
    let running = async {
        let exit = start.behind(&found, printer).await;
        stop.request();
        exit
    };
    tokio::join!(serving, running).1
}

/// Returns what the client's own gate is started with: all that the settings say, but for where it
/// listens and where requests go.
fn setup(start: &ClientStart<'_>) -> anyhow::Result<GateSetup> {
    let (settings, origins) = (start.settings, &start.origins);
    let upstream = |origin: &ClientOrigin| {
        let mut upstream = settings::upstream_at(settings, &origin.target.to_string())?;
        if origin.name == COPILOT.name {
            upstream.kind = UpstreamKind::Copilot;
        }
        anyhow::Ok(upstream)
    };
    let first = origins.first().context("the client asks for nothing")?;
    let mut setup = settings::setup_before(settings, FirstUpstream::Own(Box::new(upstream(first)?)))?;
    let named = &mut setup.config.named;
    if let Some(known) = named.iter().find(|known| known.upstream.target == first.target) {
        // Its own policy comes with its name.
        setup.config.upstream = FirstUpstream::Named(known.name.clone());
    }
    for origin in &origins[1..] {
        let is_there = named.iter().any(|known| known.upstream.target == origin.target);
        if origin.target != first.target && !is_there {
            let name = free_name(origin.name, named)?;
            named.push(NamedUpstream { name, upstream: upstream(origin)? });
        }
    }
    setup.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    setup.admin_listen = setup.admin_listen.map(|_| setup.listen);
    // The address is that of the gate that stands.
    setup.metrics_listen = None;
    // The terminal is the client's.
    setup.log = LogTo::File;
    setup.client = Some(start.program().into_owned());
    Ok(setup)
}

/// Returns a name that the settings have not given away.
fn free_name(name: &str, named: &[NamedUpstream]) -> anyhow::Result<UpstreamName> {
    let is_taken = |name: &str| named.iter().any(|named| named.name.as_str() == name);
    let name = if is_taken(name) { format!("exec-{name}") } else { name.to_owned() };
    Ok(name.parse()?)
}

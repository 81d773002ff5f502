//! Confinement by what Linux offers.

mod bridge;
mod landlock;
mod namespace;

use std::convert::Infallible;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use self::bridge::Bridge;
use super::{Confinement, this_program};
use crate::child::not_started;
use crate::print::{Exit, Printer};

/// The first argument with which this program confines itself. No command has this name.
pub(crate) const CONFINE: &str = "--confine";

/// Returns the first way that this system offers.
pub(crate) fn find() -> anyhow::Result<Confinement> {
    let mut missing = String::new();
    for &way in Confinement::ALL {
        match try_out(way) {
            Ok(()) => return Ok(way),
            Err(why) => missing += &format!("\n  {}: {why:#}", way.name()),
        }
    }
    bail!(
        "--only cannot confine a program here:{missing}\n\
         user namespaces or Linux 6.7 with Landlock are needed; without --only, `leafgate log` shows \
         what came by"
    )
}

/// Tries it in a process of its own, which then ends.
fn try_out(way: Confinement) -> anyhow::Result<()> {
    let tried = Command::new(this_program()).args([CONFINE, way.name()]).stdin(Stdio::null()).output()?;
    match tried.status.success() {
        true => Ok(()),
        false => bail!("{}", String::from_utf8_lossy(&tried.stderr).trim()),
    }
}

/// A command that confines itself, and what serves it meanwhile.
pub(crate) struct Confined {
    pub(crate) command: Vec<OsString>,
    bridge: Option<Bridge>,
}

impl Confined {
    /// Returns the command that becomes this one, with nothing in reach but a gate.
    pub(crate) fn new(way: Confinement, gate: SocketAddr, command: &[OsString]) -> anyhow::Result<Confined> {
        let bridge = match way {
            Confinement::Namespace => Some(Bridge::open(gate).context("no way into a namespace")?),
            Confinement::Landlock => None,
        };
        let door = bridge.as_ref().map_or_else(OsString::new, |bridge| bridge.path().into());
        let words =
            [this_program().into(), CONFINE.into(), way.name().into(), gate.port().to_string().into(), door];
        Ok(Confined { command: words.into_iter().chain(command.iter().cloned()).collect(), bridge })
    }

    /// Serves the program as long as it runs.
    pub(crate) async fn serve(self) -> Infallible {
        match self.bridge {
            Some(bridge) => bridge.serve().await,
            None => std::future::pending().await,
        }
    }
}

fn say(text: &str) {
    Printer::for_terminal().error_line(text);
}

/// Confines this process and becomes the client.
pub(crate) fn run(arguments: &[OsString]) -> Exit {
    confine(arguments).unwrap_or_else(|error| {
        say(&format!("{error:#}"));
        Exit::Bad
    })
}

/// Returns only where nothing was asked but whether it works, or the client cannot be started.
fn confine(arguments: &[OsString]) -> anyhow::Result<Exit> {
    let (way, rest) = arguments.split_first().context("a way to confine is missing")?;
    let port = |text: &OsString| text.to_str().and_then(|text| text.parse().ok()).context("no port");
    let is_namespace = way == Confinement::Namespace.name();
    let [gate, door, command @ ..] = rest else {
        match is_namespace {
            true => drop(namespace::enter(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?),
            false => landlock::allow_only(1)?,
        }
        return Ok(Exit::Done);
    };
    let gate = SocketAddr::from((Ipv4Addr::LOCALHOST, port(gate)?));
    if is_namespace {
        bridge::hand_over(Path::new(door), &namespace::enter(gate)?).context("the gate cannot be reached")?;
    } else {
        landlock::allow_only(gate.port())?;
    }
    let (program, arguments) = command.split_first().context("name a program to start")?;
    let error = Command::new(program).args(arguments).exec();
    let not_started = not_started(&program.to_string_lossy(), &error);
    say(&format!("leafgate: {}", not_started.why));
    Ok(not_started.exit)
}

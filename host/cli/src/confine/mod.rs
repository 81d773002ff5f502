//! `exec --only`: a program that can reach its gate, and no other place over TCP.
//!
//! Nothing here needs root. Before the client there is this program once more, which restricts
//! itself and then becomes the client: what a process gives up, what it starts has not either.
//!
//! A network namespace comes first: in it the gate is all there is, and servers that an agent starts
//! are its own. Where the system forbids one to users, Landlock allows connections to the gate's
//! port alone. It is the weaker wall: a port of any host, and TCP by its usual calls (Fast Open and
//! Multipath TCP pass, as measured on Linux 6.18). Sockets with a path (of Docker, D-Bus, tmux) stay
//! reachable in both, so this holds a client and not an attacker who may use those.

#[cfg(target_os = "linux")]
mod bridge;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod namespace;

use std::convert::Infallible;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::exit::Exit;

/// The first argument with which this program confines itself. No command has this name.
const CONFINE: &str = "--confine";

/// A way to confine a program that this system offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confinement {
    Namespace,
    Landlock,
}

impl Confinement {
    const ALL: [Confinement; 2] = [Confinement::Namespace, Confinement::Landlock];

    fn name(self) -> &'static str {
        match self {
            Confinement::Namespace => "namespace",
            Confinement::Landlock => "landlock",
        }
    }

    /// Returns what is said of it when a program starts.
    pub(crate) fn told(self, gate: SocketAddr) -> String {
        let port = gate.port();
        let (way, open) = match self {
            Confinement::Namespace => ("a network namespace in which there is nothing but", "UNIX sockets"),
            Confinement::Landlock => {
                ("Landlock, which allows connections to port", "UDP, Multipath TCP and UNIX sockets")
            }
        };
        format!("leafgate: --only: it runs under {way} {port}; what stays open: {open}")
    }
}

/// The program of this process, even after the file at its path was replaced.
pub(crate) fn this_program() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { std::env::current_exe().unwrap_or(running) }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::run_if_asked;
#[cfg(target_os = "linux")]
pub(crate) use linux::{Confined, find};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::run_if_asked;
#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{Confined, find};

#[cfg(target_os = "linux")]
mod linux {
    use std::net::Ipv4Addr;
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use anyhow::{Context, bail};

    use super::bridge::{self, Bridge};
    use super::*;
    use crate::child::not_started;
    use crate::print::Printer;

    /// Returns the first way that this system offers.
    pub(crate) fn find() -> anyhow::Result<Confinement> {
        let mut missing = String::new();
        for way in Confinement::ALL {
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
        pub(crate) fn new(
            way: Confinement,
            gate: SocketAddr,
            command: &[OsString],
        ) -> anyhow::Result<Confined> {
            let bridge = match way {
                Confinement::Namespace => Some(Bridge::open(gate).context("no way into a namespace")?),
                Confinement::Landlock => None,
            };
            let door = bridge.as_ref().map_or_else(OsString::new, |bridge| bridge.path().into());
            let words = [
                this_program().into(),
                CONFINE.into(),
                way.name().into(),
                gate.port().to_string().into(),
                door,
            ];
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

    /// Confines this process and becomes the client, if it was started for that.
    pub(crate) fn run_if_asked() -> Option<Exit> {
        let mut arguments = std::env::args_os().skip(1);
        if arguments.next()? != CONFINE {
            return None;
        }
        let arguments: Vec<OsString> = arguments.collect();
        Some(confine(&arguments).unwrap_or_else(|error| {
            say(&format!("{error:#}"));
            Exit::Bad
        }))
    }

    /// Returns only where nothing was asked but whether it works, or the client cannot be started.
    fn confine(arguments: &[OsString]) -> anyhow::Result<Exit> {
        let (way, rest) = arguments.split_first().context("a way to confine is missing")?;
        let port = |text: &OsString| text.to_str().and_then(|text| text.parse().ok()).context("no port");
        let is_namespace = way == Confinement::Namespace.name();
        let [gate, door, command @ ..] = rest else {
            match is_namespace {
                true => drop(namespace::enter(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?),
                false => super::landlock::allow_only(1)?,
            }
            return Ok(Exit::Done);
        };
        let gate = SocketAddr::from((Ipv4Addr::LOCALHOST, port(gate)?));
        if is_namespace {
            bridge::hand_over(Path::new(door), &namespace::enter(gate)?)
                .context("the gate cannot be reached")?;
        } else {
            super::landlock::allow_only(gate.port())?;
        }
        let (program, arguments) = command.split_first().context("name a program to start")?;
        let error = Command::new(program).args(arguments).exec();
        let not_started = not_started(&program.to_string_lossy(), &error);
        say(&format!("leafgate: {}", not_started.why));
        Ok(not_started.exit)
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::*;

    /// Says that there is none.
    pub(crate) fn find() -> anyhow::Result<Confinement> {
        anyhow::bail!("--only confines a program on Linux alone: this system offers no way without root")
    }

    /// A command that would confine itself.
    pub(crate) struct Confined {
        pub(crate) command: Vec<OsString>,
    }

    impl Confined {
        pub(crate) fn new(_: Confinement, _: SocketAddr, command: &[OsString]) -> anyhow::Result<Confined> {
            Ok(Confined { command: command.to_vec() })
        }

        pub(crate) async fn serve(self) -> Infallible {
            std::future::pending().await
        }
    }

    pub(crate) fn run_if_asked() -> Option<Exit> {
        None
    }
}

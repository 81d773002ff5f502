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

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

use std::net::SocketAddr;
use std::path::PathBuf;

use leafgate_words::words;

#[cfg(not(target_os = "linux"))]
pub(crate) use self::elsewhere::{Confined, find};
#[cfg(target_os = "linux")]
pub(crate) use self::linux::{CONFINE, Confined, find, run};

words! {
    /// A way to confine a program that this system offers, the best first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Confinement {
        Namespace = "namespace",
        Landlock = "landlock",
    }
    fn name = 0;
}

impl Confinement {
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

//! Notices that a started program asks a model and nothing comes by its gate.
//!
//! The connections of the program and of all that it starts are looked at, several times a second, until
//! one of them has sent something to the gate. What other programs ask there does not count. A connection
//! to the very place that the gate leads to is one that should have come by. A client that asks models and little else has also been asked past the gate
//! where it sent as much as a prompt anywhere; others, as `npm`, may send what they like.

#[cfg(target_os = "linux")]
mod sockets;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::task::JoinSet;

/// How often connections are looked at. One request of a model takes longer.
const OFTEN: Duration = Duration::from_millis(250);

/// What no client sends before its first prompt, and each with it: its own instructions and tools are
/// larger even when compressed.
const PROMPT: u64 = 16 << 10;

/// A connection of a program, and what it has sent there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    to: SocketAddr,
    bytes: u64,
}

/// Looks after a program that was started behind a gate.
pub(super) struct Watch {
    pub(super) program: String,
    /// Whether it is a client that asks models and little else.
    pub(super) is_client: bool,
    /// Where the gate listens.
    pub(super) gate: SocketAddr,
    /// Where the gate leads to, as `host:port`.
    pub(super) upstreams: Vec<String>,
}

/// What was noticed so far.
#[derive(Debug, Default)]
pub(super) struct Noticed {
    has_come: bool,
    past: Option<Connection>,
}

fn sent(program: &str, past: Connection) -> String {
    let Connection { to, bytes } = past;
    format!(
        "{program} sent {bytes} bytes to {to} itself: what was asked there, no rule has seen (`--only` prevents it)"
    )
}

impl Watch {
    /// Watches a process until something has come by, and says what should have.
    pub(super) async fn run(&self, pid: u32, noticed: &mut Noticed, mut say: impl FnMut(&str)) {
        let mut upstreams = Vec::new();
        // Names are looked up meanwhile.
        let mut looked_up = JoinSet::new();
        for upstream in self.upstreams.clone() {
            looked_up
                .spawn(async move { lookup_host(upstream).await.into_iter().flatten().collect::<Vec<_>>() });
        }
        let mut clock = tokio::time::interval(OFTEN);
        loop {
            clock.tick().await;
            let connections = connections(pid);
            if connections.iter().any(|connection| connection.to == self.gate && connection.bytes > 0) {
                noticed.has_come = true;
                return;
            }
            while let Some(found) = looked_up.try_join_next() {
                upstreams.extend(found.unwrap_or_default());
            }
            let Some(past) = self.past(&connections, &upstreams) else { continue };
            if noticed.past.is_none_or(|known| known.bytes < past.bytes)
                && noticed.past.replace(past).is_none()
            {
                say(&format!(
                    "leafgate: WARNING: nothing has come by the gate, and {}",
                    sent(&self.program, past)
                ));
            }
        }
    }

    /// Returns what is said at the end of the program.
    pub(super) fn told(&self, noticed: &Noticed) -> Option<String> {
        let past = noticed.past.filter(|_| !noticed.has_come)?;
        Some(format!("leafgate: WARNING: nothing came by the gate, and {}", sent(&self.program, past)))
    }

    /// Returns the connection over which most was sent that should have come by.
    fn past(&self, connections: &[Connection], upstreams: &[SocketAddr]) -> Option<Connection> {
        let is_past = |connection: &&Connection| {
            let is_prompt = self.is_client && connection.bytes >= PROMPT;
            connection.to != self.gate
                && (is_prompt || upstreams.contains(&connection.to) && connection.bytes > 0)
        };
        connections.iter().filter(is_past).max_by_key(|connection| connection.bytes).copied()
    }
}

#[cfg(target_os = "linux")]
fn connections(pid: u32) -> Vec<Connection> {
    // What cannot be seen is no reason to alarm anybody.
    sockets::of_tree(pid).unwrap_or_default()
}

/// Other systems show no connections without root.
#[cfg(not(target_os = "linux"))]
fn connections(_: u32) -> Vec<Connection> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(is_client: bool, gate: SocketAddr) -> Watch {
        Watch { program: "x".to_owned(), is_client, gate, upstreams: Vec::new() }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_the_program_sent_to_the_gate_has_come_and_alarms_nobody() {
        use std::io::Write as _;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let gate = listener.local_addr().unwrap();
        let mut asked = std::net::TcpStream::connect(gate).unwrap();
        asked.write_all(&[0]).unwrap();
        let mut noticed = Noticed { has_come: false, past: Some(Connection { to: gate, bytes: PROMPT }) };
        let watch = watch(true, gate);
        assert!(watch.told(&noticed).is_some());
        watch.run(std::process::id(), &mut noticed, |line| panic!("{line}")).await;
        assert_eq!(watch.told(&noticed), None);
    }

    #[test]
    fn what_should_have_come_by_is_told_from_what_programs_send_elsewhere() {
        let [gate, model, other] =
            ["127.0.0.1:4141", "192.0.2.1:443", "198.51.100.1:443"].map(|text| text.parse().unwrap());
        let past = |is_client, connections: &[(SocketAddr, u64)]| {
            let watch = watch(is_client, gate);
            let connections: Vec<_> =
                connections.iter().map(|&(to, bytes)| Connection { to, bytes }).collect();
            watch.past(&connections, &[model]).map(|past| past.to)
        };
        assert_eq!(past(false, &[(gate, PROMPT), (other, PROMPT)]), None, "a package is uploaded");
        assert_eq!(past(true, &[(gate, PROMPT), (other, PROMPT - 1)]), None, "telemetry");
        assert_eq!(past(true, &[(other, PROMPT), (gate, 9 * PROMPT)]), Some(other));
        assert_eq!(past(false, &[(model, 400), (other, PROMPT)]), Some(model));
        assert_eq!(past(false, &[(model, 0)]), None, "it only connects");
    }
}

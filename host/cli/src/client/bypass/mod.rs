//! Notices that a started program asks a model and nothing comes by its gate.
//!
//! The connections of the program and of all that it starts are looked at, several times a second, until
//! one of them has sent something to the gate. What other programs ask there does not count. A connection
//! to the very place that the gate leads to is one that should have come by. A client that asks models and little else has also been asked past the gate
//! where it sent as much as a prompt anywhere; others, as `npm`, may send what they like.

#[cfg(target_os = "linux")]
mod sockets;

use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::net::lookup_host;

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

impl Watch {
    /// Waits for the end of a program, and says if it asks past the gate: when that begins, and at the
    /// end where nothing has come by until then.
    pub(super) async fn until<T>(
        &self,
        ended: impl Future<Output = T>,
        pid: Option<u32>,
        mut say: impl FnMut(&str),
    ) -> T {
        let Some(pid) = pid else { return ended.await };
        let mut ended = pin!(ended);
        let mut upstreams = Vec::new();
        // Names are looked up meanwhile.
        let mut looked_up: FuturesUnordered<_> = self.upstreams.iter().map(lookup_host).collect();
        let mut clock = tokio::time::interval(OFTEN);
        let (mut has_come, mut past) = (false, None::<Connection>);
        loop {
            tokio::select! {
                end = &mut ended => {
                    past.filter(|_| !has_come).iter().for_each(|past| say(&self.told("came", past)));
                    return end;
                }
                Some(found) = looked_up.next() => {
                    upstreams.extend(found.into_iter().flatten());
                    continue;
                }
                _ = clock.tick(), if !has_come => {}
            }
            let connections = connections(pid);
            has_come =
                connections.iter().any(|connection| connection.to == self.gate && connection.bytes > 0);
            let Some(most) = self.past(&connections, &upstreams).filter(|_| !has_come) else { continue };
            if past.is_none() {
                say(&self.told("has come", &most));
            }
            past = past.filter(|known| known.bytes >= most.bytes).or(Some(most));
        }
    }

    fn told(&self, came: &str, Connection { to, bytes }: &Connection) -> String {
        format!(
            "leafgate: WARNING: nothing {came} by the gate, and {} sent {bytes} bytes to {to} itself: what was asked there, no rule has seen (`--only` prevents it)",
            self.program
        )
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
    use std::pin::Pin;
    use std::task::Poll;

    use tokio::sync::Notify;

    use super::*;

    fn watch(is_client: bool, gate: SocketAddr) -> Watch {
        Watch { program: "x".to_owned(), is_client, gate, upstreams: Vec::new() }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_the_program_sent_past_the_gate_is_said_unless_something_has_come() {
        use std::io::Write as _;
        use std::net::{TcpListener, TcpStream};
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [gate, other] = listeners.each_ref().map(|listener| listener.local_addr().unwrap());
        let [mut asked, mut past] = [gate, other].map(|to| TcpStream::connect(to).unwrap());
        past.write_all(&[0; PROMPT as usize]).unwrap();
        let watch = watch(true, gate);
        let said = async |ended: Pin<&mut dyn Future<Output = ()>>, stop: &Notify| {
            let mut said = Vec::new();
            let say = |line: &str| {
                said.push(line.to_owned());
                stop.notify_one();
            };
            watch.until(ended, Some(std::process::id()), say).await;
            said
        };
        // It ends once it is said that it asks past the gate.
        let stop = Notify::new();
        let lines = said(pin!(stop.notified()), &stop).await;
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].contains("nothing has come by") && lines[1].contains("nothing came by"),
            "{lines:?}"
        );
        asked.write_all(&[0]).unwrap();
        // It is asked for its end twice: before the second time, its connections were looked at.
        let mut asked_for = 0;
        let ended = std::future::poll_fn(|context| {
            asked_for += 1;
            context.waker().wake_by_ref();
            if asked_for > 1 { Poll::Ready(()) } else { Poll::Pending }
        });
        assert_eq!(said(pin!(ended), &stop).await, Vec::<String>::new());
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

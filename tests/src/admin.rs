//! The admin API of a running gate, called as the approval prompt calls it: found through the runtime file, spoken over a socket.
//!
//! Waiting is done on the event stream: an event says that something has happened, so no test needs to guess how long it takes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::gate::Gate;
use crate::http::{Client, Message};

/// How long an event may take that must come. Only a fault reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a client waits whose request is held: as long as a rule may hold it, since others may be held before it goes.
const HELD: Duration = Duration::from_secs(30 * 60);

/// Where a gate's admin API is, and the token that it asks for.
pub struct Admin {
    address: SocketAddr,
    token: String,
}

impl Admin {
    /// The admin API of a gate of this kit.
    ///
    /// # Errors
    /// When its runtime file is missing or says something else.
    pub fn of(gate: &Gate) -> Result<Self> {
        Admin::at(gate.runtime_file())
    }

    /// The admin API that a runtime file names.
    ///
    /// # Errors
    /// When the file is missing or says something else.
    pub fn at(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let file: Value = serde_json::from_str(&text).context("the runtime file is not JSON")?;
        let url = file["admin"].as_str().unwrap_or_default();
        let address = url.strip_prefix("http://").and_then(|address| address.parse().ok());
        Ok(Admin {
            address: address.context("the runtime file names no address of the admin API")?,
            token: file["token"].as_str().context("the runtime file holds no token")?.to_owned(),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The header that every call bears.
    #[must_use]
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// A call with exactly these headers beside the length, for calls that are not as they should be.
    ///
    /// # Errors
    /// When the answer is not HTTP.
    pub fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Message> {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        Client::connect(self.address)?.exchange(&[head.as_bytes(), body].concat())
    }

    /// What Prometheus reads from the gate.
    ///
    /// # Errors
    /// When it is refused.
    pub fn metrics(&self) -> Result<String> {
        let answer = self.raw("GET", "/metrics", &[("host", &self.address.to_string())], b"")?;
        ensure!(answer.status() == 200, "metrics: {}", answer.start);
        Ok(String::from_utf8(answer.body)?)
    }

    /// What a call is answered that must succeed.
    ///
    /// # Errors
    /// When it does not.
    pub fn get(&self, path: &str) -> Result<Value> {
        let (host, bearer) = (self.address.to_string(), self.bearer());
        let answer = self.raw("GET", path, &[("host", &host), ("authorization", &bearer)], b"")?;
        ensure!(answer.status() == 200, "GET {path}: {}", answer.start);
        answer.json()
    }

    /// A call that changes something, refused or not.
    ///
    /// # Errors
    /// When the answer is not HTTP.
    pub fn post(&self, path: &str, body: &Value) -> Result<Message> {
        let bearer = self.bearer();
        Client::connect(self.address)?.post(path, &[("authorization", &bearer)], body.to_string().as_bytes())
    }

    /// A call that puts something in the place of what was there, refused or not.
    ///
    /// # Errors
    /// When the answer is not HTTP.
    pub fn put(&self, path: &str, body: &Value) -> Result<Message> {
        let (host, bearer) = (self.address.to_string(), self.bearer());
        let headers = [("host", &*host), ("authorization", &bearer), ("content-type", "application/json")];
        self.raw("PUT", path, &headers, body.to_string().as_bytes())
    }

    /// A turn in full.
    ///
    /// # Errors
    /// When it does not wait.
    pub fn turn(&self, id: &str) -> Result<Value> {
        self.get(&format!("/v1/pending/{id}"))
    }

    /// An edit that must be taken; the turn after it.
    ///
    /// # Errors
    /// When it is refused.
    pub fn edit(&self, id: &str, command: &Value) -> Result<Value> {
        let answer = self.post(&format!("/v1/pending/{id}/edit"), command)?;
        ensure!(answer.status() == 200, "the edit was refused: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    /// Gives a leaf another text.
    ///
    /// # Errors
    /// When it is refused.
    pub fn set(&self, id: &str, pointer: &str, text: &str) -> Result<Value> {
        self.edit(id, &json!({ "action": "set", "pointer": pointer, "text": text }))
    }

    /// Lets a turn go if it still is what this digest was taken of.
    ///
    /// # Errors
    /// When the answer is not HTTP.
    pub fn resume(&self, id: &str, digest: &str) -> Result<Message> {
        self.post(&format!("/v1/pending/{id}/resume"), &json!({ "digest": digest }))
    }

    /// Gives a turn up.
    ///
    /// # Errors
    /// When the answer is not HTTP.
    pub fn cancel(&self, id: &str) -> Result<Message> {
        self.post(&format!("/v1/pending/{id}/cancel"), &json!({}))
    }

    /// Everything that happens from now on.
    ///
    /// # Errors
    /// When the gate does not tell.
    pub fn events(&self) -> Result<Events> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "GET /v1/events HTTP/1.1\r\nhost: {}\r\nauthorization: {}\r\n\r\n",
            self.address,
            self.bearer()
        )?;
        let mut events = Events { stream: BufReader::new(stream), read: String::new() };
        let start = events.line()?;
        ensure!(start.starts_with("HTTP/1.1 200 "), "the events were refused: {start}");
        while !events.line()?.is_empty() {}
        Ok(events)
    }
}

/// What a gate tells, event by event.
pub struct Events {
    stream: BufReader<TcpStream>,
    /// What came and is not yet a whole event.
    read: String,
}

impl Events {
    /// The next event of this name; others are passed over.
    ///
    /// # Errors
    /// When the stream ends, or nothing comes for a minute.
    pub fn next(&mut self, name: &str) -> Result<Value> {
        self.until(|event| event["event"] == name)
    }

    /// The id of the next turn that begins to wait.
    ///
    /// # Errors
    /// When the stream ends, or nothing comes for a minute.
    pub fn paused(&mut self) -> Result<String> {
        let event = self.next("paused")?;
        Ok(event["turn"]["id"].as_str().context("a turn without an id")?.to_owned())
    }

    /// The next event that satisfies a condition.
    ///
    /// # Errors
    /// When the stream ends, or nothing comes for a minute.
    pub fn until(&mut self, condition: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            while let Some(end) = self.read.find("\n\n") {
                let event: String = self.read.drain(..end + 2).collect();
                let Some(data) = event.lines().find_map(|line| line.strip_prefix("data: ")) else { continue };
                let event: Value = serde_json::from_str(data).context("an event is not JSON")?;
                if condition(&event) {
                    return Ok(event);
                }
            }
            self.chunk()?;
        }
    }

    fn chunk(&mut self) -> Result<()> {
        let size = usize::from_str_radix(&self.line()?, 16).context("a chunk without a size")?;
        ensure!(size > 0, "the events ended");
        let mut chunk = vec![0; size];
        self.stream.read_exact(&mut chunk)?;
        self.line()?;
        self.read.push_str(std::str::from_utf8(&chunk).context("an event is not UTF-8")?);
        Ok(())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "the gate closed the events");
        Ok(line.trim_end().to_owned())
    }
}

/// Sends a chat that will have to wait, on a connection and a thread of its own.
///
/// # Errors
/// When the gate does not accept.
pub fn chat_later(gate: &Gate, body: &[u8]) -> Result<JoinHandle<Result<Message>>> {
    post_later(gate, "/v1/chat/completions", body)
}

/// Does what [`chat_later`] does, for a request to this path.
///
/// # Errors
/// When the gate does not accept.
pub fn post_later(gate: &Gate, path: &str, body: &[u8]) -> Result<JoinHandle<Result<Message>>> {
    let (mut client, path, body) = (gate.client()?, path.to_owned(), body.to_owned());
    client.waits(HELD)?;
    Ok(std::thread::spawn(move || client.post(&path, &[], &body)))
}

/// What a client that waited was answered.
///
/// # Errors
/// When its connection failed.
pub fn answered(client: JoinHandle<Result<Message>>) -> Result<Message> {
    client.join().map_err(|_| anyhow::anyhow!("a client's thread panicked"))?
}

//! How much later an event of a stream reaches the client because of the gate, in a session that has redacted a value: every event is
//! read, and none holds a token. The upstream sends an event only once its client has seen the one before.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use leafgate_tests::gate::Gate;
use leafgate_tests::http;
use serde_json::{Value, json};

use crate::stats::{Samples, shown};

/// Events of a stream; the first ones are not counted.
const EVENTS: usize = 3000;
const WARM_UP: usize = 100;

/// Measures streams without the gate and through it, prints the table and returns the figures.
pub(crate) fn measure() -> Result<Value> {
    println!("\nDelay of an event without a token, in a session that has redacted a value\n");
    println!(
        "{:<10} {:>11} {:>11} {:>11} {:>11} {:>11}",
        "", "direct p50", "gated p50", "p99", "added p50", "p99"
    );
    let mut figures = Vec::new();
    for policy in ["default", "none"] {
        let upstream = Pacing::start()?;
        let gate = Gate::start(&["--policy", policy, "--upstream", &format!("http://{}", upstream.address)])?;
        let direct = upstream.read(upstream.address)?;
        let gated = upstream.read(gate.address())?;
        let [without, with] =
            [&direct, &gated].map(|samples| [0.5, 0.99].map(|share| samples.percentile(share)));
        let added = [with[0] - without[0], with[1] - without[1]];
        println!(
            "{policy:<10} {:>11} {:>11} {:>11} {:>11} {:>11}",
            shown(without[0]),
            shown(with[0]),
            shown(with[1]),
            shown(added[0]),
            shown(added[1])
        );
        figures.push(json!({ "policy": policy, "addedMicros": { "p50": added[0], "p99": added[1] } }));
    }
    Ok(Value::Array(figures))
}

/// An upstream that sends an event whenever it is told to.
struct Pacing {
    address: SocketAddr,
    go: Sender<()>,
    /// When the next event was about to be written.
    sent: Receiver<Instant>,
}

impl Pacing {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
        let address = listener.local_addr()?;
        let (go, told) = mpsc::channel();
        let (tell, sent) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A stream that breaks off is told by the client that waits for it.
                let _ = stream_events(stream, &told, &tell);
            }
        });
        Ok(Pacing { address, go, sent })
    }

    /// Asks a server for a stream and times its events.
    fn read(&self, from: SocketAddr) -> Result<Samples> {
        let mut stream = TcpStream::connect(from)?;
        stream.set_nodelay(true)?;
        // Put together here, so that nobody takes this file for a leak.
        let said = format!("my key is {}{}", "AKIA", "QX7TL2MZVB4RW6KD");
        let body = json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": said }] })
            .to_string();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {from}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes())?;
        let (mut reader, mut samples) = (BufReader::new(stream), Samples::default());
        for event in 0..EVENTS + WARM_UP {
            self.go.send(())?;
            let sent = self.sent.recv()?;
            let mut line = String::new();
            while !line.starts_with("data: ") {
                line.clear();
                ensure!(reader.read_line(&mut line)? > 0, "the stream ended early");
            }
            if event >= WARM_UP {
                samples.add(sent.elapsed());
            }
        }
        Ok(samples)
    }
}

/// Answers one request with as many events as are asked for.
fn stream_events(mut stream: TcpStream, told: &Receiver<()>, tell: &Sender<Instant>) -> Result<()> {
    stream.set_nodelay(true)?;
    http::read(&mut BufReader::new(stream.try_clone()?))?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    for number in 0..EVENTS + WARM_UP {
        told.recv()?;
        let delta = json!({ "content": format!("word {number} of a sentence") });
        let event = json!({
            "id": "chatcmpl-kit", "object": "chat.completion.chunk", "created": 0, "model": "kit",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": null }],
        });
        let event = format!("data: {event}\n\n");
        tell.send(Instant::now())?;
        stream.write_all(event.as_bytes())?;
    }
    Ok(())
}

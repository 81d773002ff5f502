//! An upstream that keeps every byte of what reaches it, served by threads of its own over plain sockets.

use std::io::{BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};

use crate::http::{self, Client, Message};

/// A recording upstream. It serves until the process ends.
pub struct Upstream {
    address: SocketAddr,
    requests: Requests,
}

/// The requests that have come to an upstream.
#[derive(Clone)]
pub struct Requests(Arc<Mutex<Received>>);

/// What has come.
struct Received {
    requests: Vec<Message>,
    keep: bool,
}

/// What to answer; decided from the request.
type Responder = dyn Fn(&Message) -> Result<Message> + Send + Sync;

impl Upstream {
    /// An upstream that answers every request with the same short completion.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start() -> Result<Self> {
        Upstream::answering(|_| Ok(completion("ok")))
    }

    /// An upstream that answers and keeps nothing, for measuring.
    ///
    /// # Errors
    /// When no port is free.
    pub fn forgetful() -> Result<Self> {
        let upstream = Upstream::start()?;
        upstream.requests.received().keep = false;
        Ok(upstream)
    }

    /// An upstream that passes each request on to another server, as it came, and its answer back.
    ///
    /// # Errors
    /// When no port is free.
    pub fn before(server: SocketAddr) -> Result<Self> {
        Upstream::answering(move |request| {
            let kept = request
                .headers
                .iter()
                .filter(|(name, _)| !matches!(name.as_str(), "host" | "content-length" | "content-type"));
            let headers: Vec<_> = kept.map(|(name, value)| (name.as_str(), value.as_str())).collect();
            Client::connect(server)?.post(request.target(), &headers, &request.body)
        })
    }

    /// An upstream that answers each request as this says. Where it fails, the connection breaks off.
    ///
    /// # Errors
    /// When no port is free.
    pub fn answering(
        responder: impl Fn(&Message) -> Result<Message> + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free for the upstream")?;
        let upstream = Upstream {
            address: listener.local_addr()?,
            requests: Requests(Arc::new(Mutex::new(Received { requests: Vec::new(), keep: true }))),
        };
        let (requests, responder): (_, Arc<Responder>) = (upstream.requests(), Arc::new(responder));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (requests, responder) = (requests.clone(), Arc::clone(&responder));
                // A connection that breaks off is its client's business.
                std::thread::spawn(move || {
                    stream.set_nodelay(true)?;
                    serve(stream, |request| {
                        requests.note(&request);
                        responder(&request)
                    })
                });
            }
        });
        Ok(upstream)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What has come to it, for another thread to look at.
    #[must_use]
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }

    /// Everything that came since the last call. A request is kept before it is answered.
    #[must_use]
    pub fn take(&self) -> Vec<Message> {
        self.requests.take()
    }
}

impl Requests {
    /// Everything that came since the last call. A request is kept before it is answered.
    #[must_use]
    pub fn take(&self) -> Vec<Message> {
        std::mem::take(&mut self.received().requests)
    }

    fn note(&self, request: &Message) {
        let mut received = self.received();
        if received.keep {
            received.requests.push(request.clone());
        }
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers every request of a connection.
pub(crate) fn serve(
    stream: impl Read + Write,
    mut respond: impl FnMut(Message) -> Result<Message>,
) -> Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(request) = http::read(&mut stream)? {
        stream.get_mut().write_all(&respond(request)?.to_bytes())?;
    }
    Ok(())
}

/// A chat completion in which the assistant says `text`.
#[must_use]
pub fn completion(text: &str) -> Message {
    let body = serde_json::json!({
        "id": "chatcmpl-kit", "object": "chat.completion", "created": 0, "model": "kit",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
    });
    Message {
        start: "HTTP/1.1 200 OK".to_owned(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_string().into_bytes(),
    }
}

//! An upstream that keeps every byte of what reaches it, served by threads of its own over plain sockets.

use std::io::{BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};

use crate::http::{self, Client, Message};

/// A recording upstream. It serves until the process ends.
pub struct Upstream {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
}

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
        Upstream::with(|_| Ok(completion("ok")))
    }

    /// An upstream that answers and keeps nothing, for measuring.
    ///
    /// # Errors
    /// When no port is free.
    pub fn forgetful() -> Result<Self> {
        let upstream = Upstream::start()?;
        upstream.received.lock().unwrap_or_else(PoisonError::into_inner).keep = false;
        Ok(upstream)
    }

    /// An upstream that passes each request on to another server, as it came, and its answer back.
    ///
    /// # Errors
    /// When no port is free.
    pub fn before(server: SocketAddr) -> Result<Self> {
        Upstream::with(move |request| {
            let kept = request
                .headers
                .iter()
                .filter(|(name, _)| !matches!(name.as_str(), "host" | "content-length" | "content-type"));
            let headers: Vec<_> = kept.map(|(name, value)| (name.as_str(), value.as_str())).collect();
            Client::connect(server)?.post(request.target(), &headers, &request.body)
        })
    }

    fn with(responder: impl Fn(&Message) -> Result<Message> + Send + Sync + 'static) -> Result<Self> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free for the upstream")?;
        let upstream = Upstream {
            address: listener.local_addr()?,
            received: Arc::new(Mutex::new(Received { requests: Vec::new(), keep: true })),
        };
        let (received, responder): (_, Arc<Responder>) =
            (Arc::clone(&upstream.received), Arc::new(responder));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (received, responder) = (Arc::clone(&received), Arc::clone(&responder));
                // A connection that breaks off is its client's business.
                std::thread::spawn(move || serve(stream, &received, &*responder));
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

    /// Everything that came since the last call. A request is kept before it is answered.
    #[must_use]
    pub fn take(&self) -> Vec<Message> {
        std::mem::take(&mut self.received.lock().unwrap_or_else(PoisonError::into_inner).requests)
    }
}

impl Received {
    fn note(&mut self, request: &Message) {
        if self.keep {
            self.requests.push(request.clone());
        }
    }
}

fn serve(stream: TcpStream, received: &Mutex<Received>, responder: &Responder) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some(request) = http::read(&mut stream)? {
        received.lock().unwrap_or_else(PoisonError::into_inner).note(&request);
        let answer = responder(&request)?;
        let mut head = format!("{}\r\n", answer.start);
        for (name, value) in answer
            .headers
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "content-length" | "transfer-encoding"))
        {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", answer.body.len()));
        stream.get_mut().write_all(&[head.as_bytes(), &answer.body].concat())?;
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

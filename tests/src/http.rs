//! HTTP/1.1 over one TCP connection, small enough to be right by reading it.
//!
//! A [`Client`] sends exactly the bytes that it is given and keeps the connection open; [`Message`] is a request or an answer with its
//! header as received. Reading knows `content-length`, chunks, and bodies that end with the connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// How long a test waits for bytes that must come. Only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request or an answer.
#[derive(Clone, Default)]
pub struct Message {
    /// Request line or status line.
    pub start: String,
    /// Names in lower case, values as received, in order.
    pub headers: Vec<(String, String)>,
    /// The body, chunks joined.
    pub body: Vec<u8>,
}

impl Message {
    /// The first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The status of an answer, 0 for a request.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.start.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
    }

    /// The path and query of a request.
    #[must_use]
    pub fn target(&self) -> &str {
        self.start.split(' ').nth(1).unwrap_or_default()
    }

    /// The message as it is sent: with the length of its body, in one piece.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut head = format!("{}\r\n", self.start);
        let framing = |name: &str| matches!(name, "content-length" | "transfer-encoding");
        for (name, value) in self.headers.iter().filter(|(name, _)| !framing(name)) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", self.body.len()));
        [head.as_bytes(), &self.body].concat()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body)
            .with_context(|| format!("`{}` came with a body that is not JSON", self.start))
    }

    /// `error.code` and `error.message` of a refusal.
    ///
    /// # Errors
    /// When the answer is no error in OpenAI's dialect.
    pub fn refusal(&self) -> Result<(String, String)> {
        let body = self.json()?;
        match (body["error"]["code"].as_str(), body["error"]["message"].as_str()) {
            (Some(code), Some(message)) => Ok((code.to_owned(), message.to_owned())),
            _ => bail!("`{}` came without `error.code` and `error.message`", self.start),
        }
    }

    /// What the assistant said, streamed or not.
    ///
    /// # Errors
    /// When the answer is no chat completion.
    pub fn said(&self) -> Result<String> {
        if !self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let body = self.json()?;
            let said = body["choices"][0]["message"]["content"].as_str();
            return Ok(said.context("the answer holds no message")?.to_owned());
        }
        let stream = std::str::from_utf8(&self.body).context("the event stream is not UTF-8")?;
        let mut said = String::new();
        for event in stream.split("\n\n").filter_map(|event| event.strip_prefix("data: ")) {
            if event == "[DONE]" {
                return Ok(said);
            }
            let chunk: Value = serde_json::from_str(event).context("an event is not JSON")?;
            said.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
        }
        bail!("the event stream does not end with [DONE]")
    }
}

/// One connection to a server.
pub struct Client {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens.
    pub fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Client { address, stream: BufReader::new(stream) })
    }

    /// Waits this long for bytes that come only once somebody decides.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn waits(&self, most: Duration) -> Result<()> {
        Ok(self.stream.get_ref().set_read_timeout(Some(most))?)
    }

    /// Posts a JSON body to the chat endpoint.
    ///
    /// # Errors
    /// When the connection fails or the answer is not HTTP.
    pub fn chat(&mut self, body: &[u8]) -> Result<Message> {
        self.post("/v1/chat/completions", &[], body)
    }

    /// Posts a JSON body with further headers.
    ///
    /// # Errors
    /// When the connection fails or the answer is not HTTP.
    pub fn post(&mut self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Message> {
        let mut head =
            format!("POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n", self.address);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        self.exchange(&[head.as_bytes(), body].concat())
    }

    /// Sends raw bytes and reads one answer.
    ///
    /// # Errors
    /// When the connection fails or the answer is not HTTP.
    pub fn exchange(&mut self, request: &[u8]) -> Result<Message> {
        // A server may refuse a request before it has read it all; what counts is whether it answers.
        let sent = self.stream.get_mut().write_all(request);
        match read(&mut self.stream)? {
            Some(answer) => Ok(answer),
            None => {
                sent.context("the request could not be sent")?;
                bail!("the server closed the connection without an answer")
            }
        }
    }
}

/// Reads one message; `None` where the connection ended before one began.
///
/// # Errors
/// When what comes is not HTTP/1.1, or stops within a message.
pub fn read(stream: &mut impl BufRead) -> Result<Option<Message>> {
    let Some(start) = line(stream)? else { return Ok(None) };
    let mut message = Message { start, ..Message::default() };
    loop {
        let line = line(stream)?.context("the connection ended within a header")?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').context("a header line without a colon")?;
        message.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    message.body = body(stream, &message)?;
    Ok(Some(message))
}

fn body(stream: &mut impl BufRead, message: &Message) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    if message.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        loop {
            let size = line(stream)?.context("the connection ended before a chunk")?;
            let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16)
                .context("a chunk without a size")?;
            take(stream, size, &mut body)?;
            line(stream)?.context("the connection ended after a chunk")?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    match message.header("content-length") {
        Some(length) => {
            take(stream, length.parse().context("a content-length that is no number")?, &mut body)?
        }
        // An answer without a length ends with its connection, a request without one has no body.
        None if message.start.starts_with("HTTP/") => {
            stream.read_to_end(&mut body)?;
        }
        None => {}
    }
    Ok(body)
}

fn take(stream: &mut impl BufRead, size: usize, body: &mut Vec<u8>) -> Result<()> {
    let read = stream.take(size as u64).read_to_end(body)?;
    if read < size {
        bail!("the connection ended after {read} of {size} bytes of a body");
    }
    Ok(())
}

fn line(stream: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = Vec::new();
    if stream.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let line = String::from_utf8(line).context("a header line is not UTF-8")?;
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

//! Bodies under a policy without rules: they leave as they come, within the bounds of all bodies.

use std::net::SocketAddr;

use bytes::Bytes;
use leafgate_gate::GateLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::kit::{
    Client, EMAIL, REDACT_EMAIL, Running, SOON, Upstream, behind, chat, email_token, gate, gate_with,
    json_answer, once, policy, refusing, says,
};

/// Long enough to leave while it comes.
const LONG: usize = 300_000;

/// A body that no parser reads to its end.
fn body(length: usize) -> Vec<u8> {
    let mut body = b"{\"messages\": [".to_vec();
    body.extend((0..length - body.len()).map(|n| b"abc\\\"\n\xff"[n % 7]));
    body
}

/// What a socket upstream tells of the request that it reads.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// It has read so much of the body at least.
    Read(usize),
    /// The whole body.
    Answer(Vec<u8>),
    /// The connection ended before the body did.
    BrokenOff,
}

/// An upstream of plain sockets: tells when it has read `first` bytes of a body of `length`, and at
/// its end answers. With `early` it answers as soon as it has read the head.
async fn socket_upstream(
    first: usize,
    length: usize,
    early: bool,
) -> (String, mpsc::UnboundedReceiver<Told>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (mut read, mut head, mut told_first) = (Vec::new(), None, false);
        loop {
            let mut chunk = [0; 16 * 1024];
            let count = stream.read(&mut chunk).await.unwrap_or(0);
            if count == 0 {
                return drop(tell.send(Told::BrokenOff));
            }
            read.extend_from_slice(&chunk[..count]);
            if head.is_none() {
                head = read.windows(4).position(|end| end == b"\r\n\r\n").map(|at| at + 4);
                if head.is_some() && early {
                    stream.write_all(ANSWER).await.unwrap();
                }
            }
            let Some(head) = head else { continue };
            if !told_first && read.len() - head >= first {
                told_first = true;
                tell.send(Told::Read(first)).unwrap();
            }
            if read.len() - head >= length {
                tell.send(Told::Answer(read.split_off(head))).unwrap();
                if !early {
                    stream.write_all(ANSWER).await.unwrap();
                }
                return;
            }
        }
    });
    (url, told)
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// Sends a head that declares `length` bytes of body.
async fn begin(to: SocketAddr, length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

async fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    timeout(SOON, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn invariant_1_a_body_that_nobody_looks_at_leaves_while_it_comes() {
    for early in [false, true] {
        let (url, mut told) = socket_upstream(LONG / 3, LONG, early).await;
        let gate = gate("", &url).await;
        let body = body(LONG);
        let mut client = begin(gate.address, LONG).await;
        client.write_all(&body[..LONG / 2]).await.unwrap();
        // The second half is not sent before the upstream has seen the first.
        assert_eq!(timeout(SOON, told.recv()).await.unwrap(), Some(Told::Read(LONG / 3)));
        client.write_all(&body[LONG / 2..]).await.unwrap();
        let answer = rest(client).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("{}"), "{answer}");
        assert_eq!(told.recv().await, Some(Told::Answer(body)), "answered early: {early}");
    }
}

#[tokio::test]
async fn invariant_1_bodies_of_every_length_arrive_as_they_were_with_it() {
    let (upstream, gate) = behind("").await;
    let mut client = Client::connect(gate.address).await;
    for length in [20, 2000, 32 * 1024, 32 * 1024 + 1, 100_000, 1_000_000, 5_000_000] {
        assert_eq!(client.whole(chat(body(length))).await.status, 200, "{length}");
        let seen = upstream.seen().pop().unwrap();
        assert!(seen.body == body(length), "{length}");
        assert_eq!(seen.headers["content-length"], length.to_string());
        assert!(!seen.headers.contains_key("transfer-encoding"));
    }
}

/// One in chunks says no length, and servers want one.
#[tokio::test]
async fn a_body_in_chunks_is_gathered_and_leaves_with_its_length() {
    let (upstream, gate) = behind("").await;
    let mut stream = TcpStream::connect(gate.address).await.unwrap();
    let chunk = format!("186a0\r\n{}\r\n", "x".repeat(0x186a0));
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        gate.address
    );
    stream.write_all(format!("{head}{chunk}{chunk}{chunk}0\r\n\r\n").as_bytes()).await.unwrap();
    assert!(rest(stream).await.starts_with("HTTP/1.1 200 OK"));
    let seen = upstream.only();
    assert_eq!((seen.body.len(), &seen.headers["content-length"]), (300_000, &"300000".parse().unwrap()));
}

#[tokio::test]
async fn a_body_that_breaks_off_breaks_off_at_the_upstream() {
    let (url, mut told) = socket_upstream(1000, LONG, false).await;
    let gate = gate("", &url).await;
    let mut client = begin(gate.address, LONG).await;
    client.write_all(&body(LONG)[..LONG / 2]).await.unwrap();
    assert_eq!(told.recv().await, Some(Told::Read(1000)));
    drop(client);
    assert_eq!(timeout(SOON, told.recv()).await.unwrap(), Some(Told::BrokenOff));
}

async fn limited(url: &str, limit: impl FnOnce(&mut GateLimits)) -> Running {
    gate_with("", url, limit).await
}

#[tokio::test]
async fn a_client_that_is_too_slow_is_told_and_its_body_breaks_off_at_the_upstream() {
    let (url, mut told) = socket_upstream(1000, LONG, false).await;
    let gate = limited(&url, |limits| limits.idle = std::time::Duration::from_millis(50)).await;
    let mut client = begin(gate.address, LONG).await;
    client.write_all(&body(LONG)[..LONG / 2]).await.unwrap();
    let answer = rest(client).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("limit `idle`"), "{answer}");
    assert_eq!(told.recv().await, Some(Told::Read(1000)));
    assert_eq!(timeout(SOON, told.recv()).await.unwrap(), Some(Told::BrokenOff));
}

#[tokio::test]
async fn a_body_over_the_limit_reaches_no_upstream() {
    let upstream = Upstream::silent().await;
    let gate = limited(&upstream.url(), |limits| limits.body = LONG).await;
    assert_eq!(once(&gate, chat(body(LONG + 1))).await.status, 413);
    let gate = limited(&upstream.url(), |limits| limits.bodies = LONG / 2).await;
    assert_eq!(once(&gate, chat(body(LONG))).await.status, 503);
    assert!(upstream.seen().is_empty());
}

#[tokio::test]
async fn a_client_reads_that_its_upstream_is_gone_behind_its_whole_body() {
    let (_bound, gone) = refusing();
    let gate = gate("", &gone).await;
    for length in [2000, 5_000_000] {
        let refusal = once(&gate, chat(body(length))).await;
        assert_eq!((refusal.status, refusal.error().0.as_str()), (502, "leafgate_upstream"));
    }
}

#[tokio::test]
async fn a_body_is_read_as_long_as_an_answer_may_repeat_what_an_earlier_policy_redacted() {
    let upstream = Upstream::start(|seen| async move {
        let text = String::from_utf8(seen.body.to_vec()).unwrap();
        let token = text.contains("mail").then(email_token).unwrap_or_default();
        json_answer(
            serde_json::json!({ "choices": [{ "index": 0, "message": {
            "role": "assistant", "content": token } }] })
            .to_string(),
        )
    })
    .await;
    let gate = gate(REDACT_EMAIL, &upstream.url()).await;
    once(&gate, chat(says(EMAIL))).await;
    gate.gate.policy_loaded(policy(""));
    let again = once(&gate, chat(says(EMAIL))).await;
    assert!(again.text().contains(EMAIL), "{}", again.text());
    assert_eq!(upstream.seen()[1].body, Bytes::from(says(EMAIL)), "nothing is redacted any more");
    let refusal = once(&gate, chat("no json")).await;
    assert_eq!((refusal.status, refusal.error().0.as_str()), (400, "leafgate_malformed"));
}

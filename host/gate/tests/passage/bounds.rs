//! Nothing that a client or an upstream does slowly, or not at all, holds a gate for ever or shuts others out.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use leafgate_gate::GateLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::kit::{Client, SOON, Upstream, answer, chat, fed, full, gate_with, once, says};

/// Passes at once where something is bounded, and hangs a test where it is not.
const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn an_upstream_that_never_answers_is_given_up() {
    let upstream = Upstream::start(|_| std::future::pending()).await;
    let gate = gate_with("", &upstream.url(), |limits| limits.answer_head = SHORT).await;
    let refusal = once(&gate, chat(says("hi"))).await;
    assert_eq!(refusal.status, 504);
    let (code, message) = refusal.error();
    assert_eq!(code, "leafgate_upstream");
    assert!(message.contains("limit `answer-head`") && message.contains(&upstream.url()), "{message}");
    let status = gate.gate.status();
    assert_eq!((status.requests.answers.none, status.in_flight), (1, 0));
}

#[tokio::test]
async fn a_client_that_reads_nothing_of_its_answer_frees_its_connection() {
    // More than the buffers of two sockets take.
    const LARGE: usize = 64 << 20;
    let upstream = Upstream::start(|seen| async move {
        let length = if seen.body == says("much") { LARGE } else { 2 };
        answer("text/plain", full(vec![b' '; length]))
    })
    .await;
    let limit = |limits: &mut GateLimits| (limits.connections, limits.unread) = (1, SHORT);
    let gate = gate_with("", &upstream.url(), limit).await;
    let mut deaf = TcpStream::connect(gate.address).await.unwrap();
    let body = says("much");
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        gate.address,
        body.len()
    );
    deaf.write_all((head + &body).as_bytes()).await.unwrap();
    let begun = deaf.read_u8().await.unwrap();
    assert_eq!(begun, b'H', "the answer has begun");
    assert_eq!(once(&gate, chat(says("hi"))).await.status, 200, "the slot of the other one is free");
    let mut left = Vec::new();
    let _ = deaf.read_to_end(&mut left).await;
    assert!(left.len() < LARGE, "the answer was cut off: {} bytes", left.len());
}

#[tokio::test]
async fn an_upstream_that_falls_silent_within_its_answer_is_given_up() {
    let (feed, body) = fed();
    let body = Arc::new(Mutex::new(Some(body)));
    let upstream = Upstream::start(move |_| {
        let body = body.lock().unwrap().take().unwrap();
        async move { answer("text/event-stream", body) }
    })
    .await;
    let gate = gate_with("", &upstream.url(), |limits| limits.answer_idle = SHORT).await;
    feed.send(Ok(Bytes::from(": hello\n\n"))).unwrap();
    let mut stream = Client::connect(gate.address).await.send(chat(says("hi"))).await.into_body();
    assert!(stream.frame().await.unwrap().is_ok());
    let end = tokio::time::timeout(SOON, stream.frame()).await.expect("an end in time");
    assert!(end.unwrap().is_err(), "a part is not taken for the whole");
}

#[tokio::test]
async fn a_tls_handshake_that_never_ends_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let gate = gate_with("", &format!("https://{address}"), |limits| limits.connect = SHORT).await;
    let refusal = once(&gate, chat(says("hi"))).await;
    assert_eq!(refusal.status, 502);
    assert!(refusal.error().1.contains("limit `connect`"), "{}", refusal.error().1);
    drop(silent);
}

#[tokio::test]
async fn bodies_in_flight_are_bounded_together() {
    let (upstream, mut arrivals) = Upstream::held().await;
    let gate = gate_with("", &upstream.url(), |limits| limits.bodies = 64 * 1024).await;
    let address = gate.address;
    let large = says(&"x ".repeat(20_000));
    let body = large.clone();
    let first = tokio::spawn(async move { Client::connect(address).await.whole(chat(body)).await });
    let release = arrivals.recv().await.unwrap();
    let refusal = once(&gate, chat(large.clone())).await;
    assert_eq!(refusal.status, 503);
    assert_eq!(refusal.error().0, "leafgate_busy");
    assert!(refusal.error().1.contains("limit `bodies`"), "{}", refusal.error().1);
    assert!(!refusal.headers.contains_key("x-should-retry"), "the next try may find room");
    assert_eq!(refusal.headers["retry-after"], "1");
    drop(release);
    assert_eq!(first.await.unwrap().status, 200);
    let again = tokio::spawn(async move { Client::connect(address).await.whole(chat(large)).await });
    drop(arrivals.recv().await.unwrap());
    assert_eq!(again.await.unwrap().status, 200, "what has left makes room");
}

#[tokio::test]
async fn a_head_is_read_as_far_as_large_providers_read_it() {
    let gate = gate_with("", "echo:", |_| ()).await;
    let body = says("hi");
    for (kibibytes, status) in [(120, "HTTP/1.1 200 "), (320, "HTTP/1.1 431 ")] {
        let mut stream = TcpStream::connect(gate.address).await.unwrap();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\nx-much: {}\r\n\r\n",
            gate.address,
            body.len(),
            "a ".repeat(kibibytes * 512)
        );
        // The gate may close its side before it has read all of a head that is too long.
        let _ = stream.write_all((head + &body).as_bytes()).await;
        let mut answer = [0; 13];
        tokio::time::timeout(SOON, stream.read_exact(&mut answer)).await.unwrap().unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), status, "{kibibytes} KiB");
    }
}

#[tokio::test]
async fn a_body_that_trickles_is_refused() {
    let gate = gate_with("", "echo:", |limits| limits.body_time = SHORT).await;
    let mut stream = TcpStream::connect(gate.address).await.unwrap();
    let head = format!(
        "POST /v1/x HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\nconnection: close\r\n\r\n{{",
        gate.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut refusal = String::new();
    tokio::time::timeout(SOON, stream.read_to_string(&mut refusal)).await.unwrap().unwrap();
    assert!(refusal.starts_with("HTTP/1.1 408 ") && refusal.contains("limit `body-time`"), "{refusal}");
}

/// Connections that do nothing: some that sent nothing yet, one within a header, one that had an answer.
async fn idle_connections(gate: &crate::kit::Running, count: usize) -> (Vec<TcpStream>, Client) {
    let mut idle = Vec::new();
    for number in 1..count {
        let mut stream = TcpStream::connect(gate.address).await.unwrap();
        if number == 1 {
            stream.write_all(b"POST /v1/x HTTP/1.1\r\nho").await.unwrap();
        }
        idle.push(stream);
    }
    let mut client = Client::connect(gate.address).await;
    assert_eq!(client.whole(chat(says("hi"))).await.status, 200);
    (idle, client)
}

#[tokio::test]
async fn idle_connections_shut_nobody_out() {
    let gate = gate_with("", "echo:", |limits| {
        limits.connections = 4;
        // Not within this test.
        limits.idle = 100 * SOON;
    })
    .await;
    let _idle = idle_connections(&gate, 40).await;
    for _ in 0..8 {
        assert_eq!(once(&gate, chat(says("me too"))).await.status, 200);
    }
}

#[tokio::test]
async fn a_connection_with_a_request_is_not_closed_for_another() {
    let (upstream, mut arrivals) = Upstream::held().await;
    let gate = gate_with("", &upstream.url(), |limits| limits.connections = 1).await;
    let address = gate.address;
    let first = tokio::spawn(async move { Client::connect(address).await.whole(chat(says("1"))).await });
    let release = arrivals.recv().await.unwrap();
    let second = tokio::spawn(async move { Client::connect(address).await.whole(chat(says("2"))).await });
    assert!(tokio::time::timeout(SHORT, arrivals.recv()).await.is_err(), "it waits for its turn");
    drop(release);
    assert_eq!(first.await.unwrap().status, 200);
    drop(arrivals.recv().await.unwrap());
    assert_eq!(second.await.unwrap().status, 200);
}

//! A gate that is switched off: a plain proxy, byte for byte.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use leafgate_gate::GateConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::kit::{EMAIL, REDACT_EMAIL, Running, Upstream, answer, full, gate_of, once};

async fn off(upstream: &str) -> Running {
    let mut config = GateConfig::new(upstream.parse().unwrap());
    config.enabled = false;
    gate_of(config, REDACT_EMAIL).await
}

// S0-11
#[tokio::test]
async fn everything_passes_as_it_comes() {
    let upstream = Upstream::start(|seen| async move { answer("x/y", full(seen.body)) }).await;
    let gate = off(&upstream.url()).await;
    assert!(!gate.gate.status().enabled);
    let binary: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    for (method, path, kind, body) in [
        (
            Method::POST,
            "/v1/chat/completions",
            "application/json",
            format!("{{\"a\": \"{EMAIL}\" ").into_bytes(),
        ),
        (Method::POST, "/anything/at/all?q=%zz", "multipart/form-data; boundary=x", binary),
        (Method::GET, "/v1/models", "text/plain", b"a body all the same".to_vec()),
        (Method::OPTIONS, "/v1/%2e%2e/x", "text/plain", Vec::new()),
        (Method::from_bytes(b"BREW").unwrap(), "/pot", "application/json", b"{}".to_vec()),
    ] {
        let request = Request::builder().method(&method).uri(path).header("content-type", kind);
        let answer = once(&gate, request.body(Full::new(Bytes::from(body.clone()))).unwrap()).await;
        assert_eq!(answer.status, 200, "{method} {path}");
        assert_eq!(answer.body, body, "{method} {path}");
        let seen = upstream.seen().pop().unwrap();
        assert_eq!((seen.method, seen.target.as_str(), &seen.body[..]), (method, path, &body[..]));
        assert!(!answer.headers.contains_key("leafgate-generation"));
    }
}

#[tokio::test]
async fn a_page_of_another_site_is_refused_all_the_same() {
    let upstream = Upstream::silent().await;
    let gate = off(&upstream.url()).await;
    let request = Request::post("/x").header("origin", "https://evil.example");
    let answer = once(&gate, request.body(Full::default()).unwrap()).await;
    assert_eq!((answer.status, upstream.seen().len()), (403, 0));
}

// S0-11
#[tokio::test]
async fn an_upgraded_connection_passes_in_both_directions() {
    // An upstream that agrees to any protocol, and then says everything twice.
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = socket.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        assert!(head.contains("upgrade: websocket") && head.contains("sec-websocket-key: k"), "{head}");
        stream
            .write_all(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nx-own: 1\r\n\r\n")
            .await
            .unwrap();
        loop {
            let Ok(byte) = stream.read_u8().await else { return };
            stream.write_all(&[byte, byte]).await.unwrap();
        }
    });
    let gate = off(&url).await;
    let mut client = TcpStream::connect(gate.address).await.unwrap();
    let request = format!(
        "GET /v1/responses HTTP/1.1\r\nhost: {}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: k\r\n\r\n",
        gate.address
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    assert!(
        head.starts_with("http/1.1 101") && head.contains("upgrade: websocket") && head.contains("x-own: 1"),
        "{head}"
    );
    for byte in [0, 7, 255] {
        client.write_all(&[byte]).await.unwrap();
        let mut twice = [1; 2];
        client.read_exact(&mut twice).await.unwrap();
        assert_eq!(twice, [byte, byte]);
    }
}

//! Everything that is refused: how, in which words, and that the gate serves on, on the same connection.

use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::Full;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::kit::{
    Answer, Client, EMAIL, REDACT_EMAIL, Running, SOON, Upstream, answer, behind, chat, full, gate,
    gate_with, once, post, refusing, says,
};

/// Sends a request that must be refused, and then one that must not, over one connection.
async fn refused(gate: &Running, request: Request<Full<Bytes>>) -> Answer {
    let mut client = Client::connect(gate.address).await;
    let refusal = client.whole(request).await;
    assert_eq!(refusal.headers["content-type"], "application/json");
    assert_eq!(client.whole(chat(says("still there?"))).await.status, 200, "the gate serves on");
    refusal
}

fn with(mut request: Request<Full<Bytes>>, name: &'static str, value: &str) -> Request<Full<Bytes>> {
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

#[tokio::test]
async fn each_refusal_has_its_status_and_code() {
    let gate = gate(REDACT_EMAIL, "echo:").await;
    let hi = || chat(says("hi"));
    let get_with_body = Request::get("/v1/models").body(Full::from("x")).unwrap();
    let deep = format!("{}1{}", "[".repeat(201), "]".repeat(201));
    let many = format!("[{}1]", "1,".repeat(1_999_999));
    let cases = [
        (403, "leafgate_foreign_origin", with(hi(), "host", "evil.example:80")),
        (403, "leafgate_foreign_origin", with(hi(), "origin", "https://evil.example")),
        (404, "leafgate_unsupported", post("/elsewhere", "{}")),
        (405, "leafgate_unsupported", Request::options("/v1/models").body(Full::default()).unwrap()),
        (400, "leafgate_malformed", get_with_body),
        (426, "leafgate_unsupported", with(hi(), "upgrade", "websocket")),
        (415, "leafgate_unsupported", with(hi(), "content-type", "multipart/form-data; boundary=x")),
        (415, "leafgate_unsupported", with(hi(), "content-encoding", "compress")),
        (400, "leafgate_malformed", with(hi(), "content-encoding", "gzip")),
        (400, "leafgate_malformed", with(hi(), "connection", "content-encoding")),
        (400, "leafgate_malformed", post("/v1/files%2f..%2fadmin", "{}")),
        (400, "leafgate_malformed", post("/v1/..;/admin", "{}")),
        (400, "leafgate_malformed", chat("no json")),
        (400, "leafgate_malformed", chat(r#"{"messages": ["#)),
        (400, "leafgate_malformed", chat(&b"{\"a\": \"\xff\"}"[..])),
        (413, "leafgate_too_large", chat(deep)),
        (413, "leafgate_too_large", chat(many)),
    ];
    for (status, code, request) in cases {
        let shown = format!("{} {} {:?}", request.method(), request.uri(), request.headers());
        let refusal = refused(&gate, request).await;
        assert_eq!((refusal.status, refusal.error().0.as_str()), (status, code), "{shown}");
        assert_eq!(refusal.headers["x-should-retry"], "false", "{shown}");
    }
}

#[tokio::test]
async fn a_syntax_error_says_where_and_not_what() {
    let gate = gate(REDACT_EMAIL, "echo:").await;
    let (_, message) = refused(&gate, chat(format!("{{\"a\":\n \"{EMAIL}\" x}}"))).await.error();
    assert!(message.contains("line 2, column"), "{message}");
    assert!(!message.contains("jane"), "{message}");
}

#[tokio::test]
async fn odd_but_valid_json_passes() {
    let gate = gate("", "echo:").await;
    for body in [r#"{"a": "\udeaa"}"#, r#"{"a": 1, "a": 2}"#, "{\"a\": \"\\u0000\u{2028}\"}", "1", "[]"] {
        assert_eq!(once(&gate, post("/v1/x", body)).await.text(), body);
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_however_it_comes() {
    let gate = gate_with("", "echo:", |limits| limits.body = 1000).await;
    let refusal = refused(&gate, chat(says(&"x".repeat(1000)))).await;
    assert_eq!(refusal.status, 413);
    assert!(refusal.error().1.contains("1000 bytes"));
    // Chunked, so that no length is declared.
    let mut stream = TcpStream::connect(gate.address).await.unwrap();
    let head = format!(
        "POST /v1/x HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        gate.address
    );
    let chunk = format!("400\r\n{}\r\n0\r\n\r\n", "x".repeat(0x400));
    stream.write_all((head + &chunk).as_bytes()).await.unwrap();
    let mut refusal = String::new();
    tokio::time::timeout(SOON, stream.read_to_string(&mut refusal)).await.unwrap().unwrap();
    assert!(refusal.starts_with("HTTP/1.1 413 "), "{refusal}");
}

#[tokio::test]
async fn a_compression_bomb_is_refused() {
    use std::io::Write;
    let gate = gate("", "echo:").await;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..64 {
        encoder.write_all(&vec![b' '; 1024 * 1024]).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 100_000);
    let refusal = refused(&gate, with(chat(bomb), "content-encoding", "gzip")).await;
    assert_eq!(refusal.status, 413);
}

#[tokio::test]
async fn contradicting_lengths_are_no_request() {
    let (upstream, gate) = behind("").await;
    for lengths in ["content-length: 2\r\ncontent-length: 3", "content-length: 2, 3", "content-length: +2"] {
        let mut stream = TcpStream::connect(gate.address).await.unwrap();
        let head = format!(
            "POST /v1/x HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n{lengths}\r\n\r\n{{}}x",
            gate.address
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(SOON, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{lengths}: {answer}");
    }
    assert!(upstream.seen().is_empty());
    assert_eq!(once(&gate, chat(says("hi"))).await.status, 200);
}

#[tokio::test]
async fn who_expects_100_continue_gets_it() {
    let gate = gate("", "echo:").await;
    let mut stream = TcpStream::connect(gate.address).await.unwrap();
    let head = format!(
        "POST /v1/x HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 2\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
        gate.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut interim = [0; 25];
    tokio::time::timeout(SOON, stream.read_exact(&mut interim)).await.unwrap().unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{}").await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(SOON, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("{}"), "{answer}");
}

const BLOCKS: &str = r#"
[[rule]]
id = "no-projects"
match = { role = "user" }
when = 'leaf.text.contains("falcon")'
action = "block"
reason = "Project names stay in the house"
"#;

#[tokio::test]
async fn a_blocked_request_reaches_no_upstream_and_hears_the_reason_of_the_rule() {
    let (upstream, gate) = behind(BLOCKS).await;
    for stream in ["", r#""stream": true, "#] {
        let body = says("tell me about falcon").replacen('{', &format!("{{{stream}"), 1);
        let mut client = Client::connect(gate.address).await;
        let refusal = client.whole(chat(body)).await;
        assert_eq!(refusal.status, 400);
        let (code, message) = refusal.error();
        assert_eq!(code, "leafgate_blocked");
        assert!(
            message.contains("no-projects") && message.contains("Project names stay in the house"),
            "{message}"
        );
        assert!(!message.contains("falcon"));
        assert_eq!(refusal.headers["x-should-retry"], "false");
        assert!(refusal.headers.contains_key("leafgate-generation"));
    }
    assert!(upstream.seen().is_empty());
}

#[tokio::test]
async fn an_upstream_that_cannot_be_reached_is_named_with_the_cause_and_may_be_asked_again() {
    let (_bound, nobody) = refusing();
    let plain = Upstream::silent().await;
    let no_tls = plain.url().replace("http://", "https://");
    for (upstream, cause) in [
        (nobody.as_str(), "nothing listens on its port"),
        ("http://leafgate.invalid", "no address is known for its host name"),
        (&no_tls, "no TLS connection could be made"),
    ] {
        let gate = gate("", upstream).await;
        let refusal = once(&gate, chat(says("hi"))).await;
        assert_eq!(refusal.status, 502);
        assert!(!refusal.headers.contains_key("x-should-retry"));
        let (_, message) = refusal.error();
        assert!(message.contains(upstream) && message.contains(cause), "{message}");
        assert!(!message.contains("os error"), "the operator's words stay in the log: {message}");
    }
}

#[tokio::test]
async fn a_redirect_does_not_lead_past_the_gate() {
    let upstream = Upstream::start(|_| async {
        let mut response = answer("text/plain", full(""));
        *response.status_mut() = http::StatusCode::TEMPORARY_REDIRECT;
        response
            .headers_mut()
            .insert("location", HeaderValue::from_static("https://elsewhere.example/v1/chat/completions"));
        response
    })
    .await;
    let gate = gate("", &upstream.url()).await;
    let refusal = once(&gate, chat(says("hi"))).await;
    assert_eq!(refusal.status, 502);
    assert!(!refusal.headers.contains_key("location"));
    assert_eq!(refusal.headers["x-should-retry"], "false");
}

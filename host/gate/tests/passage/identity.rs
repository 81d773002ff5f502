//! Invariant 1: a request that nothing edits leaves byte for byte as it came.

use std::io::Write;

use bytes::Bytes;
use http_body_util::Full;
use leafgate_gate::OnUnread;
use leafgate_harness::recordings;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::kit::{
    Client, EMAIL, REDACT_EMAIL, SOON, Upstream, behind, chat, gate, gate_with_files, once, post, says,
};

/// Matches everything and changes nothing.
const WATCHES: &str = r#"
mode = "monitor"
[[rule]]
id = "all"
match = {}
detect = ["secrets", "pii"]
action = "redact"
[[rule]]
id = "polite"
match = { role = "user" }
action = "rewrite"
append = " please"
"#;

fn gzip(body: &[u8]) -> Bytes {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap().into()
}

/// Sends a body through a gate, plain and compressed, and compares what arrives.
async fn arrives_unchanged(client: &mut Client, upstream: &Upstream, path: &str, name: &str, body: &Bytes) {
    for (coding, sent) in [("identity", body.clone()), ("gzip", gzip(body))] {
        let mut request = post(path, sent.clone());
        if coding != "identity" {
            request.headers_mut().insert("content-encoding", coding.parse().unwrap());
        }
        let answer = client.whole(request).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        let seen = upstream.seen().pop().unwrap();
        assert!(seen.body == sent, "{name}, {coding}: the body changed");
        assert_eq!(seen.headers["content-length"], sent.len().to_string());
        assert_eq!(seen.headers.get("content-encoding").is_some(), coding != "identity");
    }
}

#[tokio::test]
async fn untouched_is_identical_over_recorded_requests() {
    for (path, format) in [
        ("/v1/chat/completions", "openai-chat"),
        ("/v1/responses", "openai-responses"),
        ("/v1/messages?beta=true", "anthropic-messages"),
    ] {
        let recorded = recordings::read(format, ".request.json");
        assert!(!recorded.is_empty(), "every clone has recordings of {format}");
        for rules in ["", WATCHES] {
            let upstream = Upstream::silent().await;
            let gate = gate_with_files(rules, &upstream.url(), OnUnread::Pass).await;
            let mut client = Client::connect(gate.address).await;
            for file in &recorded {
                let body = file.body.clone().into();
                arrives_unchanged(&mut client, &upstream, path, &file.name, &body).await;
            }
        }
    }
}

/// JSON with the spellings that a serialiser would not choose: blanks, escapes, number forms, duplicate keys.
fn json_text() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("-0.0e+00".to_owned()),
        Just("1E400".to_owned()),
        Just(r#""\ud800 \u0041\/""#.to_owned()),
        Just(format!("\"{EMAIL}\"")),
        Just("\"\u{2028}\u{0}\"".replace('\u{0}', "\\u0000")),
        "[0-9]{1,30}".prop_map(|digits| format!("1{digits}")),
        "\"[ a-zé€]{0,8}\"",
    ];
    scalar.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec((inner.clone(), "[ \n\t\r]{0,2}"), 0..5).prop_map(|items| format!(
                "[{}]",
                items
                    .iter()
                    .map(|(item, blank)| format!("{blank}{item}{blank}"))
                    .collect::<Vec<_>>()
                    .join(",")
            )),
            prop::collection::vec(("\"(a|b|content|role|messages)\"", inner, "[ \n\t\r]{0,2}"), 0..5)
                .prop_map(|members| {
                    let members: Vec<_> = members
                        .iter()
                        .map(|(key, value, blank)| format!("{blank}{key}{blank}:{value}{blank}"))
                        .collect();
                    format!("{{{}}}", members.join(","))
                }),
        ]
    })
}

// S0-12
#[test]
fn untouched_is_identical_over_any_json() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (upstream, gates) = runtime.block_on(async {
        let upstream = Upstream::silent().await;
        let gates = [gate("", &upstream.url()).await, gate(WATCHES, &upstream.url()).await];
        (upstream, gates)
    });
    let config = ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let check = |json: String| {
        runtime.block_on(async {
            for gate in &gates {
                let mut client = Client::connect(gate.address).await;
                for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/x"] {
                    arrives_unchanged(&mut client, &upstream, path, &json, &Bytes::from(json.clone())).await;
                }
            }
        });
        Ok(())
    };
    runner.run(&json_text(), check).unwrap();
}

/// What no decoder gives out was looked at by no rule.
#[tokio::test]
async fn a_compressed_body_that_may_hold_more_than_was_looked_at_leaves_decoded() {
    let (upstream, gate) = behind("").await;
    let body = says("hi");
    let mut named = Vec::new();
    let mut encoder =
        flate2::GzBuilder::new().filename(EMAIL).write(&mut named, flate2::Compression::default());
    encoder.write_all(body.as_bytes()).unwrap();
    encoder.finish().unwrap();
    let frame = zstd::encode_all(body.as_bytes(), 3).unwrap();
    let length = u32::try_from(EMAIL.len()).unwrap().to_le_bytes();
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18][..], &length, EMAIL.as_bytes()].concat();
    for (coding, sent) in [("gzip", named), ("zstd", [frame.clone(), skipped].concat())] {
        assert!(sent.windows(EMAIL.len()).any(|window| window == EMAIL.as_bytes()));
        let mut request = chat(sent);
        request.headers_mut().insert("content-encoding", coding.parse().unwrap());
        assert_eq!(Client::connect(gate.address).await.whole(request).await.status, 200);
        let seen = upstream.seen().pop().unwrap();
        assert_eq!(seen.body, body, "{coding}");
        assert!(!seen.headers.contains_key("content-encoding"));
    }
    let mut request = chat(frame.clone());
    request.headers_mut().insert("content-encoding", "zstd".parse().unwrap());
    Client::connect(gate.address).await.whole(request).await;
    assert_eq!(upstream.seen().pop().unwrap().body, frame);
}

#[tokio::test]
async fn an_edited_body_leaves_decoded() {
    let (upstream, gate) = behind(REDACT_EMAIL).await;
    let body = says(&format!("write to {EMAIL}"));
    let mut request = chat(body.clone()).map(|_| Full::new(gzip(body.as_bytes())));
    request.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
    let answer = Client::connect(gate.address).await.whole(request).await;
    assert_eq!(answer.headers["leafgate-edits"], "1");
    let seen = upstream.only();
    assert_eq!(seen.body, body.replace(EMAIL, &crate::kit::email_token()));
    assert!(!seen.headers.contains_key("content-encoding"));
    assert_eq!(seen.headers["content-length"], seen.body.len().to_string());
}

#[tokio::test]
async fn a_rule_that_warns_changes_nothing_and_the_answer_names_it() {
    let upstream = Upstream::silent().await;
    let warns = gate(&WATCHES.replace("monitor", "warn"), &upstream.url()).await;
    let mut client = Client::connect(warns.address).await;
    let body = says(EMAIL);
    let answer = client.whole(chat(body.clone())).await;
    assert_eq!((answer.status, &answer.headers["leafgate-warnings"]), (200, &"all, polite".parse().unwrap()));
    assert_eq!(upstream.seen().pop().unwrap().body, body);
    let watches = gate(WATCHES, &upstream.url()).await;
    let mut client = Client::connect(watches.address).await;
    assert!(client.whole(chat(body)).await.headers.get("leafgate-warnings").is_none());
}

#[tokio::test]
async fn a_request_leaves_with_its_tags_and_with_none_of_its_clients() {
    let tags = |words: &str| {
        format!(
            "[[rule]]\nid = 't'\nmatch = {{}}\nwhen = 'leaf.text.contains(\"{words}\")'\naction = 'tag'\ntag = 'payments'\n"
        )
    };
    for (words, tagged) in [("hello", Some("payments")), ("bye", None)] {
        let (upstream, gate) = behind(&tags(words)).await;
        let body = says("hello");
        let mut request = chat(body.clone());
        request.headers_mut().insert("leafgate-tags", "mine".parse().unwrap());
        assert_eq!(Client::connect(gate.address).await.whole(request).await.status, 200);
        let seen = upstream.only();
        assert_eq!(seen.body, body);
        assert_eq!(seen.headers.get("leafgate-tags").map(|value| value.to_str().unwrap()), tagged);
    }
}

/// One in chunks says no length, and servers want one.
#[tokio::test]
async fn a_body_in_chunks_leaves_with_its_length() {
    let upstream = Upstream::silent().await;
    let gate = gate("", &upstream.url()).await;
    let mut stream = TcpStream::connect(gate.address).await.unwrap();
    let body = says(&"x".repeat(100_000));
    let (one, other) = body.split_at(50_000);
    let chunks = format!("{:x}\r\n{one}\r\n{:x}\r\n{other}\r\n0\r\n\r\n", one.len(), other.len());
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        gate.address
    );
    stream.write_all((head + &chunks).as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(SOON, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    let seen = upstream.only();
    assert_eq!(seen.body, body);
    assert_eq!(seen.headers["content-length"], seen.body.len().to_string());
    assert!(!seen.headers.contains_key("transfer-encoding"));
}

#[tokio::test]
async fn invariant_1_what_is_no_json_leaves_as_it_came_where_no_rule_looks() {
    let (upstream, gate) = behind("").await;
    for body in ["no JSON", "{", "[1, 2"] {
        assert_eq!(once(&gate, chat(body)).await.status, 200, "{body}");
        assert_eq!(upstream.seen().last().unwrap().body, Bytes::from(body));
    }
    let (upstream, gate) = behind(REDACT_EMAIL).await;
    assert_eq!(once(&gate, chat("no JSON")).await.status, 400);
    assert!(upstream.seen().is_empty());
}

//! Several upstreams behind one gate, each with what is its own: policy, restoring, paths whose bodies may be anything, a proxy, a
//! certificate authority.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use leafgate_gate::{GateConfig, NamedUpstream, OnUnread, OwnPolicy, Proxy, Reach, UpstreamConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::kit::{
    Client, EMAIL, REDACT_EMAIL, Running, Upstream, chat, email_token, gate_of, gate_with_files, json_answer,
    once, policy, post, says,
};

fn named(name: &str, upstream: &Upstream) -> NamedUpstream {
    NamedUpstream {
        name: name.parse().unwrap(),
        upstream: UpstreamConfig::new(upstream.url().parse().unwrap()),
    }
}

async fn before(upstream: &Upstream, named: Vec<NamedUpstream>) -> Running {
    let mut config = GateConfig::new(upstream.url().parse().unwrap());
    config.named = named;
    gate_of(config, REDACT_EMAIL).await
}

#[tokio::test]
async fn a_path_chooses_the_upstream_and_the_name_does_not_leave() {
    let (first, a) = (Upstream::silent().await, Upstream::silent().await);
    let gate = before(&first, vec![named("a", &a)]).await;
    assert_eq!(once(&gate, post("/u/a/v1/chat/completions?x=1", says(EMAIL))).await.status, 200);
    assert_eq!(once(&gate, chat(says("hi"))).await.status, 200);
    let seen = a.only();
    assert_eq!(seen.target, "/v1/chat/completions?x=1");
    assert_eq!(format!("http://{}", seen.headers["host"].to_str().unwrap()), a.url());
    assert!(String::from_utf8_lossy(&seen.body).contains(&email_token()), "rules run for all upstreams");
    assert_eq!(first.only().target, "/v1/chat/completions");
    let refused = once(&gate, post("/u/b/v1/chat/completions", says(EMAIL))).await;
    assert_eq!((refused.status, refused.error().0.as_str()), (404, "leafgate_unsupported"));
    // What is a path below a name is judged as that path.
    assert_eq!(once(&gate, post("/u/a/elsewhere", says("hi"))).await.status, 404);
    assert_eq!(once(&gate, post("/u/a/v1/../x", says("hi"))).await.status, 400);
    assert_eq!(a.seen().len() + first.seen().len(), 2);
}

#[tokio::test]
async fn an_upstream_has_its_own_policy_and_its_own_way_with_answers() {
    let repeats = |seen: crate::kit::Seen| async move {
        let request: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
        let said = &request["messages"][0]["content"];
        json_answer(
            json!({ "choices": [{ "message": { "role": "assistant", "content": said } }] }).to_string(),
        )
    };
    let [first, open, kept] =
        [Upstream::start(repeats).await, Upstream::start(repeats).await, Upstream::start(repeats).await];
    let mut open_upstream = named("open", &open);
    open_upstream.upstream.policy = Some(OwnPolicy { source: "none".to_owned(), policy: policy("") });
    let mut kept_upstream = named("kept", &kept);
    kept_upstream.upstream.restore = false;
    let gate = before(&first, vec![open_upstream, kept_upstream]).await;
    let mut client = Client::connect(gate.address).await;
    let mut said = async |path: &str| client.whole(post(path, says(EMAIL))).await.text().to_owned();
    assert!(said("/v1/chat/completions").await.contains(EMAIL), "restored");
    assert!(said("/u/open/v1/chat/completions").await.contains(EMAIL));
    let answer = said("/u/kept/v1/chat/completions").await;
    assert!(answer.contains(&email_token()) && !answer.contains(EMAIL), "{answer}");
    let left = |upstream: &Upstream| String::from_utf8(upstream.only().body.to_vec()).unwrap();
    assert!(left(&first).contains(&email_token()) && left(&kept).contains(&email_token()));
    assert!(left(&open).contains(EMAIL), "its policy has no rules");

    let own = |status: &leafgate_admin::Status, name: &str| {
        let upstream = status.upstreams.iter().find(|upstream| upstream.name == name).unwrap();
        upstream.policy.clone()
    };
    let status = gate.gate.status();
    assert_eq!(own(&status, "open").unwrap().source, "none");
    assert_eq!(own(&status, "kept"), None);
    // A reload of one is no reload of another.
    gate.gate.upstream_policy(&"open".parse().unwrap(), Ok(policy(REDACT_EMAIL)));
    gate.gate.upstream_policy(&"kept".parse().unwrap(), Err("not this one".to_owned()));
    let status = gate.gate.status();
    assert_eq!(
        (own(&status, "open").unwrap().loads, status.policy.loads, own(&status, "kept")),
        (2, 1, None)
    );
    let answer = once(&gate, post("/u/open/v1/chat/completions", says(EMAIL))).await;
    assert_eq!(answer.status, 200);
    assert!(String::from_utf8_lossy(&open.seen()[1].body).contains(&email_token()));
}

// S0-121
#[tokio::test]
async fn what_is_no_json_is_one_text_where_its_path_is_named() {
    let first = Upstream::silent().await;
    let mut config = GateConfig::new(first.url().parse().unwrap());
    let leafgate_gate::FirstUpstream::Own(upstream) = &mut config.upstream else { panic!("it has no name") };
    upstream.raw = vec!["/v1/raw/*".parse().unwrap(), "/upload".parse().unwrap()];
    let gate = gate_of(config, REDACT_EMAIL).await;
    let send = |path: &str, body: String| {
        Request::post(path).header("content-type", "text/plain").body(Full::new(body.into())).unwrap()
    };
    let plain = "a: b\n\u{e9} {not json";
    for path in ["/v1/raw/x", "/upload"] {
        assert_eq!(once(&gate, send(path, plain.to_owned())).await.status, 200, "{path}");
    }
    assert_eq!(first.seen()[0].body, plain, "byte for byte");
    once(&gate, send("/v1/raw/x", format!("write to {EMAIL}, please"))).await;
    let left = first.seen();
    let left: Vec<_> = left.iter().map(|seen| String::from_utf8_lossy(&seen.body)).collect();
    assert!(left.iter().all(|body| !body.contains(EMAIL)), "{left:?}");
    let refused = once(&gate, send("/v1/other", plain.to_owned())).await;
    assert_eq!(refused.status, 415);
    assert!(refused.error().1.contains("setting `raw`"), "{}", refused.error().1);
}

/// A form as clients of files and of transcriptions send it.
pub(crate) fn upload(path: &str, name: &str, file: &[u8]) -> Request<Full<Bytes>> {
    let mut body =
        b"--bnd\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--bnd\r\n".to_vec();
    body.extend(
        format!("Content-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n").bytes(),
    );
    body.extend_from_slice(file);
    body.extend_from_slice(b"\r\n--bnd--\r\n");
    let kind = "multipart/form-data; boundary=bnd";
    Request::post(path).header("content-type", kind).body(Full::new(body.into())).unwrap()
}

#[tokio::test]
async fn an_upload_leaves_byte_for_byte_unless_something_is_found_in_it_or_nothing_can_be() {
    let first = Upstream::silent().await;
    let mut config = GateConfig::new(first.url().parse().unwrap());
    let leafgate_gate::FirstUpstream::Own(upstream) = &mut config.upstream else { panic!("it has no name") };
    upstream.raw = vec!["/v1/raw/*".parse().unwrap()];
    let gate = gate_of(config, REDACT_EMAIL).await;
    let (sound, archive) = (&b"ID3\x04\0\xff\xfe\0"[..], &b"PK\x03\x04\x14\0\xff"[..]);
    let batch = b"{\"custom_id\": \"1\", \"body\": {}}\n";
    for (path, name, file) in [
        ("/v1/audio/transcriptions", "a.mp3", sound),
        ("/v1/files", "batch.jsonl", batch),
        ("/v1/raw/x", "a.zip", archive),
    ] {
        let sent = upload(path, name, file);
        let whole = sent.body().clone().collect().await.unwrap().to_bytes();
        let answer = once(&gate, sent).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert_eq!(first.seen().pop().unwrap().body, whole, "{path}");
    }
    let left = first.seen().len();
    let letter = format!("Dear {EMAIL},\n");
    for (path, name, file) in
        [("/v1/files", "letter.txt", letter.as_bytes()), ("/v1/files", EMAIL, &batch[..])]
    {
        let answer = once(&gate, upload(path, name, file)).await;
        assert_eq!((answer.status, answer.error().0.as_str()), (400, "leafgate_blocked"), "{name}");
        assert!(!answer.text().contains(EMAIL));
    }
    let answer = once(&gate, upload("/v1/files", "a.zip", archive)).await;
    assert_eq!(answer.status, 415);
    assert!(answer.error().1.starts_with("part 2 of the upload"), "{}", answer.error().1);
    let cut = upload("/v1/files", "a.txt", b"x").map(|_| Full::new(Bytes::from_static(b"--bnd\r\nx")));
    assert_eq!(once(&gate, cut).await.status, 400);
    assert_eq!(first.seen().len(), left, "nothing of these left");
    let none = gate_of(GateConfig::new(first.url().parse().unwrap()), "").await;
    assert_eq!(once(&none, upload("/v1/files", "a.zip", archive)).await.status, 200, "no rule looks");
}

/// P-13: what an upload was refused for left in a string of JSON, unread and unsaid.
#[tokio::test]
async fn a_file_that_nobody_can_look_into_has_one_verdict_wherever_it_stands() {
    let [pdf, zip, gzip] = [
        "JVBERi0xLjcKJeLjz9MKMSAwIG9iago8PC9GbGF0ZQ==",
        "UEsDBBQAAAAIAAAAIQDrOJzAAAAAAAAAAAAAAAAA",
        "H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==",
    ];
    let user = |content: Value| json!({ "model": "m", "messages": [{ "role": "user", "content": content }] });
    let bodies = [
        (
            "/v1/chat/completions",
            user(
                json!([{ "type": "file", "file": { "file_data": format!("data:application/pdf;base64,{pdf}") } }]),
            ),
        ),
        (
            "/v1/chat/completions",
            user(
                json!([{ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{zip}") } }]),
            ),
        ),
        ("/v1/chat/completions", user(json!(gzip))),
        (
            "/v1/messages",
            user(
                json!([{ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": pdf } }]),
            ),
        ),
        (
            "/v1/messages",
            user(
                json!([{ "type": "tool_result", "tool_use_id": "t", "content": format!("data:application/gzip;base64,{gzip}") }]),
            ),
        ),
        (
            "/v1/messages",
            user(
                json!([{ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "/v/+//7+/v7+/v7+/v7+/v7+/v7+/v7+" } }]),
            ),
        ),
        ("/v1/embeddings", json!({ "model": "m", "input": zip })),
    ];
    for &on_unread in OnUnread::ALL {
        let first = Upstream::silent().await;
        let gate = gate_with_files(REDACT_EMAIL, &first.url(), on_unread).await;
        let expected = if on_unread == OnUnread::Pass { 200 } else { 415 };
        for (path, body) in &bodies {
            let answer = once(&gate, post(path, body.to_string())).await;
            assert_eq!(answer.status, expected, "{path} {body}: {}", answer.text());
            assert!(expected == 200 || answer.text().contains("cannot be looked into"), "{}", answer.text());
        }
        assert_eq!(once(&gate, upload("/v1/files", "a.pdf", b"%PDF-1.7\n")).await.status, expected);
        assert_eq!(first.seen().len(), if expected == 200 { bodies.len() + 1 } else { 0 });
        assert_eq!(gate.gate.status().requests.unread, bodies.len() as u64 + 1);
        let plain = once(&gate, chat(says("JVBERi0x is how a PDF begins"))).await;
        assert_eq!(plain.status, 200);
    }
}

/// A proxy that gives tunnels to one address, whatever is asked for, and notes what that was.
async fn proxy(to: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://ann:hunter2@{}", socket.local_addr().unwrap());
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = socket.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(client.read_u8().await.unwrap());
            }
            kept.lock().unwrap().push(String::from_utf8(head).unwrap());
            let mut upstream = TcpStream::connect(to.trim_start_matches("http://")).await.unwrap();
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut upstream).await });
        }
    });
    (url, heads)
}

#[tokio::test]
async fn a_proxy_gives_a_tunnel_and_sees_no_request() {
    let first = Upstream::silent().await;
    let (url, heads) = proxy(first.url()).await;
    let mut upstream = UpstreamConfig::new("http://model.invalid:8080".parse().unwrap());
    upstream.reach = Reach { proxy: Proxy::At(url), ..Reach::default() };
    let mut config = GateConfig::new("echo:".parse().unwrap());
    config.named = vec![NamedUpstream { name: "far".parse().unwrap(), upstream }];
    let gate = gate_of(config, "").await;
    assert_eq!(once(&gate, post("/u/far/v1/chat/completions", says("hi"))).await.status, 200);
    assert_eq!(first.only().headers["host"], "model.invalid:8080");
    let heads = heads.lock().unwrap().clone();
    assert!(heads.len() == 1 && heads[0].starts_with("CONNECT model.invalid:8080 HTTP/1.1\r\n"), "{heads:?}");
    assert!(heads[0].to_lowercase().contains("proxy-authorization: basic "), "{heads:?}");
    assert!(!first.only().headers.contains_key("proxy-authorization"));
}

#[tokio::test]
async fn a_proxy_that_is_gone_is_named_without_its_password() {
    let (_socket, refusing) = crate::kit::refusing();
    let mut upstream = UpstreamConfig::new("http://model.invalid".parse().unwrap());
    let url = refusing.replace("http://", "http://ann:hunter2@");
    upstream.reach = Reach { proxy: Proxy::At(url), ..Reach::default() };
    let mut config = GateConfig::new("echo:".parse().unwrap());
    config.named = vec![NamedUpstream { name: "far".parse().unwrap(), upstream }];
    let gate = gate_of(config, "").await;
    let answer = once(&gate, post("/u/far/v1/chat/completions", says("hi"))).await;
    let (code, message) = answer.error();
    assert_eq!((answer.status, code.as_str()), (502, "leafgate_upstream"));
    assert!(message.contains("setting `proxy`") && !message.contains("hunter2"), "{message}");
}

//! What passes, and what of its header.

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::Full;

use crate::kit::{
    Client, EMAIL, REDACT_EMAIL, Upstream, answer, behind, chat, email_token, full, gate, once, says,
};

fn get(path: &str) -> Request<Full<Bytes>> {
    Request::get(path).body(Full::default()).unwrap()
}

#[tokio::test]
async fn method_path_and_query_pass_byte_for_byte() {
    let upstream = Upstream::silent().await;
    let gate = gate("", &format!("{}/prefix/", upstream.url())).await;
    let mut client = Client::connect(gate.address).await;
    let paths = ["/v1/models?limit=%31&beta=true", "/v1/files/a%2Fb/content?", "/"];
    for path in paths {
        assert_eq!(client.whole(get(path)).await.status, 200);
    }
    let deleted = Request::delete("/v1/files/f").body(Full::default()).unwrap();
    assert_eq!(client.whole(deleted).await.status, 200);
    let seen: Vec<_> =
        upstream.seen().into_iter().map(|seen| format!("{} {}", seen.method, seen.target)).collect();
    let expected: Vec<_> = paths
        .iter()
        .map(|path| format!("GET /prefix{path}"))
        .chain(["DELETE /prefix/v1/files/f".to_owned()])
        .collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn credentials_pass_and_hop_by_hop_fields_do_not() {
    let (upstream, gate) = behind("").await;
    let mut request = chat(says("hi"));
    for (name, value) in [
        ("authorization", "Bearer k"),
        ("x-api-key", "k"),
        ("openai-beta", "a"),
        ("connection", "keep-alive, x-hop"),
        ("x-hop", "1"),
        ("te", "trailers"),
        ("upgrade", "h2c"),
        ("accept-encoding", "gzip"),
    ] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    once(&gate, request).await;
    let seen = upstream.only().headers;
    assert_eq!(seen["authorization"], "Bearer k");
    assert_eq!(seen["x-api-key"], "k");
    assert_eq!(seen["openai-beta"], "a");
    assert_eq!(seen["accept-encoding"], "gzip", "nothing is to be restored");
    assert_eq!(format!("http://{}", seen["host"].to_str().unwrap()), upstream.url());
    for gone in ["x-hop", "te", "upgrade"] {
        assert!(!seen.contains_key(gone), "{gone}");
    }
}

#[tokio::test]
async fn an_answer_with_tokens_is_asked_for_uncompressed() {
    let (upstream, gate) = behind(REDACT_EMAIL).await;
    let mut request = chat(says(EMAIL));
    request.headers_mut().insert("accept-encoding", "gzip, br".parse().unwrap());
    once(&gate, request).await;
    assert_eq!(upstream.only().headers["accept-encoding"], "identity");
}

#[tokio::test]
async fn status_and_header_of_an_answer_pass() {
    let upstream = Upstream::start(|_| async {
        let mut response = answer("application/json", full(r#"{"error": {"message": "slow down"}}"#));
        *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", "7".parse().unwrap());
        headers.append("set-cookie", "a=1".parse().unwrap());
        headers.append("set-cookie", "b=2".parse().unwrap());
        headers.insert("connection", "x-hop".parse().unwrap());
        headers.insert("x-hop", "1".parse().unwrap());
        response.headers_mut().extend(headers);
        response
    })
    .await;
    let gate = gate("", &upstream.url()).await;
    let answer = once(&gate, chat(says("hi"))).await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.text(), r#"{"error": {"message": "slow down"}}"#);
    assert_eq!(answer.headers["retry-after"], "7");
    assert_eq!(answer.headers.get_all("set-cookie").iter().count(), 2);
    assert!(!answer.headers.contains_key("x-hop"));
    assert_eq!(answer.headers["leafgate-edits"], "0");
    assert_eq!(answer.headers["leafgate-generation"].to_str().unwrap().len(), 12);
}

#[tokio::test]
async fn a_megabyte_is_judged_whole() {
    let (upstream, gate) = behind(REDACT_EMAIL).await;
    let body = says(&format!("{}{EMAIL}{}", "a b ".repeat(300_000), " c d".repeat(300_000)));
    assert_eq!(once(&gate, chat(body.clone())).await.status, 200);
    assert!(upstream.only().body == body.replace(EMAIL, &email_token()));
}

//! Connections that end early, policies that are replaced, and the end of the gate.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::sync::{mpsc, oneshot};

use crate::kit::{
    Client, EMAIL, REDACT_EMAIL, SOON, Upstream, answer, chat, fed, gate, json_answer, once, policy, says,
};

/// Tells when it is dropped.
struct Gone(Option<oneshot::Sender<()>>);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = self.0.take().map(|gone| gone.send(()));
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_cancels_the_upstream() {
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let upstream = Upstream::start(move |_| {
        let (gone, left) = oneshot::channel();
        arrived.send(left).unwrap();
        async move {
            let _gone = Gone(Some(gone));
            std::future::pending().await
        }
    })
    .await;
    let gate = gate("", &upstream.url()).await;
    let address = gate.address;
    let client = tokio::spawn(async move { Client::connect(address).await.send(chat(says("hi"))).await });
    let left = arrivals.recv().await.unwrap();
    client.abort();
    tokio::time::timeout(SOON, left).await.expect("the upstream's request was cancelled").unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_within_the_stream_cancels_the_upstream() {
    let (upstream, mut begins) = Upstream::fed().await;
    let gate = gate("", &upstream.url()).await;
    let mut client = Client::connect(gate.address).await;
    let mut stream = client.send(chat(says("hi"))).await.into_body();
    let feed = begins.recv().await.unwrap();
    feed.send(Ok(Bytes::from(": hello\n\n"))).unwrap();
    stream.frame().await.unwrap().unwrap();
    drop(stream);
    drop(client);
    tokio::time::timeout(SOON, feed.closed()).await.expect("the upstream's answer was cancelled");
}

#[tokio::test]
async fn an_upstream_that_breaks_off_breaks_the_answer_off() {
    for rules in ["", REDACT_EMAIL] {
        let (feed, body) = fed();
        let body = Arc::new(Mutex::new(Some(body)));
        let upstream = Upstream::start(move |_| {
            let body = body.lock().unwrap().take();
            async move { body.map_or_else(|| json_answer("{}"), |body| answer("text/event-stream", body)) }
        })
        .await;
        let gate = gate(rules, &upstream.url()).await;
        let mut stream = Client::connect(gate.address).await.send(chat(says(EMAIL))).await.into_body();
        feed.send(Ok(Bytes::from("data: {}\n\n"))).unwrap();
        stream.frame().await.unwrap().unwrap();
        feed.send(Err(std::io::Error::other("gone"))).unwrap();
        let end = tokio::time::timeout(SOON, stream.frame()).await.unwrap();
        assert!(end.unwrap().is_err(), "a part is not taken for the whole");
        assert_eq!(once(&gate, chat(says("hi"))).await.status, 200);
    }
}

#[tokio::test]
async fn invariant_8_one_request_one_generation() {
    let (upstream, mut arrivals) = Upstream::held().await;
    let gate = gate("", &upstream.url()).await;
    let address = gate.address;
    let first = tokio::spawn(async move { Client::connect(address).await.whole(chat(says("hi"))).await });
    let release = arrivals.recv().await.unwrap();
    let next = policy(REDACT_EMAIL);
    gate.gate.policy_loaded(Arc::clone(&next));
    drop(release);
    let first = first.await.unwrap().headers["leafgate-generation"].clone();
    assert_eq!(first, policy("").generation_name());
    let second = tokio::spawn(async move { Client::connect(address).await.whole(chat(says("hi"))).await });
    drop(arrivals.recv().await.unwrap());
    assert_eq!(second.await.unwrap().headers["leafgate-generation"], next.generation_name());
}

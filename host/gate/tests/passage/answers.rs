//! Answers on their way back: restored where this session has values, otherwise byte for byte.

use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::json;

use crate::kit::{
    Answer, Client, EMAIL, REDACT_EMAIL, SOON, Upstream, chat, email_token, full, gate, gate_with,
    json_answer, once, policy, says,
};

async fn answered(rules: &str, said: &str, answer: (&'static str, String)) -> Answer {
    let upstream = Upstream::start(move |_| {
        let (kind, body) = answer.clone();
        async move { crate::kit::answer(kind, full(body)) }
    })
    .await;
    once(&gate(rules, &upstream.url()).await, chat(says(said))).await
}

#[tokio::test]
async fn a_json_answer_is_restored_and_its_length_fits() {
    let completion = |said: &str| {
        format!(r#"{{ "choices": [ {{"index":0,"message":{{"content": "mail {said}."}}}} ], "n": 1.0 }}"#)
    };
    let answer = answered(REDACT_EMAIL, EMAIL, ("application/json", completion(&email_token()))).await;
    assert_eq!(answer.text(), completion(EMAIL));
    assert_eq!(answer.headers["content-length"], answer.body.len().to_string());
}

#[tokio::test]
async fn each_event_leaves_before_the_next_one_comes() {
    let (upstream, mut begins) = Upstream::fed().await;
    let gate = gate(REDACT_EMAIL, &upstream.url()).await;
    let mut stream = Client::connect(gate.address).await.send(chat(says(EMAIL))).await.into_body();
    let feed = begins.recv().await.unwrap();
    for event in
        [": waiting\n\n", "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", "data: [DONE]\n\n"]
    {
        feed.send(Ok(Bytes::from(event))).unwrap();
        let frame =
            tokio::time::timeout(SOON, stream.frame()).await.expect("the event left").unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), event);
    }
    drop(feed);
    assert!(stream.frame().await.is_none());
}

#[tokio::test]
async fn without_values_any_answer_passes_byte_for_byte() {
    for (kind, body) in [
        ("application/json", "{ \"choices\": [ 1.0e5, \"\\u0041\" ] }"),
        ("application/json", "no json"),
        ("text/event-stream", "\u{feff}data: {\r\n\rdata: [DONE]"),
        ("audio/mpeg", "\u{0}\u{1}"),
    ] {
        let answer = answered("", EMAIL, (kind, body.to_owned())).await;
        assert_eq!(answer.text(), body);
        assert_eq!(answer.headers["content-type"], kind);
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_passes_with_its_tokens() {
    let body =
        format!(r#"{{"choices":[{{"message":{{"content":"{}{}"}}}}]}}"#, email_token(), "x".repeat(3000));
    let sent = body.clone();
    let upstream = Upstream::start(move |_| {
        let sent = sent.clone();
        async move { json_answer(sent) }
    })
    .await;
    let gate = gate_with(REDACT_EMAIL, &upstream.url(), |limits| limits.answer = 1000).await;
    assert_eq!(once(&gate, chat(says(EMAIL))).await.text(), body);
    // So does one that fits where there is no room for it beside the others.
    let gate = gate_with(REDACT_EMAIL, &upstream.url(), |limits| limits.answers = 4096).await;
    assert_eq!(once(&gate, chat(says(EMAIL))).await.text(), body);
}

#[tokio::test]
async fn what_an_earlier_policy_redacted_is_restored_under_one_without_rules() {
    let upstream = Upstream::start(|seen| async move {
        let text = String::from_utf8(seen.body.to_vec()).unwrap();
        let token = text.contains("mail").then(email_token).unwrap_or_default();
        json_answer(
            json!({ "choices": [{ "index": 0, "message": { "role": "assistant", "content": token } }] })
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
}

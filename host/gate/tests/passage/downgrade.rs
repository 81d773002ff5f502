//! Requests that a provider does not take as they are: sent once more without what it names, judged
//! again before, and never after an answer began.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Response;
use serde_json::{Value, json};

use crate::kit::{
    Body, REDACT_EMAIL, Running, Seen, Upstream, answer, chat, fed, full, gate, json_answer, once, post,
};

fn profile(lines: &str) -> String {
    format!(
        "[[assemble]]\nid = \"vault\"\nmatch = {{ model = \"vault\" }}\nagent_mode = true\nmodel = \"m\"\nprompt = {{ type = \"literal\", text = \"Review.\" }}\n{lines}\n"
    )
}

const ALL: &str =
    "downgrade = { on = [\"images\", \"tools\"], models = [\"n\", \"o\"] }\nreplay_stream = true";

fn refusing(status: u16, message: &str) -> Response<Body> {
    let body = json!({ "error": { "message": message, "type": "invalid_request_error" } });
    let mut refusal = json_answer(body.to_string());
    *refusal.status_mut() = http::StatusCode::from_u16(status).unwrap();
    refusal
}

fn says(words: &str) -> Response<Body> {
    let body = json!({ "id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        { "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": words } }
    ]});
    json_answer(body.to_string())
}

/// A provider that takes neither images nor tools nor most models, and says so one by one.
fn picky(seen: &Seen) -> Response<Body> {
    let body = String::from_utf8_lossy(&seen.body).into_owned();
    if body.contains("image_url") {
        return refusing(404, "No endpoints found that support image input");
    }
    if body.contains("\"tools\"") {
        return refusing(400, "model:latest does not support tools");
    }
    if !body.contains("\"model\":\"o\"") {
        return refusing(404, "The model does not exist or you do not have access to it");
    }
    says("Done.")
}

async fn picky_gate(lines: &str) -> (Upstream, Running) {
    let upstream = Upstream::start(|seen| async move { picky(&seen) }).await;
    let gate = gate(&profile(lines), &upstream.url()).await;
    (upstream, gate)
}

fn asks() -> Value {
    json!({
        "model": "vault",
        "messages": [{ "role": "user", "content": [
            { "type": "text", "text": "What is it?" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } },
        ]}],
        "tools": [{ "type": "function", "function": { "name": "look", "parameters": {} } }],
    })
}

// S3-18, S3-19
#[tokio::test]
async fn what_a_provider_refuses_is_left_out_one_by_one() {
    let (upstream, gate) = picky_gate(ALL).await;
    let answer = once(&gate, chat(asks().to_string())).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.headers["leafgate-downgrade"], "images, tools, model");
    let said: Value = serde_json::from_slice(&answer.body).unwrap();
    let said = said["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(said.starts_with("Done.\n\n[leafgate: images were left out"), "{said}");
    let sent: Vec<Value> =
        upstream.seen().iter().map(|seen| serde_json::from_slice(&seen.body).unwrap()).collect();
    assert_eq!(sent.len(), 5, "as it is, without images, without tools, two more models");
    assert_eq!(sent[4]["messages"][1]["content"][1]["text"], "[image left out]");
    assert_eq!((sent[4].get("tools"), &sent[4]["model"]), (None, &json!("o")));
}

// S3-20
#[tokio::test]
async fn what_the_profile_does_not_allow_is_the_clients_to_know() {
    let (upstream, gate) = picky_gate("downgrade = { on = [\"tools\"] }").await;
    let answer = once(&gate, chat(asks().to_string())).await;
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("support image input"), "{}", answer.text());
    assert_eq!(upstream.seen().len(), 1);
    assert_eq!(answer.headers.get("leafgate-downgrade"), None);
}

#[tokio::test]
async fn other_errors_pass_and_nothing_is_sent_twice() {
    for (status, message) in [(429, "does not support tools"), (500, "does not support tools"), (400, "no")] {
        let upstream = Upstream::start(move |_| async move { refusing(status, message) }).await;
        let gate = gate(&profile(ALL), &upstream.url()).await;
        let answer = once(&gate, chat(asks().to_string())).await;
        assert_eq!(answer.status, status);
        assert!(answer.text().contains(message), "{}", answer.text());
        assert_eq!(upstream.seen().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn an_error_within_an_answer_causes_no_second_send() {
    let upstream = Upstream::start(|_| async {
        let (feed, body) = fed();
        feed.send(Ok("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n".into()))
            .unwrap();
        feed.send(Ok("data: {\"error\":{\"message\":\"model does not support tools\"}}\n\n".into())).unwrap();
        answer("text/event-stream", body)
    })
    .await;
    let gate = gate(&profile(ALL), &upstream.url()).await;
    let mut body = asks();
    body["stream"] = json!(true);
    let streamed = once(&gate, chat(body.to_string())).await;
    assert!(streamed.text().contains("Hi") && streamed.text().contains("does not support tools"));
    assert_eq!(upstream.seen().len(), 1);
}

#[tokio::test]
async fn a_lesser_form_is_judged_again() {
    let rules = format!(
        "{}{REDACT_EMAIL}\n[[rule]]\nid = \"no-o\"\nmatch = {{ model = \"o\" }}\naction = \"block\"\nreason = \"Not o\"\n",
        profile(ALL)
    );
    let upstream = Upstream::start(|seen| async move { picky(&seen) }).await;
    let gate = gate(&rules, &upstream.url()).await;
    let answer = once(&gate, chat(asks().to_string())).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("Not o"), "{}", answer.text());
    assert_eq!(upstream.seen().len(), 4, "the last form did not leave");
}

#[tokio::test]
async fn rules_that_write_have_written_once() {
    let rules = format!(
        "{}\n[[rule]]\nid = \"polite\"\nmatch = {{ role = \"system\" }}\naction = \"rewrite\"\nappend = \" Please.\"\n",
        profile(ALL)
    );
    let upstream = Upstream::start(|seen| async move { picky(&seen) }).await;
    let gate = gate(&rules, &upstream.url()).await;
    once(&gate, chat(asks().to_string())).await;
    for seen in upstream.seen() {
        let sent: Value = serde_json::from_slice(&seen.body).unwrap();
        assert_eq!(sent["messages"][0]["content"], "Review. Please.");
    }
}

/// The data of a stream's events that are JSON.
fn events(stream: &str) -> Vec<Value> {
    stream.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect()
}

// S3-17
#[tokio::test]
async fn an_answer_in_one_piece_is_replayed_as_the_stream_that_was_asked_for() {
    let upstream = Upstream::start(|_| async { says("Hello you.") }).await;
    let gate = gate(&profile(ALL), &upstream.url()).await;
    let mut body = asks();
    body["stream"] = json!(true);
    let streamed = once(&gate, chat(body.to_string())).await;
    assert_eq!(streamed.headers["content-type"], "text/event-stream");
    let said: String = events(streamed.text())
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(said, "Hello you.");
    assert!(streamed.text().trim_end().ends_with("data: [DONE]"), "{}", streamed.text());
}

// S3-17
#[tokio::test]
async fn a_provider_that_cannot_stream_is_asked_without_and_its_answer_replayed() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let upstream = Upstream::start(move |seen| {
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            let body: Value = serde_json::from_slice(&seen.body).unwrap();
            if body.get("stream").is_some() {
                return refusing(400, "Unsupported value: 'stream' does not support true with this model.");
            }
            let answer = json!({ "id": "msg", "type": "message", "role": "assistant", "model": "m",
                "content": [{ "type": "text", "text": "Hello." }], "stop_reason": "end_turn",
                "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 } });
            answer_of(answer)
        }
    })
    .await;
    let gate = gate(&profile(ALL), &upstream.url()).await;
    let body = json!({ "model": "vault", "max_tokens": 9, "stream": true,
        "messages": [{ "role": "user", "content": "Hi" }] });
    let streamed = once(&gate, post("/v1/messages", body.to_string())).await;
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    let kinds: Vec<String> = events(streamed.text())
        .iter()
        .map(|event| event["type"].as_str().unwrap_or_default().to_owned())
        .filter(|kind| kind != "ping")
        .collect();
    assert_eq!(kinds.first().map(String::as_str), Some("message_start"), "{}", streamed.text());
    assert_eq!(kinds.last().map(String::as_str), Some("message_stop"));
    assert!(streamed.text().contains("Hello."));
}

/// Of Gemini, where the path says model and method.
// S3-18
#[tokio::test]
async fn a_request_to_gemini_is_made_lessened_and_its_answer_replayed() {
    let upstream = Upstream::start(|seen| async move {
        if String::from_utf8_lossy(&seen.body).contains("inlineData") {
            return refusing(400, "Image input modality is not enabled for models/g");
        }
        let said = json!({ "content": { "role": "model", "parts": [{ "text": "A cat." }] }, "finishReason": "STOP" });
        json_answer(json!({ "candidates": [said] }).to_string())
    })
    .await;
    let policy = "[[assemble]]\nid = \"vault\"\nmatch = { format = \"gemini\" }\nprompt = { type = \"literal\", text = \"Review.\" }\n\
                  downgrade = { on = [\"images\"], footnote = true }\nreplay_stream = true\n";
    let gate = gate(policy, &upstream.url()).await;
    let image = json!({ "inlineData": { "mimeType": "image/png", "data": "AA==" } });
    let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "What is it?" }, image] }] });
    for method in ["generateContent", "streamGenerateContent", "streamGenerateContent?alt=sse"] {
        let answer = once(&gate, post(&format!("/v1beta/models/g:{method}"), body.to_string())).await;
        assert_eq!(answer.status, 200, "{method}: {}", answer.text());
        assert_eq!(answer.headers["leafgate-downgrade"], "images");
        assert!(
            answer.text().contains("A cat.") && answer.text().contains("[leafgate: images"),
            "{}",
            answer.text()
        );
        let streams = method.ends_with("sse");
        assert_eq!(
            answer.headers["content-type"],
            if streams { "text/event-stream" } else { "application/json" }
        );
        assert_eq!(answer.text().starts_with("data: "), streams);
    }
    let sent = upstream.seen();
    assert_eq!(sent.len(), 6, "as it is and without the image, three times");
    assert_eq!(
        String::from_utf8_lossy(&sent[1].body),
        r#"{"contents":[{"parts":[{"text":"What is it?"},{"text":"[image left out]"}],"role":"user"}],"systemInstruction":{"parts":[{"text":"Review."}]}}"#
    );
}

fn answer_of(body: Value) -> Response<Body> {
    answer("application/json", full(body.to_string()))
}

//! Clients of one API before an upstream that speaks another.

use http::Request;
use http_body_util::Full;
use leafgate_answer::Api;
use leafgate_gate::{FirstUpstream, GateConfig, NamedUpstream, UpstreamConfig};
use serde_json::{Value, json};

use crate::kit::{
    Body, EMAIL, REDACT_EMAIL, Running, Seen, Upstream, answer, chat, email_token, full, gate_of,
    json_answer, once, post, says,
};

async fn gate_before(upstream: &Upstream, speaks: Api, rules: &str) -> Running {
    let mut config = GateConfig::new(upstream.url().parse().unwrap());
    let FirstUpstream::Own(first) = &mut config.upstream else { panic!("it has no name") };
    first.speaks = Some(speaks);
    gate_of(config, rules).await
}

/// A message of Claude's that repeats what it was told.
fn message(seen: &Seen) -> http::Response<Body> {
    let body: Value = serde_json::from_slice(&seen.body).unwrap();
    let told = &body["messages"][0]["content"][0]["text"];
    json_answer(
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
            "content": [{ "type": "text", "text": format!("You said {}", told.as_str().unwrap_or_default()) }],
            "usage": { "input_tokens": 3, "output_tokens": 4 },
        })
        .to_string(),
    )
}

// S3-28
#[tokio::test]
async fn a_client_of_chat_completions_is_answered_by_messages() {
    let upstream = Upstream::start(|seen| async move { message(&seen) }).await;
    let gate = gate_before(&upstream, Api::Messages, REDACT_EMAIL).await;
    let body = json!({ "model": "claude", "seed": 7, "messages": [{ "role": "user", "content": EMAIL }] });
    let request = Request::post("/v1/chat/completions?key=k")
        .header("content-type", "application/json")
        .header("authorization", "Bearer k-1")
        .header("openai-organization", "k-2")
        .body(Full::new(body.to_string().into()))
        .unwrap();
    let answer = once(&gate, request).await;
    let seen = upstream.only();
    assert_eq!((&*seen.target, &seen.headers["x-api-key"]), ("/v1/messages", &"k-1".parse().unwrap()));
    assert_eq!(seen.headers["anthropic-version"], "2023-06-01");
    assert!(!seen.headers.contains_key("authorization") && !seen.headers.contains_key("openai-organization"));
    let left: Value = serde_json::from_slice(&seen.body).unwrap();
    assert_eq!(left["messages"][0]["content"][0]["text"], email_token(), "rules judge what leaves");
    assert_eq!(answer.header("leafgate-adapted"), "openai-chat to anthropic-messages; without seed");
    let answer: Value = answer.json();
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(
        answer["choices"][0]["message"]["content"],
        format!("You said {EMAIL}"),
        "and gets its value back"
    );
    assert_eq!(answer["usage"]["completion_tokens"], 4);
}

#[tokio::test]
async fn a_client_of_messages_is_answered_by_a_stream_of_chat_completions() {
    let (upstream, mut begins) = Upstream::fed().await;
    let gate = gate_before(&upstream, Api::Chat, "").await;
    let body = json!({ "model": "gpt", "max_tokens": 9, "stream": true, "messages": [{ "role": "user", "content": "Hi" }] });
    let address = gate.address;
    let asked =
        tokio::spawn(async move { crate::kit::ask(address, post("/v1/messages", body.to_string())).await });
    let feed = begins.recv().await.unwrap();
    let piece = |choice: Value| {
        let data = json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice] });
        Ok(format!("data: {data}\n\n").into())
    };
    feed.send(piece(json!({ "index": 0, "delta": { "role": "assistant", "content": "He" } }))).unwrap();
    let mut answer = asked.await.unwrap();
    let first =
        http_body_util::BodyExt::frame(answer.body_mut()).await.unwrap().unwrap().into_data().unwrap();
    let first = String::from_utf8_lossy(&first);
    assert!(first.contains("message_start") && first.contains("\"He\""), "before the rest is there: {first}");
    let call = json!([{ "index": 0, "id": "call_1", "type": "function", "function": { "name": "read", "arguments": "{}" } }]);
    feed.send(piece(json!({ "index": 0, "delta": { "tool_calls": call } }))).unwrap();
    feed.send(piece(json!({ "index": 0, "delta": {}, "finish_reason": "tool_calls" }))).unwrap();
    feed.send(Ok("data: [DONE]\n\n".into())).unwrap();
    drop(feed);
    let rest = crate::kit::read(answer).await;
    assert!(rest.text().contains("tool_use") && rest.text().contains("message_stop"), "{}", rest.text());
    let left: Value = serde_json::from_slice(&upstream.only().body).unwrap();
    assert_eq!((&left["stream"], &left["max_completion_tokens"]), (&json!(true), &json!(9)));
}

#[tokio::test]
async fn an_error_is_the_clients_and_one_within_a_stream_too() {
    let error =
        json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "Later, please" } });
    let said = error.to_string();
    let upstream = Upstream::start(move |seen| {
        let (said, streams) = (said.clone(), String::from_utf8_lossy(&seen.body).contains("\"stream\":true"));
        async move {
            if streams {
                return answer("text/event-stream", full(format!("event: error\ndata: {said}\n\n")));
            }
            let mut refused = json_answer(said);
            *refused.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
            refused.headers_mut().insert("retry-after", "7".parse().unwrap());
            refused
        }
    });
    let gate = gate_before(&upstream.await, Api::Messages, "").await;
    let refused = once(&gate, chat(says("Hi"))).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "7"));
    assert_eq!(refused.error().1, "Later, please");
    let streamed = json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": "Hi" }] });
    let refused = once(&gate, chat(streamed.to_string())).await;
    assert_eq!(refused.status, 200);
    assert!(refused.text().contains("data: {\"error\":"), "{}", refused.text());
}

#[tokio::test]
async fn a_rule_routes_to_an_upstream_of_another_api() {
    let (first, other) =
        (Upstream::silent().await, Upstream::start(|seen| async move { message(&seen) }).await);
    let mut config = GateConfig::new(first.url().parse().unwrap());
    let mut upstream = UpstreamConfig::new(other.url().parse().unwrap());
    upstream.speaks = Some(Api::Messages);
    config.named = vec![NamedUpstream { name: "local".parse().unwrap(), upstream }];
    let rules = "[[rule]]\nid = 'away'\nmatch = { role = 'user' }\nwhen = 'leaf.text.contains(\"secret\")'\naction = 'route'\nto = 'local'\n";
    let gate = gate_of(config, rules).await;
    let answer = once(&gate, chat(says("a secret"))).await;
    assert!(first.seen().is_empty());
    assert_eq!((answer.header("leafgate-routed"), answer.status), ("local", 200));
    assert_eq!(answer.json::<Value>()["choices"][0]["message"]["content"], "You said a secret");
    // What speaks the client's own API already stays byte for byte.
    let own = json!({ "model": "m",  "max_tokens": 1, "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Hi" }] }] });
    let own = own.to_string();
    assert_eq!(once(&gate, post("/u/local/v1/messages", own.clone())).await.status, 200);
    assert_eq!(other.seen()[1].body, own);
}

#[tokio::test]
async fn a_profile_makes_the_request_in_the_upstreams_api() {
    let (upstream, folder) =
        (Upstream::start(|seen| async move { message(&seen) }).await, tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("a.md"), "A says 1.").unwrap();
    let profile = format!(
        "[[assemble]]\nid = \"vault\"\nmatch = {{ model = \"vault/*\" }}\nroot = \"{}\"\nmodel = \"claude\"\ncontext = [\"a.md\"]\nprompt = {{ type = \"literal\", text = \"Review.\" }}\n",
        folder.path().display()
    );
    let gate = gate_before(&upstream, Api::Messages, &profile).await;
    let asked = json!({ "model": "m", "leafgate": { "agentMode": false }, "messages": [{ "role": "user", "content": "Now?" }] });
    let answer = once(&gate, post("/p/vault/v1/chat/completions", asked.to_string())).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let left: Value = serde_json::from_slice(&upstream.only().body).unwrap();
    assert_eq!((&left["system"], &left["model"]), (&json!("Review."), &json!("claude")));
    assert_eq!(left["messages"][0]["content"], "Context from a.md:\n\nA says 1.");
    assert_eq!(left["leafgate"], Value::Null, "the gate's own");
}

#[tokio::test]
async fn what_cannot_be_adapted_is_refused_in_the_clients_words() {
    let upstream = Upstream::silent().await;
    let gate = gate_before(&upstream, Api::Chat, "").await;
    let count = json!({ "model": "m", "messages": [{ "role": "user", "content": "Hi" }] }).to_string();
    let refused = once(&gate, post("/v1/messages/count_tokens", count)).await;
    assert_eq!(refused.status, 404);
    assert!(refused.text().contains("this upstream speaks openai-chat"), "{}", refused.text());
    let kept = json!({ "model": "m", "input": "Hi", "previous_response_id": "r" }).to_string();
    let refused = once(&gate, post("/v1/responses", kept)).await;
    assert_eq!(refused.status, 400);
    assert!(refused.error().1.contains("`previous_response_id`"), "{}", refused.text());
    assert!(upstream.seen().is_empty());
}

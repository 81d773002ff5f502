//! An answer is judged by what its request is, wherever that goes; where nobody can tell what an answer
//! will hold that rules decide about, the request does not leave.

use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

use crate::kit::{Answer, Upstream, answer, full, gate, json_answer, once, post};

const CALLS: &str =
    "[[rule]]\nid = 'no-shell'\non = 'tool-call'\nmatch = { tool = 'bash' }\naction = 'block'\n";

const TEXTS: &str =
    "[[rule]]\nid = 'addresses'\non = 'response'\nmatch = {}\ndetect = ['pii/email']\naction = 'redact'\n";

/// What a call would do.
const DEED: &str = "rm -rf /precious";

fn arguments() -> String {
    json!({ "command": DEED }).to_string()
}

/// An answer of chat completions with a call, whole or as a stream.
fn chat_call(stream: bool) -> (&'static str, String) {
    let call = json!([{ "index": 0, "id": "c", "type": "function",
        "function": { "name": "bash", "arguments": arguments() } }]);
    if !stream {
        let message = json!({ "role": "assistant", "content": null, "tool_calls": call });
        let whole = json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }] });
        return ("application/json", whole.to_string());
    }
    let delta = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": call } }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    ("text/event-stream", format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n"))
}

/// The same of Messages.
fn message_call(stream: bool) -> (&'static str, String) {
    let call = json!({ "type": "tool_use", "id": "t", "name": "bash", "input": { "command": DEED } });
    if !stream {
        let whole =
            json!({ "type": "message", "role": "assistant", "content": [call], "stop_reason": "tool_use" });
        return ("application/json", whole.to_string());
    }
    let events = [
        json!({ "type": "message_start", "message": { "type": "message", "role": "assistant", "content": [] } }),
        json!({ "type": "content_block_start", "index": 0, "content_block":
            { "type": "tool_use", "id": "t", "name": "bash", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 0, "delta":
            { "type": "input_json_delta", "partial_json": arguments() } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ];
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    ("text/event-stream", events.iter().map(event).collect())
}

/// What a client gets for a chat that is sent to a path, from an upstream that answers so.
async fn said(rules: &str, path: &str, stream: bool, says: fn(bool) -> (&'static str, String)) -> Answer {
    let upstream = Upstream::start(move |_| async move {
        let (kind, body) = says(stream);
        answer(kind, full(body))
    })
    .await;
    let gate = gate(rules, &upstream.url()).await;
    let body = json!({ "model": "m", "stream": stream, "messages": [{ "role": "user", "content": "Go" }] });
    once(&gate, post(path, body.to_string())).await
}

const PATHS: [&str; 8] = [
    "/v1/chat/completions",
    "/chat/completions",
    "/v1//chat/completions",
    "/v1/chat/completions/",
    "/v1beta/openai/chat/completions",
    "/openai/deployments/d/extensions/chat/completions",
    "/v1/projects/p/locations/l/endpoints/openapi/chat/completions",
    "/v1/nobody/knows",
];

#[tokio::test]
async fn a_call_is_judged_wherever_its_request_went() {
    for path in PATHS {
        for stream in [false, true] {
            let passed = said("", path, stream, chat_call).await;
            assert!(passed.text().contains("precious"), "{path}: without rules it passes");
            let judged = said(CALLS, path, stream, chat_call).await;
            assert_eq!(judged.status, 200, "{path} {stream}");
            assert!(!judged.text().contains("precious"), "{path} {stream}: {}", judged.text());
            assert!(judged.text().contains("no-shell"), "{path} {stream}: {}", judged.text());
        }
    }
}

#[tokio::test]
async fn an_answer_in_another_form_than_its_request_does_not_pass() {
    for path in &PATHS[5..] {
        for stream in [false, true] {
            let refused = said(CALLS, path, stream, message_call).await;
            assert!(!refused.text().contains("precious"), "{path} {stream}: {}", refused.text());
            assert!(refused.text().contains("cannot be read"), "{path} {stream}: {}", refused.text());
        }
    }
}

/// Whether a request leaves, and otherwise what its client reads.
async fn leaves(rules: &str, request: Request<Full<bytes::Bytes>>) -> Result<(), String> {
    let upstream = Upstream::start(|_| async { json_answer("{}") }).await;
    let gate = gate(rules, &upstream.url()).await;
    let answer = once(&gate, request).await;
    if answer.status == 200 {
        assert_eq!(upstream.seen().len(), 1);
        return Ok(());
    }
    assert_eq!((answer.status, upstream.seen().len()), (400, 0), "{}", answer.text());
    let (code, message) = answer.error();
    assert_eq!(code, "leafgate_blocked");
    Err(message)
}

fn get(path: &str) -> Request<Full<bytes::Bytes>> {
    Request::get(path).body(Full::default()).unwrap()
}

#[tokio::test]
async fn what_nobody_could_judge_does_not_leave() {
    let run = || post("/v1/threads/t/runs", r#"{"assistant_id": "a"}"#);
    assert_eq!(leaves("", run()).await, Ok(()));
    for (rules, id) in [(CALLS, "no-shell"), (TEXTS, "addresses")] {
        let why = leaves(rules, run()).await.unwrap_err();
        assert!(why.contains(&format!("rule `{id}`")) && why.contains("`endpoint`"), "{why}");
        let narrow = rules.replace("match = {", "match = { endpoint = '/v1/chat/*',").replace(",}", " }");
        assert_eq!(leaves(&narrow, run()).await, Ok(()), "a rule may say what it is for");
        assert_eq!(
            leaves(&format!("{rules}mode = 'monitor'\n"), run()).await,
            Ok(()),
            "one that watches holds nothing"
        );
        for (path, body) in [
            ("/v1/embeddings", r#"{"input": "a"}"#),
            ("/v1/files", "{}"),
            ("/v1/messages/count_tokens", r#"{"messages": []}"#),
            ("/v1/responses/compact", r#"{"input": []}"#),
        ] {
            assert_eq!(leaves(rules, post(path, body)).await, Ok(()), "{path} holds no model's words");
        }
    }
    let complete = || post("/v1/engines/m/completions", r#"{"prompt": "a"}"#);
    assert_eq!(leaves(CALLS, complete()).await, Ok(()), "it holds no calls");
    assert!(leaves(TEXTS, complete()).await.is_err());
}

#[tokio::test]
async fn a_kept_answer_does_not_come_past_the_rules() {
    for path in
        ["/v1/responses/r", "/v1//responses/r?stream=true", "/v1/chat/completions/c", "/v1/files/f/content"]
    {
        assert_eq!(leaves("", get(path)).await, Ok(()), "{path}");
        assert!(leaves(CALLS, get(path)).await.is_err(), "{path}");
        let head = Request::head(path).body(Full::default()).unwrap();
        assert_eq!(leaves(CALLS, head).await, Ok(()), "{path}");
        let delete = Request::delete(path).body(Full::default()).unwrap();
        assert_eq!(leaves(CALLS, delete).await, Ok(()), "{path}");
    }
    for path in ["/", "/v1/models", "/models", "/v1/files"] {
        assert_eq!(leaves(CALLS, get(path)).await, Ok(()), "{path}");
    }
    // A rule that names a model may be for any answer that was kept.
    let of_model = CALLS.replace("tool = 'bash'", "tool = 'bash', model = 'm'");
    assert!(leaves(&of_model, get("/v1/responses/r")).await.is_err());
}

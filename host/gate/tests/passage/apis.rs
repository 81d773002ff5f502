//! Every API that the gate speaks: read as what it is, sent on as it came, answered and refused in its own words.

use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

use crate::kit::{
    Answer, EMAIL, REDACT_EMAIL, Upstream, answer, behind, email_token, full, gate, gate_with, once, post,
};

/// A path of each API with a request that holds an address, and the pointer to a text that says it.
fn requests(text: &str) -> Vec<(&'static str, Value)> {
    let chat = json!({ "model": "m", "messages": [{ "role": "user", "content": text }] });
    let messages = json!({
        "model": "m", "max_tokens": 9, "system": [{ "type": "text", "text": text }],
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": text }] }],
    });
    let responses =
        json!({ "model": "m", "instructions": text, "input": [{ "role": "user", "content": text }] });
    vec![
        ("/v1/chat/completions", chat.clone()),
        ("/openai/deployments/d/chat/completions?api-version=2024-10-21", chat),
        ("/v1/responses", responses.clone()),
        ("/openai/v1/responses", responses.clone()),
        ("/openai/responses?api-version=preview", responses),
        ("/v1/messages?beta=true", messages.clone()),
        ("/v1/messages/count_tokens?beta=true", messages),
        ("/v1/embeddings", json!({ "model": "m", "input": [text] })),
        ("/openai/deployments/d/embeddings?api-version=2024-10-21", json!({ "input": text })),
        ("/v1/completions", json!({ "model": "m", "prompt": text })),
        ("/openai/deployments/d/completions?api-version=2024-10-21", json!({ "prompt": text })),
        ("/v1beta/models/m:generateContent?key=k", gemini(text)),
        ("/v1beta/models/m:streamGenerateContent", gemini(text)),
        ("/v1beta/models/m:streamGenerateContent?alt=sse", gemini(text)),
        ("/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent", gemini(text)),
        ("/v1beta/models/m:countTokens", gemini(text)),
    ]
}

fn gemini(text: &str) -> Value {
    json!({
        "systemInstruction": { "parts": [{ "text": text }] },
        "contents": [{ "role": "user", "parts": [{ "text": text }] }],
    })
}

/// What a policy of each API must find: the place where chats and Messages name who speaks.
const USERS_ONLY: &str = r#"
[[rule]]
id = "mail"
match = { role = "user" }
detect = ["pii/email"]
action = "redact"
with = "token"
"#;

#[tokio::test]
async fn every_api_is_walked_and_sent_to_its_own_path() {
    let (upstream, gate) = behind(REDACT_EMAIL).await;
    for (path, body) in requests(EMAIL) {
        assert_eq!(once(&gate, post(path, body.to_string())).await.status, 200, "{path}");
        let seen = upstream.seen().pop().unwrap();
        assert_eq!(seen.target, path);
        assert_eq!(seen.body, body.to_string().replace(EMAIL, &email_token()), "{path}");
    }
}

/// A path that nobody knows says nothing about its body; the body does.
#[tokio::test]
async fn an_unknown_path_is_read_by_shape() {
    let (upstream, gate) = behind(USERS_ONLY).await;
    let body = r#"{"model": "m", "max_completion_tokens": 9, "messages": [{"role": "system", "content": "jane.doe@mail.example.org"}, {"role": "user", "content": "jane.doe@mail.example.org"}]}"#;
    once(&gate, post("/v1/nobody/knows", body)).await;
    let seen: Value = serde_json::from_slice(&upstream.only().body).unwrap();
    assert_eq!(seen["messages"][0]["content"], EMAIL);
    assert_eq!(seen["messages"][1]["content"], email_token());
}

/// The type of an error in Anthropic's words, or its code in OpenAI's.
fn word(refusal: &Answer, anthropic: bool) -> String {
    assert_eq!(refusal.headers["content-type"], "application/json");
    let body: Value = serde_json::from_slice(&refusal.body).unwrap();
    let error = &body["error"];
    assert!(!error["message"].as_str().unwrap().is_empty());
    let word = if anthropic {
        assert_eq!(body["type"], "error");
        assert_eq!((error.as_object().unwrap().len(), error.get("code")), (2, None));
        &error["type"]
    } else {
        assert_eq!((body.as_object().unwrap().len(), error.as_object().unwrap().len()), (1, 4));
        &error["code"]
    };
    word.as_str().unwrap().to_owned()
}

const BLOCKS: &str = r#"
[[rule]]
id = "no-projects"
match = {}
when = 'leaf.text.contains("falcon")'
action = "block"
reason = "Project names stay in the house"
"#;

/// A request that is refused: method, a header, body; and how: status, OpenAI's code, Anthropic's type.
type Case<'c> = ((&'c str, (&'c str, &'c str), &'c str), (u16, &'c str, &'c str));

#[tokio::test]
async fn every_refusal_is_in_the_words_of_the_api_that_was_asked() {
    let gate = gate_with(BLOCKS, "echo:", |limits| limits.body = 2000).await;
    let large = format!("[\"{}\"]", "x".repeat(2000));
    let plain = ("accept", "*/*");
    let cases: [Case<'_>; 4] = [
        (("POST", plain, r#"{"a": "falcon"}"#), (400, "leafgate_blocked", "invalid_request_error")),
        (("POST", plain, &large), (413, "leafgate_too_large", "request_too_large")),
        (
            ("POST", ("origin", "https://evil.example"), "{}"),
            (403, "leafgate_foreign_origin", "permission_error"),
        ),
        (("OPTIONS", plain, ""), (405, "leafgate_unsupported", "invalid_request_error")),
    ];
    for ((method, header, body), (status, code, kind)) in cases {
        for (path, anthropic) in PATHS {
            let request = Request::builder().method(method).uri(path).header(header.0, header.1);
            let refusal = once(&gate, request.body(Full::from(body.to_owned())).unwrap()).await;
            let shown = format!("{method} {path}: {}", refusal.text());
            assert_eq!(refusal.status, status, "{shown}");
            assert_eq!(word(&refusal, anthropic), if anthropic { kind } else { code }, "{shown}");
            assert_eq!(refusal.headers["x-should-retry"], "false", "{shown}");
        }
    }
}

/// Paths, and whether their errors look like Anthropic's.
const PATHS: [(&str, bool); 7] = [
    ("/v1/chat/completions", false),
    ("/v1/responses", false),
    ("/openai/deployments/d/embeddings", false),
    ("/v1/completions", false),
    ("/v1/messages", true),
    ("/v1/messages/count_tokens", true),
    ("/v1/messages/batches", true),
];

#[tokio::test]
async fn a_path_of_nobody_is_refused_in_the_words_of_the_client() {
    let gate = gate("", "echo:").await;
    let refusal = once(&gate, post("/elsewhere", "{}")).await;
    assert_eq!((refusal.status, word(&refusal, false).as_str()), (404, "leafgate_unsupported"));
    let mut request = post("/elsewhere", "{}");
    request.headers_mut().insert("anthropic-version", "2023-06-01".parse().unwrap());
    let refusal = once(&gate, request).await;
    assert_eq!((refusal.status, word(&refusal, true).as_str()), (404, "not_found_error"));
}

/// The pieces in which a model answered: its events, the elements of a list, or the whole.
fn pieces(answer: &str) -> Vec<Value> {
    let events = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = events.filter_map(|data| serde_json::from_str(data).ok()).collect();
    if !events.is_empty() {
        return events;
    }
    let whole: Value = serde_json::from_str(answer).unwrap();
    whole.as_array().cloned().unwrap_or_else(|| vec![whole])
}

/// The texts that a client reads in an answer, put together.
fn read(answer: &str) -> String {
    let pointers = [
        "/choices/0/message/content",
        "/choices/0/delta/content",
        "/output/0/content/0/text",
        "/delta",
        "/content/0/text",
        "/delta/text",
        "/candidates/0/content/parts/0/text",
        "/response/candidates/0/content/parts/0/text",
    ];
    let text = |piece: &Value| {
        pointers.iter().find_map(|pointer| piece.pointer(pointer)?.as_str().map(str::to_owned))
    };
    pieces(answer).iter().filter_map(text).collect()
}

#[tokio::test]
async fn what_left_as_tokens_comes_back_in_every_api_beside_what_left() {
    let gate = gate(REDACT_EMAIL, "echo:").await;
    for (path, mut body) in requests(EMAIL) {
        for stream in [false, true] {
            body["stream"] = stream.into();
            let answer = once(&gate, post(path, body.to_string())).await;
            let left = body.to_string().replace(EMAIL, &email_token());
            assert_eq!(pieces(answer.text())[0]["leafgate_sent"], left, "{path}");
            assert_eq!(answer.text().matches("leafgate_sent").count(), 1, "{path}");
            // Counts and embeddings say nothing.
            if !["count", "embed", "/completions"].iter().any(|word| path.contains(word))
                || path.contains("chat")
            {
                assert_eq!(read(answer.text()), body.to_string(), "{path}");
            }
        }
    }
}

/// Gemini CLI with a login of Google: what is wrapped is read, restored, counted and refused as Gemini
/// itself.
#[tokio::test]
async fn code_assist_is_gemini_in_a_wrapper() {
    let gate = gate(REDACT_EMAIL, "echo:").await;
    let body = json!({ "model": "gemini-2.5-pro", "project": "p", "request": gemini(EMAIL) }).to_string();
    for method in ["generateContent", "streamGenerateContent", "streamGenerateContent?alt=sse"] {
        let answer = once(&gate, post(&format!("/v1internal:{method}"), body.clone())).await;
        assert_eq!(read(answer.text()), body, "{method}");
        let first = &pieces(answer.text())[0];
        assert_eq!(first["leafgate_sent"], body.replace(EMAIL, &email_token()), "{method}");
        assert_eq!(first["response"]["modelVersion"], "gemini-2.5-pro", "{method}");
    }
    let count =
        json!({ "request": { "model": "models/m", "contents": gemini(EMAIL)["contents"] } }).to_string();
    let counted = once(&gate, post("/v1internal:countTokens", count.clone())).await;
    let counted: Value = serde_json::from_str(counted.text()).unwrap();
    assert!(counted["totalTokens"].is_u64());
    assert_eq!(counted["leafgate_sent"], count.replace(EMAIL, &email_token()));
    // What is no method of a model is walked all the same.
    let user = json!({ "metadata": { "ideType": "GEMINI_CLI", "note": EMAIL } }).to_string();
    let answer = once(&gate, post("/v1internal:loadCodeAssist", user.clone())).await;
    let answer: Value = serde_json::from_str(answer.text()).unwrap();
    assert_eq!(answer["leafgate_sent"], user.replace(EMAIL, &email_token()));
}

#[tokio::test]
async fn gemini_is_refused_in_the_words_of_google() {
    let gate = gate(BLOCKS, "echo:").await;
    for path in [
        "/v1beta/models/m:generateContent",
        "/v1beta/models/m:embedContent",
        "/v1/models/m:countTokens",
        "/v1internal:generateContent",
        "/v1internal:onboardUser",
    ] {
        let refusal = once(&gate, post(path, r#"{"contents": [{"parts": [{"text": "falcon"}]}]}"#)).await;
        let error: Value = serde_json::from_str(refusal.text()).unwrap();
        let error = &error["error"];
        assert_eq!((refusal.status, &error["code"]), (400, &json!(400)), "{path}");
        assert_eq!(error["status"], "INVALID_ARGUMENT", "{path}");
        assert_eq!(error["details"][0]["reason"], "LEAFGATE_BLOCKED", "{path}");
        assert!(error["message"].as_str().unwrap().contains("Project names stay in the house"), "{path}");
    }
}

/// Neither model nor stream stands in a body of Gemini; rules know both all the same.
#[tokio::test]
async fn rules_know_what_the_path_of_gemini_says() {
    let rules = r#"
[[rule]]
id = "model"
match = { model = "gemini-2.5-*" }
when = '!request.stream && leaf.text.contains("falcon")'
action = "block"
reason = "Asks one model at once"

[[rule]]
id = "stream"
match = {}
when = 'request.stream && request.model == "gemini-3/pro" && leaf.text.contains("falcon")'
action = "block"
reason = "Asks the other one bit by bit"
"#;
    let gate = gate(rules, "echo:").await;
    for (path, blocked) in [
        ("/v1beta/models/gemini-2.5-pro:generateContent", true),
        ("/v1beta/models/gemini-2.5-pro:generateContent?key=k", true),
        ("/v1beta/models/gemini%2D2.5-pro:countTokens", true),
        ("/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:generateContent", true),
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", false),
        ("/v1beta/models/gemini-3%2Fpro:streamGenerateContent?alt=sse", true),
        ("/v1beta/models/gemini-3%2Fpro:streamGenerateContent", true),
        ("/v1beta/models/gemini-3%2Fpro:generateContent", false),
    ] {
        let mut body = gemini("falcon");
        body["model"] = "another".into();
        let status = once(&gate, post(path, body.to_string())).await.status;
        assert_eq!(status, if blocked { 400 } else { 200 }, "{path}");
    }
}

/// The first answer holds nothing to restore, and yet its name leads the next turn into the same conversation.
// S0-86
#[tokio::test]
async fn a_conversation_without_secrets_keeps_its_thread() {
    for streams in [false, true] {
        let token = email_token();
        let upstream = Upstream::start(move |seen: crate::kit::Seen| {
            let request: Value = serde_json::from_slice(&seen.body).unwrap();
            let id = if request["previous_response_id"].is_string() { "resp_2" } else { "resp_1" };
            let output =
                json!([{ "type": "message", "content": [{ "type": "output_text", "text": token }] }]);
            let response = json!({ "id": id, "output": output });
            let begun = json!({ "type": "response.created", "response": { "id": id, "output": [] } });
            let done = json!({ "type": "response.completed", "response": response });
            async move {
                if streams {
                    answer("text/event-stream", full(format!("data: {begun}\n\ndata: {done}\n\n")))
                } else {
                    crate::kit::json_answer(response.to_string())
                }
            }
        })
        .await;
        let gate = gate(REDACT_EMAIL, &upstream.url()).await;
        let mut first = post("/v1/responses", r#"{"input": "Hi"}"#);
        first.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
        assert!(once(&gate, first).await.text().contains(&email_token()), "nothing is known yet");
        assert_eq!(upstream.seen()[0].headers["accept-encoding"], "identity", "its name must be read");
        let next = json!({ "input": EMAIL, "previous_response_id": "resp_1" });
        once(&gate, post("/v1/responses", next.to_string())).await;
        // The opening names the conversation of the first turn, and its vault knows what the second turn sent.
        let again = once(&gate, post("/v1/responses", r#"{"input": "Hi"}"#)).await;
        assert!(again.text().contains(EMAIL), "stream: {streams}: {}", again.text());
    }
}

/// The next turn of a Responses conversation may hold nothing but the name of the last answer.
#[tokio::test]
async fn tokens_of_earlier_turns_come_back_where_only_a_response_is_named() {
    let token = email_token();
    let answers = move |seen: crate::kit::Seen| {
        let named = seen.body.windows(8).any(|bytes| bytes == b"previous");
        let said = if named { token.clone() } else { "ok".to_owned() };
        let output = json!([{ "type": "message", "content": [{ "type": "output_text", "text": said }] }]);
        async move { crate::kit::json_answer(json!({ "id": "resp_1", "output": output }).to_string()) }
    };
    let upstream = Upstream::start(answers).await;
    let gate = gate(REDACT_EMAIL, &upstream.url()).await;
    let first = json!({ "input": format!("I am {EMAIL}") });
    once(&gate, post("/v1/responses", first.to_string())).await;
    let next = json!({ "previous_response_id": "resp_1", "input": "Who am I?" });
    assert_eq!(read(once(&gate, post("/v1/responses", next.to_string())).await.text()), EMAIL);
    let other = json!({ "previous_response_id": "resp_2", "input": "Who am I?" });
    assert_eq!(read(once(&gate, post("/v1/responses", other.to_string())).await.text()), email_token());
}

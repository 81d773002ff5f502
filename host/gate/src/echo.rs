//! `echo:`, the built-in upstream: it answers with the request it got, so that tests and trials see exactly what left the gate.
//!
//! A chat request is answered by a chat completion whose assistant says the request's body, word for word; with `"stream": true` in
//! small fragments that break words, and so tokens, apart. Every other body is answered by itself. No clock and no randomness: the
//! same request gets the same answer.

use bytes::Bytes;
use futures_util::stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::content::{self, Content};
use crate::upstream::Outgoing;

/// Characters per fragment, in turn; short against a token, so that each token is broken, and each time elsewhere.
const FRAGMENTS: [usize; 5] = [7, 3, 11, 1, 5];

/// What of a chat request shapes the answer.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatRequest {
    model: Option<String>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StreamOptions {
    include_usage: bool,
}

/// Answers a request.
pub(crate) fn answer(request: &Outgoing) -> Response<Content> {
    let path = request.path.split('?').next().unwrap_or_default();
    match &request.body {
        Some(body) if request.method == Method::POST && path == "/v1/chat/completions" => chat(body),
        Some(body) => whole(body.clone(), request.headers.get(CONTENT_TYPE).cloned()),
        None => json_answer(&json!({ "method": request.method.as_str(), "path": request.path })),
    }
}

fn chat(body: &Bytes) -> Response<Content> {
    let Ok(text) = std::str::from_utf8(body) else {
        let error = json!({ "error": { "message": "echo: the body is no text", "type": "invalid_request_error", "param": null, "code": null } });
        let mut response = json_answer(&error);
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return response;
    };
    // A body that is no chat request is echoed all the same: what is wrong with it, the reader sees.
    let asked: ChatRequest = serde_json::from_str(text).unwrap_or_default();
    let model = asked.model.as_deref().unwrap_or("echo");
    if asked.stream == Some(true) {
        let usage = asked.stream_options.is_some_and(|options| options.include_usage);
        return event_stream(text, model, usage);
    }
    json_answer(&json!({
        "id": "chatcmpl-echo",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": text, "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": usage(),
    }))
}

fn event_stream(text: &str, model: &str, with_usage: bool) -> Response<Content> {
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": "chatcmpl-echo", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": choices,
        });
        if with_usage {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, finish: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]), Value::Null)
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
    events.extend(fragments(text).map(|fragment| delta(json!({ "content": fragment }), Value::Null)));
    events.push(delta(json!({}), json!("stop")));
    if with_usage {
        events.push(chunk(json!([]), usage()));
    }
    events.push("data: [DONE]\n\n".to_owned());
    let frames =
        events.into_iter().map(|event| Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from(event))));
    let mut response = Response::new(content::stream(StreamBody::new(stream::iter(frames))));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    response
}

/// Cuts a text into [`FRAGMENTS`], between characters.
fn fragments(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let mut lengths = FRAGMENTS.iter().cycle();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = *lengths.next()?;
        let end = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
        let (fragment, tail) = rest.split_at(end);
        rest = tail;
        Some(fragment)
    })
}

/// Nothing was computed, so nothing is charged.
fn usage() -> Value {
    json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 })
}

fn json_answer(value: &Value) -> Response<Content> {
    whole(Bytes::from(value.to_string()), Some(HeaderValue::from_static("application/json")))
}

fn whole(body: Bytes, content_type: Option<HeaderValue>) -> Response<Content> {
    let length = HeaderValue::from(body.len());
    let mut response = Response::new(content::full(body));
    response.headers_mut().insert(CONTENT_LENGTH, length);
    if let Some(content_type) = content_type {
        response.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    response
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    async fn echoed(method: Method, path: &str, body: Option<&'static str>) -> String {
        let headers = http::HeaderMap::new();
        let request = Outgoing { method, path: path.to_owned(), headers, body: body.map(Bytes::from) };
        let body = answer(&request).into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn the_assistant_says_the_request() {
        let body = r#"{"model": "m",  "messages": [{"role": "user", "content": "é"}]}"#;
        let answer: Value =
            serde_json::from_str(&echoed(Method::POST, "/v1/chat/completions?x", Some(body)).await).unwrap();
        assert_eq!(answer["choices"][0]["message"]["content"], body);
        assert_eq!(answer["model"], "m");
    }

    #[tokio::test]
    async fn the_fragments_of_a_stream_are_the_request() {
        let body = r#"{"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": ["aé€😀 EMAIL_0123456789abcdef"]}"#;
        let stream = echoed(Method::POST, "/v1/chat/completions", Some(body)).await;
        let events: Vec<&str> =
            stream.split("\n\n").map(|event| event.trim_start_matches("data: ")).collect();
        let ["[DONE]", ""] = events[events.len() - 2..] else { panic!("the stream ends with [DONE]") };
        let events: Vec<Value> =
            events[..events.len() - 2].iter().map(|event| serde_json::from_str(event).unwrap()).collect();
        let said: String =
            events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
        assert_eq!(said, body);
        assert_eq!(events[events.len() - 2]["choices"][0]["finish_reason"], "stop");
        assert_eq!(events[events.len() - 1]["usage"]["total_tokens"], 0);
    }

    #[tokio::test]
    async fn other_bodies_answer_themselves() {
        assert_eq!(echoed(Method::POST, "/v1/embeddings", Some("[ 1 ]")).await, "[ 1 ]");
        assert_eq!(echoed(Method::GET, "/v1/models", None).await, r#"{"method":"GET","path":"/v1/models"}"#);
    }
}

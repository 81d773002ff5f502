//! `echo:`, the built-in upstream: it answers with the request it got, so that tests and trials see
//! exactly what left the gate.
//!
//! Each API is answered in its own shape, such that its official clients read it. Where a model would speak, it says the request's body, word for word; with
//! `"stream": true` in small fragments that break words, and so tokens, apart. In what the model
//! says the gate restores tokens, as in any answer; so the answer, or the first event of its
//! stream, also has the member [`SENT`], which no client reads and where nothing is restored: the
//! body as it left. What no API has a shape for is answered by itself, but for what clients must be
//! told before they ask a model. No clock and no randomness:
//! the same request gets the same answer.

use bytes::Bytes;
use futures_util::stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use leafgate_answer::{
    Api as AnswerApi, Finish, Head, LiveAnswer, Reply, StreamEvent, Usage, parse, write_answer,
};
use leafgate_tokenize::estimate;
use leafgate_tree::Document;
use serde_json::{Value, json};

use crate::apis::Api;
use crate::apis::dialect;
use crate::target::UpstreamKind;
use leafgate_http::{Content, Manner, Refusal, content};

/// Characters per fragment, in turn; short against a token, so that each token is broken, and each
/// time elsewhere.
const FRAGMENTS: [usize; 5] = [7, 3, 11, 1, 5];

/// The member that shows what left.
const SENT: &str = "leafgate_sent";

/// Longer bodies are not shown a second time: nobody reads them, and the answer must not become too
/// large to be restored.
const MOST_SENT: usize = 1024 * 1024;

/// A request, and what its answer says.
#[derive(derive_more::Deref)]
pub(crate) struct Echo<'r> {
    #[deref(forward)]
    manner: &'r Manner,
    /// Whose answers it gets; `None` where they are no turns of a model.
    api: Option<AnswerApi>,
    /// The body, word for word, or what the model is to say.
    pub(crate) text: &'r str,
}

/// Returns how a request is answered whose path may name its model. What is no turn of a conversation has no words of a model.
pub(crate) fn manner(api: Api, model: Option<&str>, document: &Document) -> Option<Box<Manner>> {
    api.converses().then(|| Box::new(shape(model, api.streams(document), Some(document))))
}

/// The shape of the answer; to a body that is no JSON, of one that says nothing.
fn shape(model: Option<&str>, streams: bool, request: Option<&Document>) -> Manner {
    let counts = |request: &Document| {
        let keys = ["stream_options", "include_usage"];
        let usage = keys.iter().try_fold(request.root(), |at, key| request.member(at, key));
        usage.and_then(|node| request.leaf(node)).is_some_and(|leaf| leaf.text().expose() == "true")
    };
    let model = model.map(str::to_owned).or_else(|| Some(request?.model()?.into_owned()));
    Manner { model: model.unwrap_or_default(), streams, usage: request.is_some_and(counts) }
}

/// An answer in the shape of an API.
pub(crate) enum Echoed {
    Json(Value),
    /// A stream; each of its events leaves by itself.
    Events(Vec<StreamEvent>),
}

impl Echo<'_> {
    /// Returns a guess of its tokens that depends on the request alone.
    pub(crate) fn tokens(&self) -> usize {
        estimate(self.text.len())
    }

    /// Returns what a model would answer; `id` names the answer.
    pub(crate) fn spoken(&self, id: &str) -> Option<Echoed> {
        let api = self.api?;
        if !self.streams {
            return Some(Echoed::Json(write_answer(api, &reply(self.text, true), &self.head(id))));
        }
        let mut live = LiveAnswer::new(api, self.head(id), self.usage);
        let mut events: Vec<_> = fragments(self.text).flat_map(|text| live.say(text)).collect();
        events.extend(live.end(&reply("", true)));
        Some(Echoed::Events(events))
    }

    /// Returns the answers of one fragment each that a stream of Google is made of.
    pub(crate) fn pieces(&self, id: &str) -> Option<Vec<Value>> {
        let (api, head) = (self.api?, self.head(id));
        let mut texts = fragments(self.text).chain(self.text.is_empty().then_some("")).peekable();
        let pieces = std::iter::from_fn(|| {
            let text = texts.next()?;
            Some(write_answer(api, &reply(text, texts.peek().is_none()), &head))
        });
        Some(pieces.collect())
    }

    fn head(&self, id: &str) -> Head {
        Head { id: id.into(), model: self.model.as_str().into(), created: 0 }
    }
}

/// What a model says, and where it is all, why it ends. Nothing was computed, so nothing is charged.
fn reply(text: &str, is_all: bool) -> Reply {
    let (finish, usage) = (is_all.then_some(Finish::Stop), is_all.then(Usage::default));
    Reply { content: text.into(), finish, usage, ..Reply::default() }
}

/// Answers a request.
pub(crate) fn answer(
    method: &Method,
    target: &str,
    headers: &HeaderMap,
    body: Option<&Bytes>,
) -> Response<Content> {
    let uri: http::Uri = target.parse().unwrap_or_default();
    let told = told_before_a_question(method, uri.path());
    let Some(body) = body else {
        return json_answer(&told.unwrap_or_else(|| json!({ "method": method.as_str(), "path": target })));
    };
    // What Copilot alone has is answered by itself, as what nobody knows.
    let api = Api::of(UpstreamKind::default(), method, &uri, headers);
    let Ok(text) = std::str::from_utf8(body) else {
        return dialect::refused(Refusal::malformed("echo: the body is no text"), api);
    };
    if let Some(mut told) = told {
        show_sent(&mut told, text);
        return json_answer(&told);
    }
    // A body that is no request of this API is echoed all the same: what is wrong with it, the
    // reader sees.
    let asked = parse(body.clone()).ok();
    // Where the path says it, the row answers so.
    let streams = api.streams_by_path.is_none() && asked.as_ref().is_some_and(Document::streams);
    let mut manner = shape(api.model(uri.path()).as_deref(), streams, asked.as_ref());
    if manner.model.is_empty() {
        manner.model = "echo".to_owned();
    }
    match say(api, &manner, text) {
        Some(Echoed::Json(mut answer)) => {
            show_sent(&mut answer, text);
            json_answer(&answer)
        }
        Some(Echoed::Events(mut events)) => {
            if let Some(first) = events.first_mut().and_then(StreamEvent::data_mut) {
                show_sent(first, text);
            }
            event_stream(events)
        }
        None => whole(body.clone(), headers.get(CONTENT_TYPE).cloned()),
    }
}

/// Returns what a client must be told before it asks a model: Copilot's which models there are, Gemini's
/// with a login of Google who is logged in. An echo of what they sent says neither.
fn told_before_a_question(method: &Method, path: &str) -> Option<Value> {
    let told = if method == Method::GET && path == "/models" {
        COPILOT_MODELS
    } else {
        match path.split_once("/v1internal:")?.1 {
            "generateContent" | "streamGenerateContent" | "countTokens" => return None,
            "loadCodeAssist" => GOOGLE_LOGIN,
            _ => "{}",
        }
    };
    Some(serde_json::from_str(told).expect("what stands here is JSON"))
}

/// The list of one model, by one of the names that Copilot CLI chooses by itself.
const COPILOT_MODELS: &str = r#"{"data": [{
    "id": "gpt-5.4", "name": "gpt-5.4", "object": "model", "vendor": "leafgate", "version": "gpt-5.4", "preview": false,
    "model_picker_enabled": true, "supported_endpoints": ["/responses"], "policy": {"state": "enabled", "terms": ""},
    "billing": {"is_premium": false, "multiplier": 1}, "capabilities": {
        "family": "gpt-5.4", "object": "model_capabilities", "type": "chat", "tokenizer": "o200k_base",
        "limits": {"max_prompt_tokens": 200000, "max_output_tokens": 64000, "max_context_window_tokens": 264000},
        "supports": {"streaming": true, "tool_calls": true, "parallel_tool_calls": true}}}]}"#;

const GOOGLE_LOGIN: &str =
    r#"{"currentTier": {"id": "free-tier", "name": "Free"}, "cloudaicompanionProject": "leafgate-echo"}"#;

/// Returns what the model would answer if it said just this; `None` where the API has no shape for it.
pub(crate) fn say(api: Api, manner: &Manner, text: &str) -> Option<Echoed> {
    (api.echo)(&Echo { manner, api: api.answers, text })
}

impl Echoed {
    pub(crate) fn into_response(self) -> Response<Content> {
        match self {
            Echoed::Json(answer) => json_answer(&answer),
            Echoed::Events(events) => event_stream(events),
        }
    }
}

/// Adds the body that left to an answer; to the first, where it is a list of them.
fn show_sent(answer: &mut Value, sent: &str) {
    let answer = if answer.is_array() { &mut answer[0] } else { answer };
    if let Some(members) = answer.as_object_mut().filter(|_| sent.len() <= MOST_SENT) {
        members.insert(SENT.to_owned(), sent.into());
    }
}

/// Cuts a text into [`FRAGMENTS`], between characters.
pub(crate) fn fragments(text: &str) -> impl Iterator<Item = &str> {
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

/// Each event is a frame of its own.
fn event_stream(events: Vec<StreamEvent>) -> Response<Content> {
    let frames = events
        .into_iter()
        .map(|event| Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from(event.to_string()))));
    let mut response = Response::new(content::stream(StreamBody::new(stream::iter(frames))));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    response
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
    use http::StatusCode;
    use http_body_util::BodyExt;

    use super::*;

    async fn echoed(method: Method, path: &str, body: Option<&str>) -> String {
        let headers = http::HeaderMap::new();
        let body = body.map(|body| Bytes::copy_from_slice(body.as_bytes()));
        let answer = answer(&method, path, &headers, body.as_ref());
        assert_eq!(answer.status(), StatusCode::OK);
        String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }

    async fn json_of(path: &str, body: &str) -> Value {
        serde_json::from_str(&echoed(Method::POST, path, Some(body)).await).unwrap()
    }

    /// The events of a stream; each says its name in its data too, where it has one.
    async fn events_of(path: &str, body: &str) -> Vec<Value> {
        let stream = echoed(Method::POST, path, Some(body)).await;
        let events = stream.strip_suffix("\n\n").unwrap().split("\n\n");
        let read = |event: &str| {
            let (name, data) = event.rsplit_once('\n').unwrap_or(("", event));
            let data = data.strip_prefix("data: ").unwrap();
            let data: Value = serde_json::from_str(data).unwrap_or(Value::from(data));
            assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
            data
        };
        events.map(read).collect()
    }

    fn joined(events: &[Value], text: impl Fn(&Value) -> Option<&str>) -> String {
        events.iter().filter_map(text).collect()
    }

    const BODY: &str = r#"{"model": "m",  "messages": [{"role": "user", "content": "é"}]}"#;
    const STREAMED: &str = r#"{"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": ["aé€😀 EMAIL_0123456789abcdef"]}"#;

    #[tokio::test]
    async fn the_model_says_the_request() {
        let chat = json_of("/v1/chat/completions?x", BODY).await;
        assert_eq!((&chat["choices"][0]["message"]["content"], &chat["model"]), (&json!(BODY), &json!("m")));
        let azure = json_of("/openai/deployments/d/chat/completions?api-version=1", BODY).await;
        assert_eq!(azure, chat);
        let responses = json_of("/v1/responses", BODY).await;
        assert_eq!((&responses["status"], &responses["model"]), (&json!("completed"), &json!("m")));
        assert_eq!(responses["output"][0]["content"][0]["text"], BODY);
        let messages = json_of("/v1/messages?beta=true", BODY).await;
        assert_eq!(
            (&messages["content"][0]["text"], &messages["stop_reason"]),
            (&json!(BODY), &json!("end_turn"))
        );
        let completions = json_of("/v1/completions", BODY).await;
        assert_eq!(completions["choices"][0]["text"], BODY);
    }

    #[tokio::test]
    async fn the_fragments_of_a_chat_are_the_request() {
        let events = events_of("/v1/chat/completions", STREAMED).await;
        let [chunks @ .., last, done] = &events[..] else { panic!("the stream ends with [DONE]") };
        assert_eq!(joined(chunks, |chunk| chunk["choices"][0]["delta"]["content"].as_str()), STREAMED);
        assert_eq!(chunks[chunks.len() - 1]["choices"][0]["finish_reason"], "stop");
        assert_eq!((&last["usage"]["total_tokens"], done), (&json!(0), &json!("[DONE]")));
    }

    #[tokio::test]
    async fn the_fragments_of_a_completion_are_the_request() {
        let events = events_of("/v1/completions", STREAMED).await;
        assert_eq!(joined(&events, |chunk| chunk["choices"][0]["text"].as_str()), STREAMED);
        assert_eq!(events.last().unwrap(), "[DONE]");
    }

    #[tokio::test]
    async fn the_fragments_of_a_response_are_the_request_and_so_is_each_repetition() {
        let events = events_of("/v1/responses", STREAMED).await;
        assert_eq!(joined(&events, |event| event["delta"].as_str()), STREAMED);
        for (at, event) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], at);
        }
        let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(&kinds[..2], ["response.created", "response.in_progress"]);
        let [text, part, item, last] = &events[events.len() - 4..] else { panic!("{kinds:?}") };
        assert_eq!((&text["type"], &text["text"]), (&json!("response.output_text.done"), &json!(STREAMED)));
        assert_eq!(part["part"]["text"], STREAMED);
        assert_eq!(item["item"]["content"][0], part["part"]);
        assert_eq!(
            (&last["type"], &last["response"]["output"][0]),
            (&json!("response.completed"), &item["item"])
        );
        assert_eq!(last["response"]["id"], events[0]["response"]["id"]);
    }

    #[tokio::test]
    async fn the_fragments_of_a_message_are_the_request() {
        let events = events_of("/v1/messages", STREAMED).await;
        assert_eq!(joined(&events, |event| event["delta"]["text"].as_str()), STREAMED);
        let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(&kinds[..3], ["message_start", "content_block_start", "content_block_delta"]);
        assert_eq!(&kinds[kinds.len() - 3..], ["content_block_stop", "message_delta", "message_stop"]);
    }

    #[tokio::test]
    async fn a_response_is_named_after_its_request() {
        let [one, same, other] = ["a", "a", "b"].map(|input| format!(r#"{{"input": "{input}"}}"#));
        let id = async |body: &str| json_of("/v1/responses", body).await["id"].clone();
        assert_eq!(id(&one).await, id(&same).await);
        assert_ne!(id(&one).await, id(&other).await);
    }

    #[tokio::test]
    async fn every_answer_shows_what_left_once() {
        for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions"] {
            assert_eq!(json_of(path, BODY).await[SENT], BODY, "{path}");
            let events = events_of(path, STREAMED).await;
            assert_eq!(events[0][SENT], STREAMED, "{path}");
            assert!(events[1..].iter().all(|event| event.get(SENT).is_none()), "{path}");
        }
        assert_eq!(json_of("/v1/messages/count_tokens", BODY).await[SENT], BODY);
        let large = format!("[\"{}\"]", "x".repeat(MOST_SENT));
        assert_eq!(json_of("/v1/chat/completions", &large).await.get(SENT), None);
    }

    #[tokio::test]
    async fn numbers_are_answered_with_numbers() {
        assert_eq!(json_of("/v1/messages/count_tokens", "{\"messages\":[]}").await["input_tokens"], 4);
        for (input, vectors) in
            [(r#""a""#, 1), (r#"["a", "b"]"#, 2), ("[1, 2, 3]", 1), ("[[1], [2], [3]]", 3)]
        {
            let answer = json_of("/v1/embeddings", &format!(r#"{{"input": {input}}}"#)).await;
            assert_eq!(answer["data"].as_array().unwrap().len(), vectors, "{input}");
            assert_eq!(answer["data"][0]["embedding"], json!([1.0, 0.0, 0.0]));
        }
        let coded = json_of("/v1/embeddings", r#"{"input": "a", "encoding_format": "base64"}"#).await;
        assert_eq!(coded["data"][0]["embedding"], "AACAPwAAAAAAAAAA");
    }

    #[tokio::test]
    async fn what_has_no_shape_answers_itself() {
        assert_eq!(echoed(Method::POST, "/v1/x", Some("[ 1 ]")).await, "[ 1 ]");
        assert_eq!(echoed(Method::GET, "/v1/models", None).await, r#"{"method":"GET","path":"/v1/models"}"#);
    }

    #[tokio::test]
    async fn clients_are_told_what_they_must_know_before_they_ask() {
        let models = echoed(Method::GET, "/models", None).await;
        let models: Value = serde_json::from_str(&models).unwrap();
        assert_eq!(models["data"][0]["supported_endpoints"], json!(["/responses"]));
        let login = json_of("/v1internal:loadCodeAssist", "{}").await;
        assert_eq!(login["currentTier"]["id"], "free-tier");
        let other = json_of("/v1internal:fetchAdminControls", "{\"a\":1}").await;
        assert_eq!(other, json!({ SENT: "{\"a\":1}" }));
        let asked = json_of("/v1internal:countTokens", "{\"request\":{\"contents\":[]}}").await;
        assert!(asked["totalTokens"].is_u64(), "{asked}");
    }
}

//! A model of few rules behind every API that the gate speaks, for real clients to talk to.
//!
//! What it answers hangs on the request alone, so tests need no set-up and none disturbs another:
//!
//! | request | answer |
//! |---|---|
//! | a model of the name `status-429`, or any other status | that status, as an error in the API's form |
//! | a model of the name `busy-once` | 429, and an answer to the client that says it tries again |
//! | a model of the name `breaks-off`, and a stream | all that the answer says, and an error in the place of its end |
//! | a model of the name `in-one-piece`, and a stream | an answer in one piece |
//! | a model of the name `talks` | `All done.`, whatever is offered |
//! | a model of the name `delegates`, which is offered a tool that starts agents | a call of that tool until there is a result, then `All done.` |
//! | the prompt of an agent of [`team`] | what that agent does |
//! | a prompt that holds `CALLS [[TOOL, {…}], …]` | these calls, one after the other, then the tokens that it was shown |
//! | a row of the table of hostile answers, by its name | that answer, byte for byte |
//! | tools are offered, and the last message is no tool's result | a call of the first tool with [`ARGUMENTS`] |
//! | what somebody types, at `/v1/engines/…` | the token that stands last in it |
//! | any other | what the last message says, word for word |
//!
//! Streams come in fragments shorter than a token. The forms are those of
//! [`leafgate_harness::answers`], which share nothing with the gate's own; a client library that cannot
//! read them says so in the same tests without a gate in between.

mod agents;
mod chat;
mod copilot;
mod directed;
mod gemini;
pub mod hostile;
mod messages;
mod responses;
pub mod team;

use anyhow::{Context as _, Result};
use leafgate_harness::answers::{Answer, Part, Voice};
use leafgate_harness::clients::Api;
use serde_json::{Value, json};

use crate::http::Message;

/// What tools are called with: unusual in its spaces, so that a copy that was read and written anew
/// differs.
pub const ARGUMENTS: &str = r#"{"path":  "notes.txt", "lines": [1, 20]}"#;

/// The name of every call.
const CALL: &str = "call_kit_1";

/// Characters per fragment of a stream; a token of the gate has more.
const FRAGMENT: usize = 5;

/// How a model's name asks for an error.
const STATUS: &str = "status-";

/// The model that is busy until a client says that it has tried before.
const BUSY_ONCE: &str = "busy-once";

/// The model that ends a stream with an error.
const BREAKS_OFF: &str = "breaks-off";

/// The model that answers without a stream, whoever asks for one.
const IN_ONE_PIECE: &str = "in-one-piece";

/// The model that calls no tool.
const TALKS: &str = "talks";

/// The model that has an agent do the work.
const DELEGATES: &str = "delegates";

/// What is said when all is done.
const DONE: &str = "All done.";

/// What Copilot serves without `/v1`.
const BARE: [&str; 3] = ["chat/completions", "embeddings", "responses"];

/// How often the official libraries have tried already, as they say themselves.
const TRIED: &str = "x-stainless-retry-count";

/// What a request asks of the model.
struct Heard {
    /// What the last message says.
    text: String,
    /// Whether that is a tool's result.
    is_result: bool,
    /// The first tool that is offered.
    tool: Option<String>,
}

/// What the model does.
enum Turn {
    Says(String),
    Calls(Call),
}

/// A call of a tool.
struct Call {
    id: &'static str,
    /// The group of tools that it belongs to, where there are such.
    group: Option<&'static str>,
    tool: String,
    arguments: String,
}

impl Call {
    fn of(tool: String) -> Self {
        Call { id: CALL, group: None, tool, arguments: ARGUMENTS.to_owned() }
    }
}

/// An answer, before it has the form of an API.
struct Reply {
    /// Its name, where clients go on from it by name.
    id: String,
    model: String,
    turn: Turn,
}

/// How an API asks and answers.
struct Form {
    api: Api,
    heard: fn(&Value) -> Heard,
    /// How many events of a stream end it after all is said.
    ending: usize,
}

/// Answers a request to any of the APIs.
///
/// # Errors
/// When a request to one of them has a body that is not JSON.
pub fn answer(request: &Message) -> Result<Message> {
    let path = request.target().split('?').next().unwrap_or_default();
    if let Some(answer) = hostile::answer(request) {
        return Ok(answer);
    }
    if let Some((model, method)) = gemini::asked(path).filter(|_| request.start.starts_with("POST ")) {
        return generated(request, model, method);
    }
    if let Some(answer) = copilot::answer(request, path) {
        return Ok(answer);
    }
    let Some(endpoint) = endpoint(path).filter(|_| request.start.starts_with("POST ")) else {
        return Ok(json_answer("200 OK", &json!({ "object": "list", "data": [] })));
    };
    let body = request.json()?;
    let model = body["model"].as_str().unwrap_or_default();
    if let Some(status) = status(model, request) {
        return Ok(refused(endpoint, status));
    }
    match endpoint {
        "chat/completions" => Ok(spoken(&body, endpoint, &chat::FORM)),
        "responses" => Ok(spoken(&responses::whole_of(body), endpoint, &responses::FORM)),
        "messages" => Ok(spoken(&body, endpoint, &messages::FORM)),
        "messages/count_tokens" => Ok(json_answer("200 OK", &json!({ "input_tokens": request.body.len() }))),
        "embeddings" => Ok(json_answer("200 OK", &embeddings(&body))),
        "completions" => Ok(json_answer("200 OK", &completion(&body).context("a prompt that is no text")?)),
        _ if endpoint.starts_with("engines/") => Ok(copilot::offered(&body)),
        _ => Ok(refused(endpoint, 404)),
    }
}

/// What Gemini answers, whose paths name model and method.
fn generated(request: &Message, model: &str, method: &str) -> Result<Message> {
    let body = request.json()?;
    if let Some(status) = status(model, request) {
        return Ok(json_answer(&format!("{status} Refused"), &gemini::error(status)));
    }
    if method == "countTokens" {
        return Ok(json_answer("200 OK", &json!({ "totalTokens": request.body.len() })));
    }
    let reply = reply(&body, model, &gemini::FORM);
    let broken = format!("data: {}\n\n", gemini::error(529));
    Ok(gemini::FORM.said(&reply, method != "generateContent", &broken))
}

/// A path without what stands before the API's own names: Azure puts the model there, Copilot nothing.
fn endpoint(path: &str) -> Option<&str> {
    let deployed =
        || path.strip_prefix("/openai/deployments/")?.split_once('/').map(|(_, endpoint)| endpoint);
    let path = path.strip_prefix("/proxy").unwrap_or(path);
    let bare = || path.strip_prefix('/').filter(|endpoint| BARE.contains(endpoint));
    path.strip_prefix("/v1/").or_else(deployed).or_else(bare)
}

fn spoken(body: &Value, endpoint: &str, form: &Form) -> Message {
    let model = body["model"].as_str().unwrap_or_default();
    let reply = reply(body, model, form);
    form.said(&reply, body["stream"] == true && model != IN_ONE_PIECE, &broken(endpoint))
}

impl Form {
    /// An answer, whole or as a stream, which the model that breaks off ends with this event.
    fn said(&self, reply: &Reply, streams: bool, broken: &str) -> Message {
        let voice = |call, group| Voice { response: &reply.id, model: &reply.model, call, group };
        let (voice, part) = match &reply.turn {
            Turn::Says(text) => (voice(None, None), Part::Says(text)),
            Turn::Calls(call) => (voice(Some(call.id), call.group), Part::Calls(&call.tool, &call.arguments)),
        };
        let mut answer: Answer = voice.speaks(self.api, streams, &[part], FRAGMENT);
        let breaks_off = streams && reply.model == BREAKS_OFF;
        if breaks_off {
            answer.frames.truncate(answer.frames.len() - self.ending);
        }
        let text =
            String::from_utf8_lossy(&answer.bytes()).into_owned() + if breaks_off { broken } else { "" };
        message("200 OK", if streams { "text/event-stream" } else { "application/json" }, text)
    }
}

/// What the model does at a request.
fn reply(body: &Value, model: &str, form: &Form) -> Reply {
    let heard = (form.heard)(body);
    let turn = match heard.tool {
        _ if model == TALKS => Turn::Says(DONE.to_owned()),
        _ if model == DELEGATES => agents::turn(body),
        tool => team::turn(body)
            .or_else(|| directed::turn(body))
            .or_else(|| directed::fitted(&heard.text))
            .unwrap_or_else(|| first(tool, heard.is_result, heard.text)),
    };
    Reply { id: body["id"].as_str().unwrap_or_default().to_owned(), model: model.to_owned(), turn }
}

/// A call of the first tool, or the last message once more.
fn first(tool: Option<String>, is_result: bool, text: String) -> Turn {
    match tool {
        Some(tool) if !is_result => Turn::Calls(Call::of(tool)),
        _ => Turn::Says(text),
    }
}

/// The event that breaks a stream off.
fn broken(endpoint: &str) -> String {
    let error = error(endpoint, 529);
    match endpoint {
        "messages" => named(&error),
        "responses" => named(&json!({ "type": "error", "error": error["error"], "sequence_number": 0 })),
        _ => format!("data: {error}\n\n"),
    }
}

/// The status that a model's name asks for.
fn status(model: &str, request: &Message) -> Option<u16> {
    if model == BUSY_ONCE {
        return (request.header(TRIED) == Some("0")).then_some(429);
    }
    model.strip_prefix(STATUS)?.parse().ok()
}

/// An error as the API would send it. Whoever tries again may do so at once.
fn refused(endpoint: &str, status: u16) -> Message {
    let mut answer = json_answer(&format!("{status} Refused"), &error(endpoint, status));
    answer.headers.push(("retry-after-ms".to_owned(), "1".to_owned()));
    answer
}

fn error(endpoint: &str, status: u16) -> Value {
    let message = format!("The upstream says {status}.");
    if !endpoint.starts_with("messages") {
        return json!({ "error": { "message": message, "type": "requests", "param": null, "code": "kit_refused" } });
    }
    let kind = match status {
        429 => "rate_limit_error",
        529 => "overloaded_error",
        404 => "not_found_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_kit" })
}

fn embeddings(body: &Value) -> Value {
    let inputs = body["input"].as_array().map_or(1, Vec::len);
    // The libraries ask for base64; this is three little-endian floats: 1, 0, 0.
    let vector = |index| json!({ "object": "embedding", "index": index, "embedding": "AACAPwAAAAAAAAAA" });
    json!({
        "object": "list",
        "data": (0..inputs).map(vector).collect::<Vec<_>>(),
        "model": body["model"],
        "usage": { "prompt_tokens": 1, "total_tokens": 1 },
    })
}

/// A text completion that repeats its prompt.
fn completion(body: &Value) -> Option<Value> {
    let text = body["prompt"].as_str()?;
    Some(json!({
        "id": "cmpl-kit", "object": "text_completion", "created": 0, "model": body["model"],
        "choices": [{ "index": 0, "text": text, "logprobs": null, "finish_reason": "stop" }],
    }))
}

/// A text, or the texts of its parts.
fn text_of(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten().map(|part| &part["text"]);
    std::iter::once(content).chain(parts).filter_map(Value::as_str).collect()
}

fn fragments(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(FRAGMENT).map(String::from_iter).collect()
}

/// An event whose name is the type in its data.
fn named(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

fn json_answer(status: &str, body: &Value) -> Message {
    message(status, "application/json", body.to_string())
}

fn message(status: &str, kind: &str, body: String) -> Message {
    Message {
        start: format!("HTTP/1.1 {status}"),
        headers: vec![("content-type".to_owned(), kind.to_owned())],
        body: body.into_bytes(),
    }
}

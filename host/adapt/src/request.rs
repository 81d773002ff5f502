//! A request, written anew for another API.

use std::collections::HashSet;

use leafgate_answer::Call;
use leafgate_api::{Api, PICKED, gemini};
use leafgate_tree::{Document, Role};
use serde_json::{Value, json};

use crate::options::{self, Object, lose};
use crate::said::{TurnMessage, TurnPart, messages, named};

/// Messages wants a bound of the answer; this one is put in where the client has none.
const MOST_TOKENS: u32 = 8_192;

/// What stands between two system prompts.
const BETWEEN: &str = "\n\n";

/// What of a picture in a result is lost.
const PICTURES: &str = "images in results of tools";

/// A request that was written anew.
pub struct AdaptedRequest {
    /// The body.
    pub body: Vec<u8>,
    /// What the other API cannot say, in fixed words and names of members that are an API's.
    pub losses: Vec<&'static str>,
    /// Whether the client of a stream of chat completions wants to read at its end what the answer cost.
    pub usage: bool,
}

/// A request that cannot be written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdaptError {
    /// It is no object with messages.
    #[error("it holds no messages")]
    NoMessages,
    /// Its provider keeps a part of the conversation.
    #[error("`{0}` names what its provider keeps: have the client send the whole conversation")]
    Kept(&'static str),
    /// No adapter is for the API.
    #[error("no adapter speaks {0}")]
    Unspoken(Api),
}

/// What a path says of a request, where an API has it there.
#[derive(Clone, Copy, Debug)]
pub struct PathTerms<'p> {
    /// The model that is asked.
    pub model: &'p str,
    /// Whether the answer is to come bit by bit.
    pub streams: bool,
}

/// Returns whether requests of an API can be written anew, and made.
pub fn is_adapted(api: Api) -> bool {
    match api {
        Api::Chat | Api::Responses | Api::Messages | Api::Gemini => true,
        Api::CodeAssist => false,
    }
}

/// Writes a request of one API as one of another. Calls, results and their order stay; what another provider
/// would not take, as signed reasoning, does not.
///
/// # Errors
/// [`AdaptError`] for a body without messages, for one of which its provider keeps a part, and for an API that no adapter speaks.
pub fn adapt(
    document: &Document,
    from: Api,
    to: Api,
    path: PathTerms<'_>,
) -> Result<AdaptedRequest, AdaptError> {
    if let Some(api) = [from, to].into_iter().find(|api| !is_adapted(*api)) {
        return Err(AdaptError::Unspoken(api));
    }
    let body: Object = serde_json::from_slice(document.source()).map_err(|_| AdaptError::NoMessages)?;
    let is_said = |key: &&&str| body.get(**key).is_some_and(|value| !value.is_null());
    let kept = ["previous_response_id", "conversation", gemini::CACHED[0], gemini::CACHED[1]];
    if let Some(key) = kept.iter().find(is_said) {
        return Err(AdaptError::Kept(key));
    }
    let mut losses = Vec::new();
    let said = paired(messages(document), &mut losses);
    if said.iter().all(|message| message.role == Role::System) {
        return Err(AdaptError::NoMessages);
    }
    let mut made = Object::new();
    if to != Api::Gemini {
        made.insert("model".to_owned(), path.model.into());
    }
    put_messages(to, &said, &mut made, &mut losses);
    let tools = options::tools(from, &body, &mut losses);
    if let (Some(choice), false) = (options::choice(from, &body), tools.is_empty()) {
        options::put_choice(to, &choice, &mut made);
    }
    if to == Api::Messages && !tools.is_empty() {
        mark_for_cache(&mut made);
    }
    options::put_tools(to, tools, &mut made);
    options::carry(from, to, &body, &mut made, &mut losses);
    // What a client picks from a profile is read behind this.
    if let Some(picked) = body.get(PICKED) {
        made.insert(PICKED.to_owned(), picked.clone());
    }
    match to {
        Api::Messages => drop(made.entry("max_tokens").or_insert_with(|| MOST_TOKENS.into())),
        Api::Responses => drop(made.insert("store".to_owned(), false.into())),
        Api::Chat if path.streams => {
            made.insert("stream_options".to_owned(), json!({ "include_usage": true }));
        }
        Api::Chat | Api::Gemini | Api::CodeAssist => {}
    }
    if path.streams && to != Api::Gemini {
        made.insert("stream".to_owned(), true.into());
    }
    let usage = body.get("stream_options").is_some_and(|options| options["include_usage"] == true);
    Ok(AdaptedRequest { body: Value::Object(made).to_string().into_bytes(), losses, usage })
}

/// Marks the prompt and the last message for the provider's cache: an agent asks again with the same beginning, which Messages reads
/// from its cache only where it is told so (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>).
fn mark_for_cache(made: &mut Object) {
    let mark = json!({ "type": "ephemeral" });
    if let Some(system) = made.get_mut("system") {
        *system = json!([{ "type": "text", "text": system, "cache_control": mark }]);
    }
    let last = made.get_mut("messages").and_then(|messages| messages.as_array_mut()?.last_mut());
    if let Some(block) = last.and_then(|message| message["content"].as_array_mut()?.last_mut()) {
        block["cache_control"] = mark;
    }
}

/// Leaves out calls without a result and results without a call, as of tools that a provider ran: other providers refuse them. The
/// arguments of those that stay are an object.
fn paired(mut said: Vec<TurnMessage>, losses: &mut Vec<&'static str>) -> Vec<TurnMessage> {
    let results: HashSet<String> = said.iter().filter_map(|message| message.call_id.clone()).collect();
    let calls = said.iter().flat_map(|message| &message.calls);
    let calls: HashSet<String> = calls.map(|call| call.id.expose().to_owned()).collect();
    let mut left_out = 0;
    for message in &mut said {
        let before = message.calls.len();
        message.calls.retain(|call| results.contains(call.id.expose()));
        left_out += before - message.calls.len();
        message.calls.iter_mut().for_each(|call| call.arguments = object(call.arguments.expose()).into());
    }
    let before = said.len();
    said.retain(|message| message.call_id.as_ref().is_none_or(|id| calls.contains(id)));
    if left_out + before - said.len() > 0 {
        lose(losses, "calls and results that belong to none");
    }
    said
}

fn put_messages(to: Api, said: &[TurnMessage], made: &mut Object, losses: &mut Vec<&'static str>) {
    for part in said.iter().flat_map(|message| &message.parts) {
        match part {
            TurnPart::Thought(_) => lose(losses, "reasoning"),
            TurnPart::Other(_) => lose(losses, "sounds and files"),
            TurnPart::Text(_) | TurnPart::Image { .. } => {}
        }
    }
    let leading = said.iter().take_while(|message| message.role == Role::System).count();
    let (system, said) = said.split_at(leading);
    let mut prompt: Vec<String> = system.iter().map(TurnMessage::text).collect();
    let mut writer = ConversationWriter { to, names: Vec::new(), list: Vec::new(), losses };
    if to == Api::Chat && prompt.iter().any(|text| !text.is_empty()) {
        writer.list.push(json!({ "role": "system", "content": prompt.join(BETWEEN) }));
    }
    said.iter().for_each(|message| writer.add(message, &mut prompt));
    let (prompt, list) = (prompt.join(BETWEEN), writer.list.into());
    let (key, system) = match to {
        Api::Chat => ("messages", None),
        Api::Responses => ("input", Some(("instructions", json!(prompt)))),
        Api::Messages => ("messages", Some(("system", json!(prompt)))),
        Api::Gemini | Api::CodeAssist => {
            ("contents", Some((gemini::SYSTEM[0], json!({ "parts": [{ "text": prompt }] }))))
        }
    };
    let system = system.filter(|_| !prompt.is_empty());
    made.extend(system.into_iter().chain([(key, list)]).map(|(key, value)| (key.to_owned(), value)));
}

/// A list of messages that is written.
struct ConversationWriter<'l> {
    to: Api,
    /// Ids of calls with the names of their tools: results of Gemini have these.
    names: Vec<(String, String)>,
    list: Vec<Value>,
    losses: &'l mut Vec<&'static str>,
}

impl ConversationWriter<'_> {
    /// Adds a message. A system prompt among the messages moves to the others where the API has no place for it.
    fn add(&mut self, message: &TurnMessage, prompt: &mut Vec<String>) {
        match (message.role, self.to) {
            (Role::System, Api::Chat | Api::Responses) => {
                self.list.push(json!({ "role": "system", "content": message.text() }));
            }
            (Role::System, _) => {
                lose(self.losses, "the place of a later system prompt");
                prompt.push(message.text());
            }
            (Role::Assistant, _) => self.model(message),
            (Role::Tool, _) => self.result(message),
            (Role::User | Role::Other, _) => {
                let parts = self.parts(message);
                match (self.to, &message.parts[..]) {
                    // Servers that speak as OpenAI does often read texts alone.
                    (Api::Chat, [TurnPart::Text(text)]) => {
                        self.list.push(json!({ "role": "user", "content": text }));
                    }
                    (Api::Chat | Api::Responses, _) => {
                        self.list.push(json!({ "role": "user", "content": parts }));
                    }
                    (Api::Messages | Api::Gemini | Api::CodeAssist, _) => self.join("user", parts),
                }
            }
        }
    }

    /// What a user says, as parts.
    fn parts(&self, message: &TurnMessage) -> Vec<Value> {
        let part = |part: &TurnPart| match part {
            TurnPart::Text(text) => Some(self.text(text, false)),
            TurnPart::Other(kind) => Some(self.text(&named(*kind), false)),
            TurnPart::Image { url, detail } => Some(self.image(url, detail.as_deref())),
            TurnPart::Thought(_) => None,
        };
        message.parts.iter().filter_map(part).collect()
    }

    fn text(&self, text: &str, is_models: bool) -> Value {
        match self.to {
            Api::Chat | Api::Messages => json!({ "type": "text", "text": text }),
            Api::Responses if is_models => json!({ "type": "output_text", "text": text, "annotations": [] }),
            Api::Responses => json!({ "type": "input_text", "text": text }),
            Api::Gemini | Api::CodeAssist => json!({ "text": text }),
        }
    }

    fn image(&self, url: &str, detail: Option<&str>) -> Value {
        let inline = url.strip_prefix("data:").and_then(|url| url.split_once(";base64,"));
        match (self.to, inline) {
            (Api::Chat, _) => {
                let mut image = json!({ "url": url });
                if let Some(detail) = detail {
                    image["detail"] = detail.into();
                }
                json!({ "type": "image_url", "image_url": image })
            }
            (Api::Responses, _) => {
                json!({ "type": "input_image", "image_url": url, "detail": detail.unwrap_or("auto") })
            }
            (Api::Messages, Some((media, data))) => {
                json!({ "type": "image", "source": { "type": "base64", "media_type": media, "data": data } })
            }
            (Api::Messages, None) => json!({ "type": "image", "source": { "type": "url", "url": url } }),
            (Api::Gemini | Api::CodeAssist, Some((media, data))) => {
                json!({ "inlineData": { "mimeType": media, "data": data } })
            }
            (Api::Gemini | Api::CodeAssist, None) => {
                json!({ "fileData": { "mimeType": media_type(url), "fileUri": url } })
            }
        }
    }

    /// What the model said and called.
    fn model(&mut self, message: &TurnMessage) {
        let text = message.text();
        self.names.extend(
            message.calls.iter().map(|call| (call.id.expose().to_owned(), call.name.expose().to_owned())),
        );
        let words = (!text.is_empty()).then(|| self.text(&text, true));
        match self.to {
            Api::Chat => {
                let content = if text.is_empty() { Value::Null } else { text.into() };
                let mut made = json!({ "role": "assistant", "content": content });
                if !message.calls.is_empty() {
                    made["tool_calls"] = message.calls.iter().map(Call::to_chat).collect();
                }
                self.list.push(made);
            }
            Api::Responses => {
                let content = |words| json!({ "type": "message", "role": "assistant", "content": [words] });
                self.list.extend(words.map(content));
                self.list.extend(message.calls.iter().map(|call| {
                    json!({
                        "type": "function_call", "call_id": call.id.expose(), "name": call.name.expose(),
                        "arguments": call.arguments.expose(),
                    })
                }));
            }
            Api::Messages => {
                let call = |call: &Call| json!({ "type": "tool_use", "id": call.id.expose(), "name": call.name.expose(), "input": parsed(call) });
                let calls = message.calls.iter().map(call);
                self.join("assistant", words.into_iter().chain(calls).collect());
            }
            Api::Gemini | Api::CodeAssist => {
                let call = |call: &Call| json!({ gemini::CALL[0]: { "name": call.name.expose(), "args": parsed(call) } });
                let calls = message.calls.iter().map(call);
                self.join("model", words.into_iter().chain(calls).collect());
            }
        }
    }

    /// The result of a call.
    fn result(&mut self, message: &TurnMessage) {
        let id = message.call_id.clone().unwrap_or_default();
        let text = message.told().collect::<Vec<_>>().join("\n");
        if self.to != Api::Messages && message.images().next().is_some() {
            lose(self.losses, PICTURES);
        }
        match self.to {
            Api::Chat => self.list.push(json!({ "role": "tool", "tool_call_id": id, "content": text })),
            Api::Responses => {
                self.list.push(json!({ "type": "function_call_output", "call_id": id, "output": text }));
            }
            Api::Messages => {
                let parts = self.parts(message);
                self.join(
                    "user",
                    vec![json!({ "type": "tool_result", "tool_use_id": id, "content": parts })],
                );
            }
            Api::Gemini | Api::CodeAssist => {
                let name = self.names.iter().rfind(|(of, _)| *of == id).map(|(_, name)| name.as_str());
                let result = json!({ "name": name.unwrap_or_default(), "response": { "output": text } });
                self.join("user", vec![json!({ gemini::RESULT[0]: result })]);
            }
        }
    }

    /// Adds parts of a role to its message, where that is the last one: results of one turn belong together.
    fn join(&mut self, role: &str, parts: Vec<Value>) {
        let key = if self.to == Api::Messages { "content" } else { "parts" };
        if parts.is_empty() {
            return;
        }
        match self.list.last_mut().filter(|last| last["role"] == role) {
            Some(Value::Object(last)) => {
                if let Some(Value::Array(before)) = last.get_mut(key) {
                    before.extend(parts);
                }
            }
            _ => self.list.push(json!({ "role": role, key: parts })),
        }
    }
}

/// The media type of a picture, by how its address ends: Gemini wants one.
fn media_type(url: &str) -> &'static str {
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    match path.rsplit('.').next() {
        Some("png") => "image/png",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        _ => "image/jpeg",
    }
}

/// Returns arguments as the object that all APIs take. A model that wrote something else meant it as one text.
fn object(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => arguments.to_owned(),
        _ if arguments.trim().is_empty() => "{}".to_owned(),
        _ => json!({ "input": arguments }).to_string(),
    }
}

fn parsed(call: &Call) -> Value {
    serde_json::from_str(call.arguments.expose()).unwrap_or_default()
}

//! Gemini. A part of a turn says by its key what it holds, and each key of two words has two
//! spellings.
//!
//! A call needs no id here: then its result has its name, and those of one name answer in order. So
//! each call is known by a key while a request is assembled, which never leaves.

use std::collections::BTreeSet;

use leafgate_api::PICKED;
use leafgate_api::gemini::{
    ALLOWED, CACHED, CALL, CALLING, FUNCTIONS, GENERATION, MEDIA_TYPE, RESULT, SYSTEM, Spelled, TOOL_CONFIG,
    WRAPPED,
};
use serde_json::json;
use serde_json::value::RawValue;

use super::{RequestWire, filtered, list, parts, stored, user, words};
use crate::error::AssembleError;
use crate::history::{HistoryCall, HistoryTurn};
use crate::json::{Object, Raw, is_nothing, raw, text};

const MEDIA: [&str; 4] = ["inlineData", "inline_data", "fileData", "file_data"];

/// Where the key of a call stands meanwhile.
const KEY: &str = "leafgateCall";

/// Stands between the parts of a key.
const BETWEEN: char = '\0';

pub(super) struct GeminiRequests;

impl RequestWire for GeminiRequests {
    fn single(&self) -> &'static [&'static str] {
        &["contents", SYSTEM[0], SYSTEM[1], "tools", TOOL_CONFIG[0], TOOL_CONFIG[1], PICKED]
    }

    fn take(&self, body: &mut Object) -> Result<Vec<HistoryTurn>, AssembleError> {
        if let Some(twice) =
            [SYSTEM, TOOL_CONFIG].into_iter().find(|both| both.iter().all(|key| body.get(key).is_some()))
        {
            return Err(AssembleError::Twice { key: twice[0] });
        }
        if CACHED.iter().any(|key| body.get(key).is_some_and(|name| !is_nothing(name))) {
            return Err(AssembleError::NoPlace(
                "/cachedContent: the API takes neither a system prompt nor tools beside it: leave it out, or send \
                 the request where no profile makes it",
            ));
        }
        let mut turns = Vec::new();
        let system = instruction(body);
        turns.extend((!system.is_empty()).then_some(HistoryTurn::System(system)));
        let mut pairs = CallPairs::default();
        turns.extend(list(body, "contents")?.into_iter().map(|content| turn(content, &mut pairs)));
        Ok(turns)
    }

    fn put(&self, body: &mut Object, system: Option<&str>, items: Vec<Object>) {
        if let Some(system) = system.filter(|system| instruction(body) != *system) {
            let key = member(body, SYSTEM).map_or(SYSTEM[0], |(key, _)| key);
            body.set(key, raw(&json!({ "parts": [{ "text": system }] })));
        }
        body.set("contents", raw(&items));
    }

    fn with_calls(&self, items: Vec<Object>, wanted: &BTreeSet<String>) -> Vec<Object> {
        filtered(items, "parts", is_call, |part| match inner(&part, CALL) {
            Some((key, call)) => {
                let stays = call.text(KEY).is_some_and(|key| wanted.contains(&key));
                stays.then(|| known_members(part, key, call))
            }
            None => Some(part),
        })
    }

    fn words_only(&self, items: Vec<Object>) -> Vec<Object> {
        let says =
            |part: &Object| part.get("text").is_some() && member(part, CALL).is_none() && !is_result(part);
        filtered(items, "parts", is_call, |part| says(&part).then_some(part))
    }

    fn result(&self, call: &HistoryCall, text: &str) -> Object {
        let name = named(&call.id).1;
        let result = Object::with(vec![("name", raw(&name)), ("response", raw(&json!({ "output": text })))]);
        self.sent(&call.id, Object::with(vec![(RESULT[0], raw(&result))]))
    }

    /// With the id of its call, where that has one: then nothing else can be meant.
    fn sent(&self, call: &str, mut part: Object) -> Object {
        let id = named(call).0;
        let Some((key, mut result)) = inner(&part, RESULT) else { return part };
        if !id.is_empty() && result.text("id").is_none_or(|id| id.is_empty()) {
            result.set("id", raw(&id));
            part.set(key, raw(&result));
        }
        part
    }

    fn results(&self, parts: Vec<Object>) -> Vec<Object> {
        (!parts.is_empty()).then(|| said(raw(&parts))).into_iter().collect()
    }

    fn said(&self, text: &str) -> Object {
        said(raw(&json!([{ "text": text }])))
    }

    fn picture(&self, label: &str, media: &str, base64: &str) -> Object {
        said(raw(&json!([{ "text": label }, { "inlineData": { "mimeType": media, "data": base64 } }])))
    }

    fn without_image(&self, part: &Object, words: &str) -> Option<Object> {
        let media = MEDIA.iter().find(|key| part.get(key).is_some())?;
        let media = part.object(media).unwrap_or_default();
        let kind = member(&media, MEDIA_TYPE).and_then(|(_, kind)| text(kind))?;
        kind.to_ascii_lowercase().starts_with("image/").then(|| Object::with(vec![("text", raw(&words))]))
    }

    /// The path names the model. A body may repeat it, and must not say another one.
    fn set_model(&self, body: &mut Object, model: &str) {
        if body.get("model").is_some() {
            body.set("model", raw(&resource(model)));
        }
    }

    /// Of what Vertex AI counts.
    fn counted(&self) -> Option<&'static [&'static str]> {
        Some(&GENERATION)
    }

    fn unwrapped(&self, mut body: Object) -> Result<Object, AssembleError> {
        let Some((key, _)) = member(&body, WRAPPED) else { return Ok(body) };
        let request = body.object(key);
        let mut request = request.ok_or_else(|| AssembleError::shape(format!("/{key}"), "a request"))?;
        if body.get("contents").is_some() {
            return Err(AssembleError::Twice { key: "contents" });
        }
        if let Some(asked) = body.remove(PICKED) {
            request.set(PICKED, asked);
        }
        Ok(request)
    }

    fn wrapped(&self, mut request: Object, model: &str) -> Object {
        request.set("model", raw(&resource(model)));
        Object::with(vec![(WRAPPED[0], raw(&request))])
    }

    /// Functions by their names, and what the provider runs itself by its key.
    fn tool_names(&self, tool: &Object) -> Vec<String> {
        let mut names: Vec<String> = functions(tool).iter().map(name_of).collect();
        names.extend(tool.keys().filter(|key| !FUNCTIONS.contains(key)).map(str::to_owned));
        names
    }

    fn with_tools(&self, mut tool: Object, wanted: &dyn Fn(&str) -> bool) -> Option<Object> {
        let others: Vec<String> =
            tool.keys().filter(|key| !FUNCTIONS.contains(key)).map(str::to_owned).collect();
        tool.drop(&others.into_iter().filter(|key| !wanted(key)).collect::<Vec<_>>());
        if let Some((key, _)) = member(&tool, FUNCTIONS) {
            let offered = functions(&tool);
            let before = offered.len();
            let kept: Vec<Object> =
                offered.into_iter().filter(|function| wanted(&name_of(function))).collect();
            match kept.len() {
                0 => drop(tool.remove(key)),
                some if some < before => tool.set(key, raw(&kept)),
                _ => {}
            }
        }
        let has_some = tool.keys().next().is_some();
        has_some.then_some(tool)
    }

    fn unforce(&self, body: &mut Object, names: &[String]) {
        let Some((at, mut config)) = inner(body, TOOL_CONFIG) else { return };
        let Some((within, mut calling)) = inner(&config, CALLING) else { return };
        let Some((key, held)) = member(&calling, ALLOWED) else { return };
        let allowed: Vec<String> = serde_json::from_str(held.get()).unwrap_or_default();
        let left: Vec<&String> = allowed.iter().filter(|name| names.contains(name)).collect();
        match left.len() {
            some if some == allowed.len() => return,
            0 => drop(config.remove(within)),
            _ => {
                calling.set(key, raw(&left));
                config.set(within, raw(&calling));
            }
        }
        let has_some = config.keys().next().is_some();
        match has_some {
            true => body.set(at, raw(&config)),
            false => drop(body.remove(at)),
        }
    }
}

/// What a body says as its system prompt.
fn instruction(body: &Object) -> String {
    let Some((key, said)) = member(body, SYSTEM) else { return String::new() };
    let parts = body.object(key);
    words(parts.as_ref().map_or(Some(said), |said| said.get("parts")))
}

/// How a body names a model.
fn resource(model: &str) -> String {
    let is_one = model.starts_with("models/") || model.starts_with("tunedModels/");
    if is_one { model.to_owned() } else { format!("models/{model}") }
}

/// A member in the spelling that is there.
fn member(object: &Object, spelled: Spelled) -> Option<(&'static str, &RawValue)> {
    spelled.into_iter().find_map(|key| Some((key, object.get(key)?)))
}

/// The same of an object; an empty one for what is none.
fn inner(object: &Object, spelled: Spelled) -> Option<(&'static str, Object)> {
    let (key, _) = member(object, spelled)?;
    Some((key, object.object(key).unwrap_or_default()))
}

fn said(parts: Raw) -> Object {
    Object::with(vec![("role", raw(&"user")), ("parts", parts)])
}

fn functions(tool: &Object) -> Vec<Object> {
    member(tool, FUNCTIONS).and_then(|(key, _)| tool.objects(key)).unwrap_or_default()
}

fn name_of(function: &Object) -> String {
    function.text("name").unwrap_or_default()
}

fn is_call(part: &Object) -> bool {
    member(part, CALL).is_some()
}

fn is_result(part: &Object) -> bool {
    member(part, RESULT).is_some()
}

/// Which results are for which calls.
#[derive(Default)]
struct CallPairs {
    calls: usize,
    /// Calls of the latest turn that has some, without a result yet.
    open: Vec<(String, String, String)>,
}

impl CallPairs {
    /// The key of a call: its number, its id and its name.
    fn call(&mut self, id: String, name: String) -> String {
        self.calls += 1;
        let key = format!("{}{BETWEEN}{id}{BETWEEN}{name}", self.calls);
        self.open.push((key.clone(), id, name));
        key
    }

    /// The key of the call that a result is for: the one with its id, else the first with its name.
    fn result(&mut self, id: &str, name: &str) -> String {
        let of_name = |is_open: &dyn Fn(&str) -> bool| {
            self.open.iter().position(|(_, of, called)| called == name && is_open(of))
        };
        let by_id = self.open.iter().position(|(_, of, _)| !id.is_empty() && of == id);
        // One without an id is for a call without one, where there is such a call.
        let by_name = by_id.or_else(|| of_name(&str::is_empty));
        match by_name.or_else(|| of_name(&|_| id.is_empty())) {
            Some(at) => self.open.remove(at).0,
            None => {
                self.calls += 1;
                self.calls.to_string()
            }
        }
    }
}

/// The id and the name in a key.
fn named(key: &str) -> (&str, &str) {
    let mut parts = key.splitn(3, BETWEEN).skip(1);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

fn turn(content: Object, pairs: &mut CallPairs) -> HistoryTurn {
    match content.text("role").as_deref() {
        Some("model") => model(content, pairs),
        // The API knows no such role. What other APIs put there belongs into its instruction.
        Some("system" | "developer") => HistoryTurn::System(words(content.get("parts"))),
        // A turn without a role is the user's.
        None | Some("user" | "function") => user(content, "parts", is_result, |part| {
            let (_, result) = inner(part, RESULT).unwrap_or_default();
            pairs.result(&result.text("id").unwrap_or_default(), &name_of(&result))
        }),
        Some(_) => HistoryTurn::Other(content),
    }
}

fn model(mut content: Object, pairs: &mut CallPairs) -> HistoryTurn {
    let mut parts = parts(&content, "parts").unwrap_or_default();
    let mut calls = Vec::new();
    for part in &mut parts {
        let Some((at, mut call)) = inner(part, CALL) else { continue };
        if calls.is_empty() {
            pairs.open.clear();
        }
        let id = call.text("id").filter(|id| !id.contains(BETWEEN)).unwrap_or_default();
        let key = pairs.call(id, name_of(&call));
        call.set(KEY, raw(&key));
        part.set(at, raw(&call));
        calls.push(HistoryCall { id: key, stored: stored(&call), custom: false });
    }
    if !calls.is_empty() {
        content.set("parts", raw(&parts));
    }
    HistoryTurn::Model { items: vec![content], calls }
}

/// A call as the API wants it, with the signature beside it.
fn known_members(mut part: Object, key: &str, mut call: Object) -> Object {
    part.keep(&[key, "thought", "thoughtSignature", "thought_signature"]);
    call.keep(&["id", "name", "args"]);
    // The arguments are an object here; some clients keep them as text.
    match call.text("args") {
        Some(text) => call.set("args", raw(&serde_json::from_str::<Object>(&text).unwrap_or_default())),
        None if call.get("args").is_some_and(is_nothing) => drop(call.remove("args")),
        None => {}
    }
    part.set(key, raw(&call));
    part
}

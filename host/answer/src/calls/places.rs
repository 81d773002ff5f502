//! Where calls and texts stand in the answers of each API.

use serde_json::{Map, Value, json};

use crate::apis::Api;
use crate::json::text;

/// How an API spells the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Any text.
    Text,
    /// A text that is JSON.
    JsonText,
    /// JSON.
    Json,
}

/// Where a call stands, as pointers.
pub(super) struct Place {
    pub(super) id: Option<String>,
    /// `None` where the kind is all there is.
    pub(super) name: Option<String>,
    pub(super) kind: &'static str,
    pub(super) arguments: String,
    pub(super) form: Form,
}

/// Items of Responses that a client runs: their kind, and the member that says what.
const RUN_BY_CLIENTS: [(&str, &str); 6] = [
    ("function_call", "arguments"),
    ("custom_tool_call", "input"),
    ("local_shell_call", "action"),
    ("shell_call", "action"),
    ("computer_call", "action"),
    ("apply_patch_call", "operation"),
];

/// Items of Responses that the provider runs.
const RUN_BY_PROVIDERS: [&str; 8] = [
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "tool_search_call",
    "memory_call",
    "hosted_shell_call",
];

/// What stands for an item of a kind that is not known: it may be one for clients.
const UNKNOWN: &str = "unknown-tool";

pub(super) fn of(api: Api, whole: &Value) -> Vec<Place> {
    match api {
        Api::Chat => chat(whole),
        Api::Messages => {
            let blocks = numbered(whole, "/content").filter(|(_, block)| is_tool_use(block));
            blocks.map(|(at, _)| object(&at, "id", "name", "input")).collect()
        }
        Api::Responses => numbered(whole, "/output").filter_map(|(at, item)| of_item(&at, item)).collect(),
        Api::Gemini | Api::CodeAssist => gemini(api, whole),
    }
}

fn chat(whole: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    for (choice, _) in numbered(whole, "/choices") {
        let message = format!("{choice}/message");
        if whole.pointer(&format!("{message}/function_call")).is_some_and(Value::is_object) {
            places.push(Place {
                id: None,
                name: Some(format!("{message}/function_call/name")),
                kind: "",
                arguments: format!("{message}/function_call/arguments"),
                form: Form::JsonText,
            });
        }
        for (at, call) in numbered(whole, &format!("{message}/tool_calls")) {
            let (kind, key, form) = match call.get("custom") {
                Some(_) => ("custom", "input", Form::Text),
                None => ("function", "arguments", Form::JsonText),
            };
            places.push(Place {
                id: Some(format!("{at}/id")),
                name: Some(format!("{at}/{kind}/name")),
                kind: "",
                arguments: format!("{at}/{kind}/{key}"),
                form,
            });
        }
    }
    places
}

fn of_item(at: &str, item: &Value) -> Option<Place> {
    let kind = item["type"].as_str()?;
    let known = RUN_BY_CLIENTS.iter().find(|(known, _)| *known == kind);
    let (kind, arguments, form) = match known {
        Some((kind, member)) => {
            let form = match *kind {
                "function_call" => Form::JsonText,
                "custom_tool_call" => Form::Text,
                _ => Form::Json,
            };
            (*kind, format!("{at}/{member}"), form)
        }
        None if kind.ends_with("_call") && !RUN_BY_PROVIDERS.contains(&kind) => {
            (UNKNOWN, at.to_owned(), Form::Json)
        }
        None => return None,
    };
    let named = item.get("name").is_some();
    Some(Place {
        id: Some(format!("{at}/call_id")),
        name: named.then(|| format!("{at}/name")),
        kind,
        arguments,
        form,
    })
}

/// Where an API of Gemini has its candidates.
pub(super) fn candidates(api: Api) -> &'static str {
    if api == Api::CodeAssist { "/response/candidates" } else { "/candidates" }
}

fn gemini(api: Api, whole: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    for (candidate, _) in numbered(whole, candidates(api)) {
        for (at, part) in numbered(whole, &format!("{candidate}/content/parts")) {
            if let Some(key) = FUNCTION_CALLS.iter().find(|key| part.get(**key).is_some()) {
                places.push(object(&format!("{at}/{key}"), "id", "name", "args"));
            }
        }
    }
    places
}

/// A call whose members stand beside each other, its arguments as JSON.
fn object(at: &str, id: &str, name: &str, arguments: &str) -> Place {
    Place {
        id: Some(format!("{at}/{id}")),
        name: Some(format!("{at}/{name}")),
        kind: "",
        arguments: format!("{at}/{arguments}"),
        form: Form::Json,
    }
}

/// Google's libraries write either.
const FUNCTION_CALLS: [&str; 2] = ["functionCall", "function_call"];

fn is_tool_use(block: &Value) -> bool {
    block["type"] == "tool_use"
}

/// The elements of an array with their pointers.
fn numbered<'v>(whole: &'v Value, pointer: &str) -> impl Iterator<Item = (String, &'v Value)> + use<'v> {
    let elements = whole.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let pointer = pointer.to_owned();
    elements.iter().enumerate().map(move |(at, element)| (format!("{pointer}/{at}"), element))
}

/// Takes calls out and puts words in their place.
pub(super) fn refuse(api: Api, whole: &mut Value, words: &str) {
    let elements = |whole: &mut Value, pointer: &str| -> usize {
        whole.pointer(pointer).and_then(Value::as_array).map_or(0, Vec::len)
    };
    match api {
        Api::Chat => {
            for at in 0..elements(whole, "/choices") {
                refuse_choice(&mut whole["choices"][at], words);
            }
        }
        Api::Messages => {
            if replace(&mut whole["content"], is_tool_use, json!({ "type": "text", "text": words }))
                && whole["stop_reason"] == "tool_use"
            {
                whole["stop_reason"] = "end_turn".into();
            }
        }
        Api::Responses => {
            let message = message_item(whole, words);
            replace(&mut whole["output"], is_item, message);
        }
        Api::Gemini | Api::CodeAssist => {
            let candidates = candidates(api);
            for at in 0..elements(whole, candidates) {
                if let Some(parts) = whole.pointer_mut(&format!("{candidates}/{at}/content/parts")) {
                    replace(parts, is_function_call, json!({ "text": words }));
                }
            }
        }
    }
}

/// Takes some calls out, and puts words in the place of the first of them, for each choice in which
/// some are refused. Calls are counted as in [`of`].
pub(super) fn refuse_some(api: Api, whole: &mut Value, refused: &[bool], words: &str) {
    let mut of_calls = refused.iter().copied();
    let mut next = || of_calls.next().unwrap_or(true);
    match api {
        Api::Chat => {
            let choices = whole.get_mut("choices").and_then(Value::as_array_mut);
            choices.into_iter().flatten().for_each(|choice| refuse_of_choice(choice, &mut next, words));
        }
        Api::Messages => {
            let (_, left) = replace_some(
                &mut whole["content"],
                is_tool_use,
                &mut next,
                &json!({ "type": "text", "text": words }),
            );
            if left == 0 && whole["stop_reason"] == "tool_use" {
                whole["stop_reason"] = "end_turn".into();
            }
        }
        Api::Responses => {
            let message = message_item(whole, words);
            replace_some(&mut whole["output"], is_item, &mut next, &message);
        }
        Api::Gemini | Api::CodeAssist => {
            let candidates = whole.pointer_mut(candidates(api)).and_then(Value::as_array_mut);
            for candidate in candidates.into_iter().flatten() {
                if let Some(parts) = candidate.pointer_mut("/content/parts") {
                    replace_some(parts, is_function_call, &mut next, &json!({ "text": words }));
                }
            }
        }
    }
}

fn refuse_of_choice(choice: &mut Value, refused: &mut dyn FnMut() -> bool, words: &str) {
    let Some(message) = choice.get_mut("message").and_then(Value::as_object_mut) else { return };
    let (mut gone, mut left) = (0, 0);
    if message.get("function_call").is_some_and(Value::is_object) {
        match refused() {
            true => {
                message.remove("function_call");
                gone += 1;
            }
            false => left += 1,
        }
    }
    if let Some(Value::Array(calls)) = message.get_mut("tool_calls") {
        let before = calls.len();
        calls.retain(|_| !refused());
        gone += before - calls.len();
        left += calls.len();
        if calls.is_empty() {
            message.remove("tool_calls");
        }
    }
    if gone > 0 {
        say(message, words);
    }
    if gone > 0 && left == 0 {
        choice["finish_reason"] = "stop".into();
    }
}

/// A message of Responses with these words.
fn message_item(whole: &Value, words: &str) -> Value {
    let id = format!("msg_leafgate_{}", whole["id"].as_str().unwrap_or_default());
    let part = json!({ "type": "output_text", "text": words, "annotations": [], "logprobs": [] });
    json!({ "id": id, "type": "message", "role": "assistant", "status": "completed", "content": [part] })
}

fn is_item(item: &Value) -> bool {
    of_item("", item).is_some()
}

fn is_function_call(part: &Value) -> bool {
    FUNCTION_CALLS.iter().any(|key| part.get(*key).is_some())
}

fn refuse_choice(choice: &mut Value, words: &str) {
    let Some(message) = choice.get_mut("message").and_then(Value::as_object_mut) else { return };
    let called = [message.remove("tool_calls"), message.remove("function_call")];
    if called.iter().flatten().all(Value::is_null) {
        return;
    }
    say(message, words);
    choice["finish_reason"] = "stop".into();
}

/// Puts words behind what a message of chat completions says.
fn say(message: &mut Map<String, Value>, words: &str) {
    let said = text(message, "content");
    let gap = if said.is_empty() { "" } else { "\n\n" };
    message.insert("content".to_owned(), format!("{said}{gap}{words}").into());
}

/// Puts one element in the place of the first that is a call, and leaves the others of them out;
/// returns whether there were any.
fn replace(list: &mut Value, is_call: impl Fn(&Value) -> bool, with: Value) -> bool {
    let Some(list) = list.as_array_mut() else { return false };
    let Some(first) = list.iter().position(&is_call) else { return false };
    list[first] = with;
    let mut at = 0;
    list.retain(|element| {
        at += 1;
        at - 1 == first || !is_call(element)
    });
    true
}

/// Puts one element in the place of the first call that is refused, and leaves the others of these
/// out; returns how many went and how many stay.
fn replace_some(
    list: &mut Value,
    is_call: impl Fn(&Value) -> bool,
    refused: &mut dyn FnMut() -> bool,
    with: &Value,
) -> (usize, usize) {
    let (mut gone, mut left) = (0, 0);
    for element in list.as_array_mut().into_iter().flat_map(std::mem::take).collect::<Vec<_>>() {
        let stays = match is_call(&element) {
            true if refused() => {
                gone += 1;
                (gone == 1).then(|| with.clone())
            }
            is_call => {
                left += usize::from(is_call);
                Some(element)
            }
        };
        if let (Some(element), Some(list)) = (stays, list.as_array_mut()) {
            list.push(element);
        }
    }
    (gone, left)
}

pub(super) fn texts(api: Api, whole: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |at: String| {
        if whole.pointer(&at).and_then(Value::as_str).is_some_and(|text| !text.is_empty()) {
            found.push(at);
        }
    };
    match api {
        Api::Chat => {
            for (choice, _) in numbered(whole, "/choices") {
                for key in ["reasoning_content", "reasoning", "content", "refusal"] {
                    add(format!("{choice}/message/{key}"));
                }
                for (part, _) in numbered(whole, &format!("{choice}/message/content")) {
                    add(format!("{part}/text"));
                }
            }
        }
        Api::Messages => {
            numbered(whole, "/content")
                .filter(|(_, block)| block["type"] == "text")
                .for_each(|(at, _)| add(format!("{at}/text")));
        }
        Api::Responses => {
            for (at, item) in numbered(whole, "/output") {
                // What has an encrypted copy comes back as it was.
                if !item["encrypted_content"].is_null() {
                    continue;
                }
                for list in ["summary", "content"] {
                    for (part, _) in numbered(whole, &format!("{at}/{list}")) {
                        add(format!("{part}/text"));
                        add(format!("{part}/refusal"));
                    }
                }
            }
        }
        Api::Gemini | Api::CodeAssist => {
            for (candidate, _) in numbered(whole, candidates(api)) {
                for (at, part) in numbered(whole, &format!("{candidate}/content/parts")) {
                    if part.get("thoughtSignature").is_none() && part.get("thought_signature").is_none() {
                        add(format!("{at}/text"));
                    }
                }
            }
        }
    }
    found
}

/// Leaves out the probabilities of words of a text.
pub(super) fn forget_words(api: Api, whole: &mut Value, pointer: &str) {
    let mut forget = |at: String, with: Value| {
        if let Some(words) = whole.pointer_mut(&at).filter(|words| !words.is_null()) {
            *words = with;
        }
    };
    // `/choices/0/message/content` and `/candidates/0/content/parts/1/text` begin alike.
    let depth = if api == Api::CodeAssist { 4 } else { 3 };
    let first: String = pointer.split('/').take(depth).collect::<Vec<_>>().join("/");
    match api {
        Api::Chat => forget(format!("{first}/logprobs"), Value::Null),
        Api::Gemini | Api::CodeAssist => forget(format!("{first}/logprobsResult"), Value::Null),
        Api::Responses => {
            let part = pointer.rsplit_once('/').map_or("", |(part, _)| part);
            forget(format!("{part}/logprobs"), json!([]));
        }
        Api::Messages => {}
    }
}

//! Texts of an answer that stand beside what the model says: what the provider's own tools were
//! asked and gave, what is quoted, what is spoken.
//!
//! They are found by the names of their members, wherever those stand. What is signed, or has an
//! encrypted copy, comes back as it was and is none of them; nor are the calls that a client runs.

use serde_json::{Value, json};

use super::places;
use crate::apis::Api;

/// Members that hold a text for people, or texts in a list.
const TEXTS: [&str; 26] = [
    "arguments",
    "cited_text",
    "code",
    "content",
    "error",
    "input",
    "logs",
    "output",
    "queries",
    "query",
    "reasoning",
    "reasoning_text",
    "refusal",
    "snippet",
    "stderr",
    "stdout",
    "summary",
    "text",
    "thinking",
    "thought",
    "title",
    "transcript",
    "uri",
    "url",
    "webSearchQueries",
    "web_search_queries",
];

/// Members beside which all is sealed.
const SEALS: [&str; 5] =
    ["signature", "thoughtSignature", "thought_signature", "encrypted_content", "encrypted_index"];

/// Members that say words once more, or none.
const NO_TEXTS: [&str; 5] = ["function_call", "inlineData", "logprobs", "logprobsResult", "usage"];

/// Members of a message of chat completions that are read as they come, or come as a whole.
const IN_PIECES: [&str; 8] = [
    "annotations",
    "content",
    "function_call",
    "reasoning",
    "reasoning_content",
    "refusal",
    "role",
    "tool_calls",
];

/// Blocks and items in which the model speaks itself.
const SPEAKS: [&str; 5] = ["text", "thinking", "redacted_thinking", "message", "reasoning"];

/// Returns where they stand in a whole answer, as pointers; those of `known` are said already.
pub(super) fn texts(api: Api, whole: &Value, known: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for root in roots(api) {
        if let Some(value) = whole.pointer(root) {
            walk(api, root, value, &mut found);
        }
    }
    found.retain(|at| !known.contains(at));
    found
}

/// Where an API has its answer.
fn roots(api: Api) -> &'static [&'static str] {
    match api {
        Api::Chat => &["/choices"],
        Api::Messages => &["/content"],
        Api::Responses => &["/output"],
        Api::Gemini => &["/candidates"],
        Api::CodeAssist => &["/response/candidates"],
    }
}

fn walk(api: Api, at: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let is_sealed = SEALS.iter().any(|key| members.get(*key).is_some_and(|seal| !seal.is_null()));
            if is_sealed || is_call(api, value) {
                return;
            }
            for (key, member) in members.iter().filter(|(key, _)| !NO_TEXTS.contains(&key.as_str())) {
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                let is_text = TEXTS.contains(&key.as_str());
                match member {
                    Value::String(text) if is_text && !text.is_empty() => found.push(at),
                    Value::Array(elements) => {
                        for (number, element) in elements.iter().enumerate() {
                            let at = format!("{at}/{number}");
                            match element {
                                Value::String(text) if is_text && !text.is_empty() => found.push(at),
                                element => walk(api, &at, element, found),
                            }
                        }
                    }
                    member => walk(api, &at, member, found),
                }
            }
        }
        Value::Array(elements) => {
            for (number, element) in elements.iter().enumerate() {
                walk(api, &format!("{at}/{number}"), element, found);
            }
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

/// Whether an object is a call that the client runs, in the answers of an API.
fn is_call(api: Api, value: &Value) -> bool {
    match api {
        Api::Chat => value.get("function").or(value.get("custom")).is_some_and(Value::is_object),
        Api::Messages => !places::of(api, &json!({ "content": [value] })).is_empty(),
        Api::Responses => !places::of(api, &json!({ "output": [value] })).is_empty(),
        Api::Gemini | Api::CodeAssist => {
            let content = json!({ "parts": [value] });
            !places::of(Api::Gemini, &json!({ "candidates": [{ "content": content }] })).is_empty()
        }
    }
}

/// Whether an event begins a block or an item in which not the model speaks. Such a one is read
/// when it is there as a whole.
pub(super) fn begins(api: Api, event: &Value) -> bool {
    let speaks = |kind: &Value| kind.as_str().is_some_and(|kind| SPEAKS.contains(&kind));
    match (api, event["type"].as_str()) {
        (Api::Messages, Some("content_block_start")) => !speaks(&event["content_block"]["type"]),
        (Api::Chat, _) => event["choices"].as_array().is_some_and(|choices| choices.iter().any(says_more)),
        (Api::Responses, Some("response.output_item.added" | "response.output_item.done")) => {
            !speaks(&event["item"]["type"])
        }
        _ => false,
    }
}

/// Whether a choice of chat completions says something in members that come in pieces nobody reads,
/// as a transcript of what is spoken.
fn says_more(choice: &Value) -> bool {
    let members = ["delta", "message"].into_iter().filter_map(|key| choice[key].as_object()).flatten();
    let mut more = Vec::new();
    // Some servers give the content in parts.
    let is_read =
        |key: &str, value: &Value| IN_PIECES.contains(&key) && !(key == "content" && value.is_array());
    for (key, value) in members.filter(|(key, value)| !is_read(key, value)) {
        walk(Api::Chat, "", &json!({ key: value }), &mut more);
    }
    !more.is_empty()
}

/// Returns where such texts stand in an event of a stream, as pointers into its data. Each is there
/// as a whole.
pub(super) fn in_event(api: Api, event: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let within: &[&str] = match api {
        Api::Chat => &["/choices"],
        Api::Messages => &["/delta/citation", "/content_block/citations"],
        Api::Responses => &["/annotation", "/part/annotations", "/item", "/response/output"],
        Api::Gemini | Api::CodeAssist => roots(api),
    };
    for root in within {
        if let Some(value) = event.pointer(root) {
            walk(api, root, value, &mut found);
        }
    }
    found
}

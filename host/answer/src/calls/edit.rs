//! Changes in an answer that is there as a whole: texts, calls, and words in the place of calls.

use std::collections::BTreeMap;

use leafgate_tree::{Document, NodeId, Segment};
use serde_json::{Map, Value, json};

use crate::apis::Api;
use crate::json::text;

/// Takes some calls out, and puts words in the place of the first of each list, or behind what a choice says. Both lists
/// name calls by the pointers of their elements: those that go, and those that stay.
pub(super) fn refuse(api: Api, whole: &mut Value, refused: &[String], left: &[String], words: &str) {
    let of_messages = json!({ "type": "text", "text": words });
    let with = match api {
        Api::Chat => return refuse_in_choices(whole, refused, left, words),
        Api::Messages => of_messages,
        Api::Responses => message_item(whole, words),
        Api::Gemini | Api::CodeAssist => json!({ "text": words }),
    };
    let mut lists: Vec<(&str, Vec<usize>)> = Vec::new();
    for (list, element) in refused.iter().filter_map(|pointer| pointer.rsplit_once('/')) {
        let Ok(element) = element.parse() else { continue };
        match lists.last_mut().filter(|(last, _)| *last == list) {
            Some((_, elements)) => elements.push(element),
            None => lists.push((list, vec![element])),
        }
    }
    for (list, elements) in lists {
        let Some(list) = whole.pointer_mut(list).and_then(Value::as_array_mut) else { continue };
        if let Some(first) = elements.first().and_then(|&first| list.get_mut(first)) {
            *first = with.clone();
        }
        without(list, &elements[1..]);
    }
    if api == Api::Messages && left.is_empty() && whole["stop_reason"] == "tool_use" {
        whole["stop_reason"] = "end_turn".into();
    }
}

/// Leaves out the elements at these places, which are in order.
fn without(list: &mut Vec<Value>, elements: &[usize]) {
    let mut at = 0;
    list.retain(|_| {
        at += 1;
        elements.binary_search(&(at - 1)).is_err()
    });
}

fn refuse_in_choices(whole: &mut Value, refused: &[String], left: &[String], words: &str) {
    let (refused, left) = (by_choice(refused), by_choice(left));
    for (at, gone) in refused {
        let choice = &mut whole["choices"][at];
        let Some(said) = choice["message"].as_object_mut() else { continue };
        if gone.contains(&"function_call") {
            said.remove("function_call");
        }
        let elements = gone.iter().filter_map(|call| call.strip_prefix("tool_calls/")?.parse().ok());
        let elements: Vec<usize> = elements.collect();
        if let Some(Value::Array(calls)) = said.get_mut("tool_calls") {
            without(calls, &elements);
            if calls.is_empty() {
                said.remove("tool_calls");
            }
        }
        say(said, words);
        if !left.contains_key(&at) {
            choice["finish_reason"] = "stop".into();
        }
    }
}

/// Where calls stand in the messages of their choices.
fn by_choice(pointers: &[String]) -> BTreeMap<usize, Vec<&str>> {
    let mut choices: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for pointer in pointers {
        let place = pointer.strip_prefix("/choices/").and_then(|rest| rest.split_once("/message/"));
        if let Some((choice, call)) = place.and_then(|(choice, call)| Some((choice.parse().ok()?, call))) {
            choices.entry(choice).or_default().push(call);
        }
    }
    choices
}

/// A message of Responses with these words.
fn message_item(whole: &Value, words: &str) -> Value {
    let id = format!("msg_leafgate_{}", whole["id"].as_str().unwrap_or_default());
    let part = json!({ "type": "output_text", "text": words, "annotations": [], "logprobs": [] });
    json!({ "id": id, "type": "message", "role": "assistant", "status": "completed", "content": [part] })
}

/// Puts words behind what a message of chat completions says.
fn say(message: &mut Map<String, Value>, words: &str) {
    let said = text(message, "content");
    let gap = if said.is_empty() { "" } else { "\n\n" };
    message.insert("content".to_owned(), format!("{said}{gap}{words}").into());
}

/// Whether a member of an answer or an event is the probabilities of its words: many times what is said, and nothing that
/// is left of an answer that was changed.
pub(super) fn is_probabilities(api: Api, document: &Document, member: NodeId) -> bool {
    /// Values around the deepest ones; what a call has as arguments lies deeper.
    const DEEPEST: usize = 5;
    let own = match api {
        Api::Chat | Api::Responses => "logprobs",
        Api::Gemini | Api::CodeAssist => "logprobsResult",
        Api::Messages => return false,
    };
    let is_own = matches!(document.segment(member), Some(Segment::Key(key)) if key == own);
    // Where nobody asked for them stands a null, or an empty list.
    let is_own = is_own && document.children(member).next().is_some();
    is_own && std::iter::successors(document.parent(member), |&node| document.parent(node)).count() <= DEEPEST
}

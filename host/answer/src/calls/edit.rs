//! Changes in an answer that is there as a whole: texts, calls, and words in the place of calls.

use std::collections::BTreeSet;

use leafgate_tree::{Document, NodeId, Segment};
use serde_json::{Map, Value, json};

use crate::apis::wire;
use crate::json::{is_nothing, text};
use leafgate_api::Api;

/// Takes some calls out, and puts words in the place of the first of each list, or behind what a choice says. Both lists
/// name calls by the pointers of their elements, in order: those that go, and those that stay.
pub(crate) fn refuse(api: Api, whole: &mut Value, refused: &[String], left: &[String], words: &str) {
    let with = match api {
        Api::Chat => Value::Null,
        Api::Messages => json!({ "type": "text", "text": words }),
        Api::Responses => message_item(whole, words),
        Api::Gemini | Api::CodeAssist => json!({ "text": words }),
    };
    // From the last one on, so that the first of each list is known when the others are marked.
    for (at, pointer) in refused.iter().enumerate().rev() {
        let Some((list, element)) = pointer.rsplit_once('/') else { continue };
        let is_first = at == 0 || refused[at - 1].rsplit_once('/').is_none_or(|(last, _)| last != list);
        match whole.pointer_mut(list) {
            Some(Value::Array(elements)) => {
                let place = element.parse().ok().and_then(|element: usize| elements.get_mut(element));
                place
                    .into_iter()
                    .for_each(|place| *place = if is_first { with.clone() } else { Value::Null });
                if is_first {
                    elements.retain(|element| !element.is_null());
                }
            }
            Some(Value::Object(message)) => drop(message.remove(element)),
            _ => {}
        }
    }
    if api == Api::Chat {
        end_choices(whole, refused, left, words);
    }
    if api == Api::Messages && left.is_empty() && whole["stop_reason"] == "tool_use" {
        whole["stop_reason"] = "end_turn".into();
    }
}

/// Says words in the choices whose calls are gone; one that has none left has come to its end.
fn end_choices(whole: &mut Value, refused: &[String], left: &[String], words: &str) {
    let choices = |pointers: &[String]| -> BTreeSet<String> {
        let choices = pointers.iter().filter_map(|pointer| pointer.split_once("/message/"));
        choices.map(|(choice, _)| choice.to_owned()).collect()
    };
    let left = choices(left);
    for at in choices(refused) {
        let Some(choice) = whole.pointer_mut(&at) else { continue };
        let Some(message) = choice["message"].as_object_mut() else { continue };
        if message.get("tool_calls").is_some_and(is_nothing) {
            message.remove("tool_calls");
        }
        say(message, words);
        if !left.contains(&at) {
            choice["finish_reason"] = "stop".into();
        }
    }
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
pub(crate) fn is_probabilities(api: Api, document: &Document, member: NodeId) -> bool {
    /// Values around the deepest ones; what a call has as arguments lies deeper.
    const DEEPEST: usize = 5;
    let Some(own) = wire(api).probabilities else { return false };
    let is_own = matches!(document.segment(member), Some(Segment::Key(key)) if key == own);
    // Where nobody asked for them stands a null, or an empty list.
    let is_own = is_own && document.children(member).next().is_some();
    is_own && std::iter::successors(document.parent(member), |&node| document.parent(node)).count() <= DEEPEST
}

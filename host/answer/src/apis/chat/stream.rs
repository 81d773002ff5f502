//! A stream of chunks, put together.

use serde_json::{Value, json};

use crate::apis::AnswerAssembly;
use crate::json::{Again, Object, index, is_nothing, merge, merge_member, text};

/// Calls of one message that are kept.
const MAX_CALLS: usize = 512;

/// Puts a chunk to those that came before it; returns whether all of it has a place.
pub(super) fn put(into: &mut AnswerAssembly, mut chunk: Object) -> bool {
    let choices = chunk.remove("choices");
    if choices.is_none() && !chunk.contains_key("error") {
        return true;
    }
    into.came = true;
    // Padding against eavesdroppers who count bytes.
    chunk.remove("obfuscation");
    into.root.extend(chunk.into_iter().filter(|(_, value)| !is_nothing(value)));
    let Some(Value::Array(choices)) = choices else { return true };
    let put = |choice| match choice {
        Value::Object(choice) => put_choice(into, choice).is_some(),
        _ => true,
    };
    choices.into_iter().map(put).fold(true, |all, one| all & one)
}

/// `None` for what has no place.
fn put_choice(into: &mut AnswerAssembly, mut piece: Object) -> Option<()> {
    let at = index(&piece, "index").unwrap_or(0);
    let choice = into.item(at)?;
    choice.insert("index".to_owned(), at.into());
    let delta = piece.remove("delta");
    if let Some(logprobs) = piece.remove("logprobs") {
        merge_member(choice, "logprobs", logprobs, Again::Join);
    }
    merge(choice, piece, Again::Replace);
    // The last piece of a choice has an empty one.
    let Some(Value::Object(mut delta)) = delta else { return Some(()) };
    if delta.is_empty() {
        return Some(());
    }
    let message = choice.entry("message").or_insert_with(|| json!({})).as_object_mut()?;
    message.insert("role".to_owned(), "assistant".into());
    delta.remove("role");
    let calls = delta.remove("tool_calls");
    merge(message, delta, Again::Join);
    for piece in calls.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_object) {
        let list = message.entry("tool_calls").or_insert_with(|| json!([])).as_array_mut()?;
        put_call(list, piece)?;
    }
    Some(())
}

/// Adds a piece to its call. It is found by its index, without one by its id, without that it goes
/// on with the last one.
fn put_call(list: &mut Vec<Value>, piece: &Object) -> Option<()> {
    let id = text(piece, "id");
    let by_id = || list.iter().position(|call| !id.is_empty() && call["id"] == id);
    let next = if id.is_empty() { list.len().saturating_sub(1) } else { list.len() };
    let at = index(piece, "index").or_else(by_id).unwrap_or(next);
    // A gap would be calls without names.
    if at > list.len() || at >= MAX_CALLS {
        return None;
    }
    if at == list.len() {
        list.push(json!({}));
    }
    let call = list[at].as_object_mut()?;
    // Some servers repeat id and name with each piece.
    let is_first = |held: &Object, key: &str| held.get(key).is_none_or(is_nothing);
    for (key, value) in piece {
        match (key.as_str(), value) {
            ("index", _) => {}
            ("id" | "type", value) if is_first(call, key) => drop(call.insert(key.clone(), value.clone())),
            ("id" | "type", _) => {}
            ("function" | "custom", Value::Object(function)) => {
                let mut function = function.clone();
                let held = call.entry(key).or_insert_with(|| json!({})).as_object_mut()?;
                if !is_first(held, "name") {
                    function.remove("name");
                }
                merge(held, function, Again::Join);
            }
            (_, value) => merge_member(call, key, value.clone(), Again::Replace),
        }
    }
    Some(())
}

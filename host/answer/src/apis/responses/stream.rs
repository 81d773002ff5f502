//! A stream of items, put together.

use leafgate_api::responses::CallItem;
use serde_json::{Value, json};

use super::words::{BEGINS, CONTENT, ENDS, List, SPOKEN, SUMMARY, asked, spoken};
use crate::apis::{AnswerAssembly, failure};
use crate::json::{Object, index, text};

/// Parts of one item that are kept.
const MAX_PARTS: usize = 2048;

/// Puts an event to those that came before it; returns whether all of it has a place.
pub(super) fn put(into: &mut AnswerAssembly, mut event: Object) -> bool {
    let kind = text(&event, "type").to_owned();
    let at = index(&event, "output_index").unwrap_or(0);
    match kind.as_str() {
        kind if BEGINS.contains(&kind) || ENDS.contains(&kind) => {
            put_response(into, event.remove("response"));
        }
        "response.output_item.added" | "response.output_item.done" => {
            let Some(Value::Object(item)) = event.remove("item") else { return true };
            let Some(place) = into.item(at) else { return false };
            *place = item;
            into.came = true;
        }
        "error" => fail(into, &event),
        "" if event.contains_key("error") => fail(into, &event),
        _ => put_piece(into, at, &kind, event),
    }
    true
}

/// Puts what the deltas said where no item was repeated whole.
pub(super) fn fill(assembly: &mut AnswerAssembly) {
    for ((at, list, part), words) in std::mem::take(&mut assembly.said) {
        if let Some(item) = assembly.items.get_mut(&at) {
            fill_item(item, list, part, words);
        }
    }
}

fn put_response(into: &mut AnswerAssembly, response: Option<Value>) {
    let Some(Value::Object(mut response)) = response else { return };
    // Some servers leave the items out of the last event: those that came count.
    if let Some(Value::Array(output)) = response.remove("output")
        && !output.is_empty()
    {
        let items = output.into_iter().enumerate();
        into.items = items.filter_map(|(at, item)| Some((at, item.as_object()?.clone()))).collect();
    }
    into.root = response;
    into.came = true;
}

/// The documented event has its members at the top, the live one an error.
fn fail(into: &mut AnswerAssembly, event: &Object) {
    let (kind, message) = failure(event).map_or_else(
        || (text(event, "code").into(), text(event, "message").into()),
        |failure| (failure.kind, failure.message),
    );
    into.root.insert("status".to_owned(), "failed".into());
    into.root
        .insert("error".to_owned(), json!({ "code": kind.into_string(), "message": message.into_string() }));
    into.came = true;
}

/// A piece of an item: a part or a delta.
fn put_piece(into: &mut AnswerAssembly, at: usize, kind: &str, mut event: Object) {
    let Some((begins, what)) = kind.rsplit_once('.') else { return };
    let part = |list: &List| index(&event, list.index).unwrap_or(0).min(MAX_PARTS);
    let of_text = SPOKEN.iter().find(|spoken| spoken.event == begins);
    let of_text = of_text.map(|spoken| (spoken.list.member, part(spoken.list), spoken.key));
    let of_call = CallItem::of_event(begins).map(|asked| (asked.arguments, 0, asked.arguments));
    if let Some((list, part, key)) = of_text.or(of_call) {
        let said = into.said.entry((at, list, part)).or_default();
        match what {
            "delta" => said.push_str(text(&event, "delta")),
            _ if text(&event, key).is_empty() => {}
            _ => *said = text(&event, key).to_owned(),
        }
    } else if let Some(list) = [&SUMMARY, &CONTENT].into_iter().find(|list| list.part == begins) {
        let number = part(list);
        if let (Some(Value::Object(part)), Some(item)) = (event.remove("part"), into.items.get_mut(&at))
            && let Value::Array(parts) = item.entry(list.member).or_insert_with(|| json!([]))
        {
            // A part in the air would be a way to make many of few bytes.
            if number == parts.len() {
                parts.push(part.into());
            } else if let Some(place) = parts.get_mut(number) {
                *place = part.into();
            }
        }
    }
}

fn fill_item(item: &mut Object, list: &'static str, part: usize, words: String) {
    if let Some(asked) = asked(item) {
        if text(item, asked.arguments).is_empty() {
            item.insert(asked.arguments.to_owned(), words.into());
        }
        return;
    }
    let default = match (text(item, "type"), list) {
        ("reasoning", "summary") => "summary_text",
        ("reasoning", _) => "reasoning_text",
        _ => "output_text",
    };
    let Value::Array(parts) = item.entry(list).or_insert_with(|| json!([])) else { return };
    if part == parts.len() {
        parts.push(json!({ "type": default, "text": "" }));
    }
    if let Some(Value::Object(part)) = parts.get_mut(part) {
        let key = spoken(part).map_or("text", |spoken| spoken.key);
        if text(part, key).is_empty() {
            part.insert(key.to_owned(), words.into());
        }
    }
}

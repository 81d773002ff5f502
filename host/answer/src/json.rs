//! Reading loosely shaped JSON.

use serde_json::{Map, Value};

use crate::reading::{StrictReading, parse};
use crate::text::AnswerText;

/// An object.
pub(crate) type Object = Map<String, Value>;

/// The text of a member; empty where there is none.
pub(crate) fn text<'v>(object: &'v Object, key: &str) -> &'v str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A number that counts. Some write times as fractions.
pub(crate) fn count(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64)).unwrap_or_default()
}

/// An index that an event names.
pub(crate) fn index(object: &Object, key: &str) -> Option<usize> {
    object.get(key)?.as_u64()?.try_into().ok()
}

/// The elements of a member; none where it is no array.
pub(crate) fn elements<'v>(object: &'v Object, key: &str) -> &'v [Value] {
    object.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// An object member.
pub(crate) fn member<'v>(object: &'v Object, key: &str) -> Option<&'v Object> {
    object.get(key)?.as_object()
}

/// Whether a value says nothing.
pub(crate) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.values().all(is_nothing),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What becomes of a string or an array that comes a second time.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Again {
    /// It is the next piece.
    Join,
    /// It is the newer one.
    Replace,
}

/// Merges the members of a piece into what came before.
pub(crate) fn merge(into: &mut Object, piece: Object, again: Again) {
    for (key, value) in piece {
        merge_member(into, key, value, again);
    }
}

/// Merges a piece of a member into what came before.
pub(crate) fn merge_member(into: &mut Object, key: impl Into<String>, piece: Value, again: Again) {
    match (into.entry(key).or_insert(Value::Null), piece) {
        (_, Value::Null) => {}
        (Value::String(into), Value::String(piece)) if again == Again::Join => into.push_str(&piece),
        (Value::Array(into), Value::Array(piece)) if again == Again::Join => into.extend(piece),
        (Value::Object(into), Value::Object(piece)) => merge(into, piece, again),
        (into, piece) => *into = piece,
    }
}

/// The arguments of a call, as they are sent where JSON is wanted: `None` for what is no object.
/// Nothing at all stands for no arguments.
pub(crate) fn arguments(text: &str) -> Option<Value> {
    if text.trim().is_empty() {
        return Some(Value::Object(Map::new()));
    }
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// The arguments of a call as text. What was no JSON came as a string and stays as it is.
pub(crate) fn arguments_text(input: Option<&Value>) -> String {
    match input {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// Whether arguments say the same, however they are spelled. Those in which a key stands twice say no one thing.
pub(crate) fn is_same(one: &AnswerText, other: &AnswerText) -> bool {
    let json = |text: &AnswerText| {
        let text = text.expose().to_owned();
        let is_plain = parse(text.clone().into())
            .is_ok_and(|document| StrictReading::new(&document).has_no_key_twice(document.root()));
        arguments(&text).filter(|_| is_plain || text.trim().is_empty())
    };
    one == other || json(one).is_some_and(|one| json(other) == Some(one))
}

/// Returns how many values there are in a value, itself included.
pub(crate) fn values_in(value: &Value) -> usize {
    1 + match value {
        Value::Array(elements) => elements.iter().map(values_in).sum(),
        Value::Object(members) => members.values().map(values_in).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

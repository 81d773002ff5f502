//! Objects whose members keep their order and their spelling.

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use serde_with::{Map, serde_as};

/// A value as it was spelled.
pub(crate) type Raw = Box<RawValue>;

/// An object, in the order of its members.
#[serde_as]
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Object(#[serde_as(as = "Map<_, _>")] Vec<(String, Raw)>);

impl Object {
    pub(crate) fn get(&self, key: &str) -> Option<&RawValue> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }

    /// Whether a member is there twice: parsers differ about which one counts.
    pub(crate) fn is_twice(&self, key: &str) -> bool {
        self.0.iter().filter(|(name, _)| name == key).count() > 1
    }

    /// The texts of all members of a name, `None` for each that is no string.
    pub(crate) fn all(&self, key: &str) -> impl Iterator<Item = Option<String>> {
        self.0.iter().filter(move |(name, _)| name == key).map(|(_, value)| text(value))
    }

    /// Sets a member where it stands, or at the end.
    pub(crate) fn set(&mut self, key: &str, value: Raw) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, held)) => *held = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Raw> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    /// The names of its members.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Keeps only these members.
    pub(crate) fn keep(&mut self, keys: &[&str]) {
        self.0.retain(|(name, _)| keys.contains(&name.as_str()));
    }

    /// Removes members and returns whether there was any of them.
    pub(crate) fn drop(&mut self, keys: &[String]) -> bool {
        let before = self.0.len();
        self.0.retain(|(name, _)| !keys.contains(name));
        self.0.len() < before
    }

    /// Its spelling.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        raw(self).get().as_bytes().to_vec()
    }

    /// The text of a member.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        text(self.get(key)?)
    }

    /// The objects of a list; `None` for what is no list of objects.
    pub(crate) fn objects(&self, key: &str) -> Option<Vec<Object>> {
        serde_json::from_str(self.get(key)?.get()).ok()
    }

    /// The object that a member is.
    pub(crate) fn object(&self, key: &str) -> Option<Object> {
        serde_json::from_str(self.get(key)?.get()).ok()
    }

    /// An object of members in this order.
    pub(crate) fn with(members: Vec<(&str, Raw)>) -> Object {
        Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}

/// The text of a string.
pub(crate) fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// A value that we made.
pub(crate) fn raw(value: &impl Serialize) -> Raw {
    let none = || serde_json::value::to_raw_value(&json!(null)).expect("null is a value");
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| none())
}

/// Whether a value says nothing.
pub(crate) fn is_nothing(value: &RawValue) -> bool {
    matches!(value.get(), "null" | "\"\"" | "[]")
}

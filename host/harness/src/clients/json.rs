//! JSON as it stands in its bytes: members in their order, and twins beside each other.

use std::fmt::{self, Write as _};

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A value. Unlike `serde_json::Value` it keeps what parsers disagree about.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// A number or a boolean, as it is spelled.
    Scalar(String),
    /// A string, decoded.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object with all of its members.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads JSON; `None` for what is none.
    pub fn read(text: &str) -> Option<Json> {
        serde_json::from_str(text).ok()
    }

    /// A string.
    pub fn text(text: &str) -> Json {
        Json::Text(text.to_owned())
    }

    /// The string that it is.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            Json::Null | Json::Scalar(_) | Json::List(_) | Json::Object(_) => None,
        }
    }

    /// Its elements or the values of its members.
    pub fn children(&self) -> Box<dyn Iterator<Item = &Json> + '_> {
        match self {
            Json::List(elements) => Box::new(elements.iter()),
            Json::Object(members) => Box::new(members.iter().map(|(_, value)| value)),
            Json::Null | Json::Scalar(_) | Json::Text(_) => Box::new(std::iter::empty()),
        }
    }

    /// Whether a string or a key in it says this, inside of strings that are JSON too.
    pub fn says(&self, word: &str) -> bool {
        let key = |key: &String| key.contains(word);
        match self {
            Json::Text(text) => text.contains(word) || Json::read(text).is_some_and(|inner| inner.says(word)),
            Json::Object(members) => members.iter().any(|(name, value)| key(name) || value.says(word)),
            Json::List(elements) => elements.iter().any(|element| element.says(word)),
            Json::Null | Json::Scalar(_) => false,
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
        match self {
            Json::Null => f.write_str("null"),
            Json::Scalar(spelled) => f.write_str(spelled),
            Json::Text(text) => f.write_str(&quoted(text)),
            Json::List(elements) => {
                for (at, element) in elements.iter().enumerate() {
                    write!(f, "{}{element}", if at == 0 { '[' } else { ',' })?;
                }
                f.write_str(if elements.is_empty() { "[]" } else { "]" })
            }
            Json::Object(members) => {
                for (at, (key, value)) in members.iter().enumerate() {
                    f.write_char(if at == 0 { '{' } else { ',' })?;
                    write!(f, "{}:{value}", quoted(key))?;
                }
                f.write_str(if members.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Scalar(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            list.push(element);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Json::Object(object))
    }
}

//! JSON to be written: members in the order in which an API documents them, and values from a file
//! in their own spelling.

use std::fmt;
use std::iter::once;

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON value to be written.
#[derive(Clone, PartialEq, Eq, derive_more::From)]
pub enum Json {
    /// A whole number.
    Number(i64),
    /// A string.
    #[from(&str)]
    Text(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, its members in this order.
    Object(Vec<(&'static str, Json)>),
    /// JSON in the spelling of its source: numbers, escapes and member order stay.
    Verbatim(String),
}

impl Json {
    /// Creates a string.
    pub fn text(text: impl Into<String>) -> Json {
        Json::Text(text.into())
    }

    /// Creates an object that says its kind first.
    pub(crate) fn of(kind: &'static str, members: Vec<(&'static str, Json)>) -> Json {
        Json::Object(once(("type", kind.into())).chain(members).collect())
    }

    /// Returns the value on several lines, for people. Values from a file keep their own spelling.
    pub fn pretty(&self) -> String {
        serde_json::to_string_pretty(self).expect("what was taken over from a file was JSON there") + "\n"
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Number(number) => number.serialize(serializer),
            Json::Text(text) => text.serialize(serializer),
            Json::Verbatim(json) => {
                let json: &RawValue = serde_json::from_str(json).map_err(S::Error::custom)?;
                json.serialize(serializer)
            }
            Json::Array(elements) => elements.serialize(serializer),
            Json::Object(members) => serializer.collect_map(members.iter().map(|(key, value)| (key, value))),
        }
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The texts are the user's.
        write!(f, "{} bytes of JSON", self.pretty().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_values_taken_over_their_spelling() {
        let json = Json::Object(vec![
            ("z", Json::Array(vec![Json::Number(-1), Json::text("a\"\n")])),
            ("a", Json::Verbatim(" {\"n\":1.50E+0,\"s\":\"\\udead\"} ".to_owned())),
            ("e", Json::Array(Vec::new())),
        ]);
        let expected = "{\n  \"z\": [\n    -1,\n    \"a\\\"\\n\"\n  ],\n  \"a\": {\"n\":1.50E+0,\"s\":\"\\udead\"},\n  \"e\": []\n}\n";
        assert_eq!(json.pretty(), expected);
        assert!(!format!("{json:?}").contains('a'.to_string().repeat(2).as_str()));
    }

    #[test]
    fn debug_shows_no_text() {
        assert_eq!(format!("{:?}", Json::text("hidden")), "9 bytes of JSON");
    }
}

//! JSON to be written: members in the order in which an API documents them, and values from a file
//! in their own spelling.

use std::fmt::{self, Write as _};

/// A JSON value to be written.
#[derive(Clone, PartialEq, Eq, derive_more::From)]
pub enum Json {
    /// `true` or `false`.
    Bool(bool),
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

    /// Returns the value on several lines, for people. Values from a file keep their own spelling.
    #[must_use]
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out.push('\n');
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(number) => write!(out, "{number}").expect("a string takes every write"),
            Json::Text(text) => out.push_str(&quoted(text)),
            Json::Verbatim(json) => out.push_str(json.trim()),
            Json::Array(elements) => {
                list(out, depth, ['[', ']'], elements, |out, element| element.write(out, depth + 1));
            }
            Json::Object(members) => list(out, depth, ['{', '}'], members, |out, (key, value)| {
                out.push_str(&quoted(key));
                out.push_str(": ");
                value.write(out, depth + 1);
            }),
        }
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The texts are the user's.
        write!(f, "{} bytes of JSON", self.pretty().len())
    }
}

fn list<T>(
    out: &mut String,
    depth: usize,
    brackets: [char; 2],
    items: &[T],
    mut write: impl FnMut(&mut String, &T),
) {
    out.push(brackets[0]);
    for (place, item) in items.iter().enumerate() {
        out.push_str(if place == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        write(out, item);
    }
    if !items.is_empty() {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push(brackets[1]);
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("every text can be spelled as a JSON string")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_values_taken_over_their_spelling() {
        let json = Json::Object(vec![
            ("z", Json::Array(vec![Json::Bool(true), Json::Number(-1), Json::text("a\"\n")])),
            ("a", Json::Verbatim(" {\"n\":1.50E+0,\"s\":\"\\udead\"} ".to_owned())),
            ("e", Json::Array(Vec::new())),
        ]);
        let expected = "{\n  \"z\": [\n    true,\n    -1,\n    \"a\\\"\\n\"\n  ],\n  \"a\": {\"n\":1.50E+0,\"s\":\"\\udead\"},\n  \"e\": []\n}\n";
        assert_eq!(json.pretty(), expected);
        assert!(!format!("{json:?}").contains('a'.to_string().repeat(2).as_str()));
    }

    #[test]
    fn debug_shows_no_text() {
        assert_eq!(format!("{:?}", Json::text("hidden")), "9 bytes of JSON");
    }
}

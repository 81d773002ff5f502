//! Text of the user's request, as a type that is not printed by accident.

use std::borrow::Cow;

use serde_json::Value;

use crate::escape;

/// Text of the user's request. Printing it by accident prints its length.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("{} bytes of text", self.0.len())]
pub struct LeafText<'d>(Cow<'d, str>);

impl<'d> LeafText<'d> {
    pub(crate) fn new(text: impl Into<Cow<'d, str>>) -> Self {
        LeafText(text.into())
    }

    /// The text itself, for whoever may see it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text itself, taken out.
    #[must_use]
    pub fn into_cow(self) -> Cow<'d, str> {
        self.0
    }
}

/// Decodes JSON escapes in a text as often as they are nested, for texts beyond the caps.
///
/// Stops when nothing changes any more or after eight rounds, more than any honest client nests.
pub fn unescape_deeply(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..8 {
        if !text.contains('\\') {
            break;
        }
        text = escape::unescape(&text);
    }
    text
}

/// Returns the text of a value, or its JSON spelling.
pub(crate) fn spelling(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

//! Cuts JSON into its tokens, wherever a stretch of it begins and ends, and whatever is no JSON in it: bodies are cut into
//! pieces, masked and searched by them.

/// One token, or a blank.
#[derive(Clone, Copy)]
pub(crate) struct JsonToken<'j> {
    /// Where it begins.
    pub(crate) at: usize,
    pub(crate) text: &'j [u8],
    pub(crate) kind: JsonTokenKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonTokenKind {
    /// A string with its quotes; the last one may lack its end.
    String,
    /// One of `{}[],:`, or a blank.
    Sign(u8),
    /// A number, a word of JSON, or what is no JSON.
    Scalar,
}

/// Cuts a text.
pub(crate) struct JsonTokens<'j> {
    json: &'j [u8],
    at: usize,
}

impl<'j> JsonTokens<'j> {
    pub(crate) fn new(json: &'j [u8]) -> Self {
        JsonTokens { json, at: 0 }
    }

    /// Returns what is left.
    pub(crate) fn rest(&self) -> &'j [u8] {
        &self.json[self.at..]
    }
}

impl<'j> Iterator for JsonTokens<'j> {
    type Item = JsonToken<'j>;

    fn next(&mut self) -> Option<JsonToken<'j>> {
        let (at, rest) = (self.at, self.rest());
        let is_end = |byte: &u8| b"{}[],:\" \n\r\t".contains(byte);
        let (kind, length) = match *rest.first()? {
            b'"' => (JsonTokenKind::String, string_length(rest)),
            sign if is_end(&sign) => (JsonTokenKind::Sign(sign), 1),
            _ => (JsonTokenKind::Scalar, rest.iter().position(is_end).unwrap_or(rest.len())),
        };
        self.at += length;
        Some(JsonToken { at, text: &rest[..length], kind })
    }
}

/// Returns the length of the string that a text begins with, its quotes included.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        at += found;
        if text[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

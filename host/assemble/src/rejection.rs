//! What providers say where they do not take a request as it is.
//!
//! Providers have no common code for it, so the words of their errors tell (`rejections.toml`). What an
//! error quotes of a request may hold such words too: then a request is asked about once more than it had
//! to be, and is judged again before.

use std::sync::LazyLock;

use leafgate_words::words;
use serde::Deserialize;
use serde_json::Value;

words! {
    /// What a provider does not take.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Refused {
        /// Images.
        Images = "images",
        /// Tools.
        Tools = "tools",
        /// The model: it is not there, not any more, or not for this account.
        Model = "model",
        /// An answer as a stream.
        Stream = "stream",
    }
    /// Its word.
    pub fn name = 0;
}

/// Statuses with which providers refuse a request for what it is. 401, 403 and 429 are about the
/// account.
const STATUSES: [u16; 4] = [400, 404, 415, 422];

/// What providers say, the more special words first.
#[derive(Deserialize)]
struct Rejections {
    refused: Vec<RejectionWords>,
}

/// What one thing is told by: words of which each row stands in an error as a whole.
#[derive(Deserialize)]
struct RejectionWords {
    what: Refused,
    words: Vec<Vec<String>>,
}

static REJECTIONS: LazyLock<Rejections> =
    LazyLock::new(|| toml::from_str(include_str!("rejections.toml")).expect("a test reads it"));

/// Bytes of an error that are looked at.
const LOOKED_AT: usize = 16 * 1024;

/// Returns what a provider does not take, told by the status and the body of its error; `None` for
/// any other error.
#[must_use]
pub fn refused(status: u16, error: &[u8]) -> Option<Refused> {
    if !STATUSES.contains(&status) {
        return None;
    }
    let mut words = String::new();
    match serde_json::from_slice::<Value>(error) {
        Ok(error) => collect(&error, &mut words),
        Err(_) => words.push_str(&String::from_utf8_lossy(&error[..error.len().min(LOOKED_AT)])),
    }
    let words = words.to_lowercase();
    let said = |row: &Vec<String>| row.iter().all(|word| words.contains(word));
    REJECTIONS.refused.iter().find(|refused| refused.words.iter().any(said)).map(|refused| refused.what)
}

/// The strings of an error, as far as they are looked at.
fn collect(value: &Value, words: &mut String) {
    if words.len() >= LOOKED_AT {
        return;
    }
    match value {
        Value::String(text) => {
            let end = text.floor_char_boundary(LOOKED_AT.min(text.len()));
            words.push_str(&text[..end]);
            words.push('\n');
        }
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, words)),
        Value::Object(members) => members.values().for_each(|member| collect(member, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(status: u16, message: &str) -> Option<Refused> {
        refused(status, json!({ "error": { "message": message } }).to_string().as_bytes())
    }

    #[test]
    fn errors_of_providers_are_told_apart() {
        for (message, what) in [
            ("No endpoints found that support image input", Refused::Images),
            ("Invalid content type. image_url is only supported by certain models.", Refused::Images),
            ("Image input is not enabled for this model", Refused::Images),
            ("unknown variant `image_url`, expected `text`", Refused::Images),
            ("registry.example/gemma:latest does not support tools", Refused::Tools),
            ("No endpoints found that support tool use", Refused::Tools),
            ("`tool calling` is not supported with this model", Refused::Tools),
            ("\"auto\" tool choice requires --enable-auto-tool-choice", Refused::Tools),
            ("The model `x` does not exist or you do not have access to it.", Refused::Model),
            ("model \"x\" not found, try pulling it first", Refused::Model),
            ("x is not a valid model ID", Refused::Model),
            ("Your organization must be verified to stream this model.", Refused::Stream),
            ("Unsupported value: 'stream' does not support true with this model.", Refused::Stream),
        ] {
            assert_eq!(of(400, message), Some(what), "{message}");
        }
        let anthropic =
            json!({ "type": "error", "error": { "type": "not_found_error", "message": "model: claude-x" } });
        assert_eq!(refused(404, anthropic.to_string().as_bytes()), Some(Refused::Model));
        assert_eq!(refused(404, b"{\"error\":\"model 'x' not found\"}"), Some(Refused::Model));
        assert_eq!(refused(400, b"This model does not support tools"), Some(Refused::Tools));
    }

    #[test]
    fn other_errors_are_none_of_these() {
        assert_eq!(of(400, "max_tokens is too large"), None);
        for status in [200, 401, 403, 429, 500, 529] {
            assert_eq!(of(status, "this model does not support tools"), None, "{status}");
        }
        assert_eq!(refused(400, b""), None);
    }
}

//! Requests to send: small ones made here, and the example files with their placeholders filled in.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::{paths, plant};

/// A chat request of one message by the user.
#[must_use]
pub fn chat(text: &str) -> Vec<u8> {
    chat_for("gpt-sample", text)
}

/// The same, for a model of this name.
#[must_use]
pub fn chat_for(model: &str, text: &str) -> Vec<u8> {
    messages(model, &json!([{ "role": "user", "content": text }]))
}

/// A chat request with these messages.
#[must_use]
pub fn messages(model: &str, messages: &Value) -> Vec<u8> {
    json!({ "model": model, "messages": messages }).to_string().into_bytes()
}

/// An example request with a credential in the place of its placeholder.
pub struct Example {
    /// The body as a client would send it.
    pub body: Vec<u8>,
    /// The credential that was put in.
    pub credential: String,
}

/// The placeholder that stands in example files where a credential would.
const PLACEHOLDER: &str = "{{credential}}";

/// Reads `examples/requests/<name>` and puts a credential in, made up at run time: the repository holds none.
///
/// # Errors
/// When the file is missing or has no placeholder.
pub fn example(name: &str) -> Result<Example> {
    let path = paths::example("requests").join(name);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(text.contains(PLACEHOLDER), "{} has no {PLACEHOLDER}", path.display());
    let credential = plant::github(20);
    Ok(Example { body: text.replace(PLACEHOLDER, &credential).into_bytes(), credential })
}

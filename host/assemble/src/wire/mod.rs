//! How each API spells a conversation: one file each, behind [`Wire`].

mod chat;
mod messages;
mod responses;

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use crate::error::AssembleError;
use crate::history::{Outcome, Turn};
use crate::json::{Object, text};

/// An API whose requests are assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Api {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

impl Api {
    /// All of them.
    pub const ALL: [Api; 3] = [Api::Chat, Api::Responses, Api::Messages];

    pub(crate) fn wire(self) -> &'static dyn Wire {
        match self {
            Api::Chat => &chat::Chat,
            Api::Responses => &responses::Responses,
            Api::Messages => &messages::Messages,
        }
    }
}

/// How an API spells a conversation.
pub(crate) trait Wire: Sync {
    /// Members that must not be there twice.
    fn single(&self) -> &'static [&'static str];

    /// Takes the conversation out of a body.
    fn take(&self, body: &mut Object) -> Result<Vec<Turn>, AssembleError>;

    /// Whether the provider knows calls that are not in the body.
    fn is_loose(&self, _body: &Object) -> bool {
        false
    }

    /// Puts the conversation into a body.
    fn put(&self, body: &mut Object, system: Option<&str>, items: Vec<Object>);

    /// What the model said, with these calls and no others, each with the members that the API knows.
    fn with_calls(&self, items: Vec<Object>, wanted: &BTreeSet<String>) -> Vec<Object>;

    /// What the model said in words.
    fn words_only(&self, items: Vec<Object>) -> Vec<Object>;

    /// The results of the calls of one turn.
    fn results(&self, outcomes: Vec<(String, Outcome)>) -> Vec<Object>;

    /// A message of the user.
    fn said(&self, text: &str) -> Object;

    /// A message of the user with an image.
    fn picture(&self, label: &str, media: &str, base64: &str) -> Object;

    /// The name of a tool, or of a choice of one.
    fn tool_name(&self, tool: &Object) -> String;

    /// Normalises the schema of a tool and returns whether that changed anything.
    fn normalise(&self, tool: &mut Object) -> bool;
}

/// A list of objects, or an error that names the first element that is none.
fn list(body: &Object, key: &'static str) -> Result<Vec<Object>, AssembleError> {
    let Some(value) = body.get(key) else {
        return Err(AssembleError::shape(format!("/{key}"), "a list of messages"));
    };
    let elements: Vec<&RawValue> = serde_json::from_str(value.get())
        .map_err(|_| AssembleError::shape(format!("/{key}"), "a list of messages"))?;
    let element = |(at, element): (usize, &&RawValue)| {
        serde_json::from_str(element.get())
            .map_err(|_| AssembleError::shape(format!("/{key}/{at}"), "an object"))
    };
    elements.iter().enumerate().map(element).collect()
}

/// The words of a content: a text, or the texts of its parts.
fn words(content: Option<&RawValue>) -> String {
    let Some(content) = content else { return String::new() };
    if let Some(words) = text(content) {
        return words;
    }
    // Half a character is no text, but what stands around it must not get lost.
    if let Some(spelled) = content.get().strip_prefix('"') {
        return spelled.trim_end_matches('"').to_owned();
    }
    let parts: Vec<Object> = serde_json::from_str(content.get()).unwrap_or_default();
    parts.iter().filter_map(|part| part.text("text")).collect::<Vec<_>>().join("\n")
}

/// A stored result as a text.
fn stored(result: Option<&RawValue>) -> Option<String> {
    let result = result.filter(|result| result.get() != "null")?;
    Some(text(result).unwrap_or_else(|| result.get().to_owned()))
}

/// Arguments as text, where they are none yet: an object is spelled out, nothing at all is an empty
/// one. `None` for a text, which stays as it is.
fn arguments(value: Option<&RawValue>) -> Option<String> {
    match value.map(RawValue::get) {
        None | Some("null") => Some("{}".to_owned()),
        Some(spelled) if !spelled.starts_with('"') => Some(spelled.to_owned()),
        Some(_) => {
            let is_blank = value.and_then(text).is_some_and(|text| text.trim().is_empty());
            is_blank.then(|| "{}".to_owned())
        }
    }
}

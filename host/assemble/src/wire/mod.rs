//! How each API spells a conversation: one file each, behind [`RequestWire`].

mod chat;
mod gemini;
mod messages;
mod responses;

use std::collections::BTreeSet;

use leafgate_api::Api;
use serde_json::value::RawValue;

use crate::error::AssembleError;
use crate::history::{HistoryCall, HistoryTurn};
use crate::json::{Object, is_nothing, raw, text};

/// Returns how an API spells a conversation. That of Code Assist is Gemini's, in a member that is not taken apart here: such a
/// body is refused as one without a conversation.
pub(crate) fn wire(api: Api) -> &'static dyn RequestWire {
    match api {
        Api::Chat => &chat::ChatRequests,
        Api::Responses => &responses::ResponsesRequests,
        Api::Messages => &messages::MessagesRequests,
        Api::Gemini | Api::CodeAssist => &gemini::GeminiRequests,
    }
}

/// How an API spells a conversation.
pub(crate) trait RequestWire: Sync {
    /// Members that must not be there twice.
    fn single(&self) -> &'static [&'static str];

    /// Takes the conversation out of a body.
    fn take(&self, body: &mut Object) -> Result<Vec<HistoryTurn>, AssembleError>;

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

    /// The result of a call that the client stored as a text.
    fn result(&self, call: &HistoryCall, text: &str) -> Object;

    /// A result as the client sent it, with what it is to be known by.
    fn sent(&self, _call: &str, result: Object) -> Object {
        result
    }

    /// The results of the calls of one turn.
    fn results(&self, results: Vec<Object>) -> Vec<Object> {
        results
    }

    /// A message of the user.
    fn said(&self, text: &str) -> Object {
        Object::with(vec![("role", raw(&"user")), ("content", raw(&text))])
    }

    /// A message of the user with an image.
    fn picture(&self, label: &str, media: &str, base64: &str) -> Object;

    /// Words in the place of a part that is an image; `None` for any other part.
    fn without_image(&self, part: &Object, words: &str) -> Option<Object>;

    /// Names the model that is asked, where bodies name it.
    fn set_model(&self, body: &mut Object, model: &str) {
        body.set("model", raw(&model));
    }

    /// The options that a request may have whose cost is asked for; `None` for all.
    fn counted(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    /// The request in a body whose cost is asked for: that body, or what it holds as a whole.
    fn unwrapped(&self, body: Object) -> Result<Object, AssembleError> {
        Ok(body)
    }

    /// A body that holds a request to be counted as a whole.
    fn wrapped(&self, request: Object, _model: &str) -> Object {
        request
    }

    /// The names of a tool, or of a choice of one. Most tools have one; some are lists of functions.
    fn tool_names(&self, tool: &Object) -> Vec<String>;

    /// A tool with those of its functions that are wanted; `None` where none is.
    fn with_tools(&self, tool: Object, wanted: &dyn Fn(&str) -> bool) -> Option<Object> {
        self.tool_names(&tool).iter().any(|name| wanted(name)).then_some(tool)
    }

    /// Takes back a choice of a tool that is not among these: it would be refused.
    fn unforce(&self, body: &mut Object, names: &[String]) {
        let Some(choice) = body.object("tool_choice") else { return };
        let names_a_tool = choice.get("name").is_some() || choice.get("function").is_some();
        if names_a_tool && !self.tool_names(&choice).iter().any(|name| names.contains(name)) {
            body.remove("tool_choice");
        }
    }
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

/// The parts of a message. One alone may stand without a list.
fn parts(message: &Object, key: &str) -> Option<Vec<Object>> {
    message.objects(key).or_else(|| Some(vec![message.object(key)?]))
}

/// What a user says: results of calls, each with what its call is known by, and what stands beside them.
fn user(
    mut message: Object,
    key: &str,
    is_result: impl Fn(&Object) -> bool,
    mut call: impl FnMut(&Object) -> String,
) -> HistoryTurn {
    let (results, beside): (Vec<Object>, Vec<Object>) =
        parts(&message, key).unwrap_or_default().into_iter().partition(is_result);
    if results.is_empty() {
        return HistoryTurn::User(message);
    }
    let results = results.into_iter().map(|result| (call(&result), result)).collect();
    if beside.is_empty() {
        return HistoryTurn::Results { results, beside: None };
    }
    message.set("role", raw(&"user"));
    message.set(key, raw(&beside));
    HistoryTurn::Results { results, beside: Some(message) }
}

/// Messages with some of their parts; those without any are left out.
fn filtered(
    items: Vec<Object>,
    key: &str,
    is_call: impl Fn(&Object) -> bool,
    keep: impl Fn(Object) -> Option<Object>,
) -> Vec<Object> {
    let filter = |mut message: Object| {
        if let Some(before) = parts(&message, key) {
            let (all, has_calls) = (before.len(), before.iter().any(&is_call));
            let kept: Vec<Object> = before.into_iter().filter_map(&keep).collect();
            if kept.is_empty() {
                return None;
            }
            // What did not change stays as it was spelled.
            if kept.len() < all || has_calls {
                message.set(key, raw(&kept));
            }
        }
        message.get(key).is_some_and(|said| !is_nothing(said)).then_some(message)
    };
    items.into_iter().filter_map(filter).collect()
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

/// What a call came to that was stored with its result, as a text: of a result that says how it went its
/// data, or else what was wrong; of a call that the user denied, that.
fn stored(call: &Object) -> Option<String> {
    let spelled = |value: &RawValue| text(value).unwrap_or_else(|| value.get().to_owned());
    let Some(result) = call.get("result").filter(|result| result.get() != "null") else {
        let denied = call.text("state").is_some_and(|state| state == "denied");
        return denied.then(|| "The user denied this call.".to_owned());
    };
    let told = call.object("result").filter(|it| it.get("success").is_some());
    let part = |key: &str| told.as_ref()?.get(key).filter(|value| value.get() != "null");
    let message = |error: &RawValue| serde_json::from_str::<Object>(error.get()).ok()?.text("message");
    let wrong = || part("error").map(|error| message(error).unwrap_or_else(|| spelled(error)));
    Some(part("data").map(spelled).or_else(wrong).unwrap_or_else(|| spelled(result)))
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

/// Whether a part says that it is of a kind.
fn typed(part: &Object, kind: &str) -> bool {
    part.text("type").as_deref() == Some(kind)
}

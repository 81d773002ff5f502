//! The tool calls of an answer, and what may become of them before a client runs them: they stay,
//! have other arguments, or are refused in words.
//!
//! Only what the client runs is a call here. What the provider runs itself (web search, hosted
//! tools) has happened already when the answer comes.
//!
//! All choices count: a client may run the calls of any.

mod beside;
mod places;
mod stream;

use serde_json::Value;

use crate::apis::Api;
use crate::json::arguments_text;
use crate::text::AnswerText;

pub use stream::{CallStream, HeldAnswer, Holding, Passing};

use places::{Form, Place};

/// A call as the client would run it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// What results name it by; empty where the API has no such names.
    pub id: AnswerText,
    /// The tool; for what has no name, its kind.
    pub name: AnswerText,
    /// What it is called with: JSON, but for tools that take any text.
    pub arguments: AnswerText,
    /// Whether its arguments are JSON.
    pub is_json: bool,
}

/// Why calls cannot be written into an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There are more or fewer than the answer has.
    #[error("the answer has {had} tool calls, and {given} were given")]
    Count {
        /// Those of the answer.
        had: usize,
        /// Those that were given.
        given: usize,
    },
    /// Arguments must be a JSON object.
    #[error("the arguments of tool call {at} (counted from 0) are no JSON object")]
    Arguments {
        /// Which call.
        at: usize,
    },
    /// The tool or the id of a call is fixed.
    #[error("tool call {at} (counted from 0) has another id, or another tool where it cannot be changed")]
    Fixed {
        /// Which call.
        at: usize,
    },
}

impl Api {
    /// Returns the calls of a whole answer, in order.
    #[must_use]
    pub fn tool_calls(self, whole: &Value) -> Vec<ToolCall> {
        let places = places::of(self, whole);
        places.iter().map(|place| place.read(whole)).collect()
    }

    /// Writes changed calls into a whole answer. Those that are the same stay as they are.
    ///
    /// # Errors
    /// [`CallError`]; nothing is changed then.
    pub fn set_tool_calls(self, whole: &mut Value, calls: &[ToolCall]) -> Result<(), CallError> {
        let places = places::of(self, whole);
        if places.len() != calls.len() {
            return Err(CallError::Count { had: places.len(), given: calls.len() });
        }
        let mut changed = whole.clone();
        for (at, (place, call)) in places.iter().zip(calls).enumerate() {
            let was = place.read(whole);
            if was.id != call.id {
                return Err(CallError::Fixed { at });
            }
            if was.name != call.name {
                let name = place.name.as_ref().and_then(|name| changed.pointer_mut(name));
                *name.ok_or(CallError::Fixed { at })? = call.name.expose().into();
            }
            if was.arguments != call.arguments {
                place.write(&mut changed, &call.arguments).ok_or(CallError::Arguments { at })?;
            }
        }
        *whole = changed;
        Ok(())
    }

    /// Takes all calls out of a whole answer and puts words in their place, with which it ends.
    pub fn refuse_tool_calls(self, whole: &mut Value, words: &str) {
        places::refuse(self, whole, words);
    }

    /// Takes some calls out of a whole answer: those whose place in `refused` is true. Words stand
    /// for them, and the answer ends with the calls that are left.
    pub fn refuse_some_tool_calls(self, whole: &mut Value, refused: &[bool], words: &str) {
        match refused.iter().all(|refused| *refused) {
            true => places::refuse(self, whole, words),
            false => places::refuse_some(self, whole, refused, words),
        }
    }

    /// Returns where the texts of a whole answer stand that people read and that may be changed, as
    /// RFC 6901 pointers: what the model says, then what stands beside it, as what a provider's own
    /// tools gave. Signed reasoning is none of them.
    #[must_use]
    pub fn texts(self, whole: &Value) -> Vec<String> {
        let mut texts = places::texts(self, whole);
        texts.extend(beside::texts(self, whole, &texts));
        texts
    }

    /// Returns where texts stand in an event of a stream that people read beside what the model
    /// says, as pointers into its data. Each is there as a whole.
    #[must_use]
    pub fn texts_beside(self, event: &Value) -> Vec<String> {
        beside::in_event(self, event)
    }

    /// Changes a text of a whole answer, and leaves out what spells it once more beside it: the
    /// probabilities of its words.
    pub fn set_text(self, whole: &mut Value, pointer: &str, text: &str) {
        if let Some(held) = whole.pointer_mut(pointer) {
            *held = text.into();
            places::forget_words(self, whole, pointer);
        }
    }
}

impl Place {
    fn read(&self, whole: &Value) -> ToolCall {
        let text = |pointer: &Option<String>| {
            let value = pointer.as_ref().and_then(|pointer| whole.pointer(pointer));
            AnswerText::from(value.and_then(Value::as_str).unwrap_or_default())
        };
        let name = match &self.name {
            Some(_) => text(&self.name),
            None => self.kind.into(),
        };
        let arguments = arguments_text(whole.pointer(&self.arguments)).into();
        ToolCall { id: text(&self.id), name, arguments, is_json: self.form != Form::Text }
    }

    /// `None` where JSON is wanted and this is none.
    fn write(&self, whole: &mut Value, arguments: &AnswerText) -> Option<()> {
        let json = || crate::json::arguments(arguments.expose());
        let value = match self.form {
            Form::Text => arguments.expose().into(),
            Form::JsonText => json().map(|_| arguments.expose().into())?,
            Form::Json => json()?,
        };
        *whole.pointer_mut(&self.arguments)? = value;
        Some(())
    }
}

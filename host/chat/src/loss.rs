//! The losses of a conversion. A loss names a place and a fixed reason, never a text.

use std::borrow::Cow;

use serde::Serialize;

use crate::node::JsonView;

/// A value that the target drops, or holds only in another form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Loss {
    /// Its place in the input, as an RFC 6901 pointer. A key in it may be the user's.
    pub pointer: String,
    /// The loss, and its reason.
    pub reason: &'static str,
}

/// The losses of one conversion, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(Vec<Loss>);

impl Losses {
    /// Notes a loss.
    pub(crate) fn note(&mut self, pointer: impl Into<String>, reason: &'static str) {
        self.0.push(Loss { pointer: pointer.into(), reason });
    }

    /// Notes the members of an object that a reader does not know.
    pub(crate) fn note_others(&mut self, node: JsonView<'_>, known: &[&str], reason: &'static str) {
        let others = node.members().filter(|(key, _)| !known.contains(&&**key));
        self.0.extend(others.map(|(_, member)| Loss { pointer: member.pointer(), reason }));
    }

    /// Returns the text of a string, and notes a lone surrogate in it, which no text can hold.
    pub(crate) fn text(&mut self, node: Option<JsonView<'_>>) -> Option<String> {
        let node = node?;
        self.note_half_character(node);
        node.text().map(Cow::into_owned)
    }

    /// Notes a lone surrogate in a string.
    pub(crate) fn note_half_character(&mut self, text: JsonView<'_>) {
        if text.has_half_character() {
            self.note(text.pointer(), "half a character (a lone surrogate) becomes U+FFFD");
        }
    }

    /// Returns all losses.
    pub fn all(&self) -> &[Loss] {
        &self.0
    }
}

/// An input that breaks its schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (at {})", if pointer.is_empty() { "the top of the file" } else { pointer })]
pub struct InputError {
    /// The place, as an RFC 6901 pointer.
    pub pointer: String,
    /// The fault, and what the schema demands.
    pub problem: &'static str,
}

impl InputError {
    pub(crate) fn at(node: JsonView<'_>, problem: &'static str) -> Self {
        InputError { pointer: node.pointer(), problem }
    }
}

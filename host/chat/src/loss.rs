//! What a conversion could not carry over. A loss names a place and a fixed reason, never a text.

use std::borrow::Cow;

use leafgate_tree::Document;
use serde::Serialize;

use crate::node::Node;

/// Something that the target drops, or holds only in another form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Loss {
    /// Where it stands in the input, as an RFC 6901 pointer. A key in it may be the user's.
    pub pointer: String,
    /// What happens to it, and why.
    pub reason: &'static str,
}

/// The losses of one conversion, in the order in which they were met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(Vec<Loss>);

impl Losses {
    /// Notes a loss.
    pub(crate) fn note(&mut self, pointer: impl Into<String>, reason: &'static str) {
        self.0.push(Loss { pointer: pointer.into(), reason });
    }

    /// Returns the text of a string, and notes half a character in it, which no text can hold.
    pub(crate) fn text(&mut self, node: Option<Node<'_>>) -> Option<String> {
        let node = node?;
        self.note_half_character(node);
        node.text().map(Cow::into_owned)
    }

    /// Notes half a character in a string.
    pub(crate) fn note_half_character(&mut self, text: Node<'_>) {
        if text.has_half_character() {
            self.note(text.pointer(), "half a character (a lone surrogate) becomes U+FFFD");
        }
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Loss] {
        &self.0
    }
}

/// An input that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (at {})", if pointer.is_empty() { "the top of the file" } else { pointer })]
pub struct InputError {
    /// Where, as an RFC 6901 pointer.
    pub pointer: String,
    /// What is wrong there, and what should stand there.
    pub problem: &'static str,
}

impl InputError {
    pub(crate) fn at(node: Node<'_>, problem: &'static str) -> Self {
        InputError { pointer: node.pointer(), problem }
    }

    pub(crate) fn top(document: &Document, problem: &'static str) -> Self {
        InputError::at(Node::root(document), problem)
    }
}

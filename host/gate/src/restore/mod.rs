//! Puts the real values back into an answer: into the text that a person reads, and nowhere else.
//!
//! - Never into tool arguments: a value restored into a shell or an HTTP call would be carried out.
//! - Never into reasoning that is signed or has an encrypted copy: the client sends it back as it is, where it may not be changed and
//!   so not be redacted again.
//! - The other bytes of an answer stay as they are. What cannot be read as JSON passes as it came; the tokens in it are no secrets.
//!
//! Each API has a file that says where its texts stand, in an answer that comes whole and in the events of a stream. [`stream`] does
//! the work for streams, this file for the rest.

mod chat;
mod messages;
mod responses;
mod stream;

use std::sync::Arc;

use bytes::Bytes;
use leafgate_tree::{Access, Author, Document, Draft, Format, Leaf, Limits, NodeId, ValueType};
use leafgate_vault::{Channel, Vault};

pub(crate) use stream::EventStream;

use crate::api::Api;
use crate::session::Thread;

/// What one answer is restored from, and how it is read.
#[derive(Clone)]
pub(crate) struct Restoring {
    vault: Vault,
    api: Api,
    /// Whether reasoning comes with an encrypted copy.
    sealed: bool,
    /// The conversation, which the next request may find by the id of this answer alone.
    thread: Thread,
}

/// The kinds of text for people, over all APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Text {
    Content,
    Refusal,
    Reasoning,
    /// Reasoning as DeepSeek, vLLM and others name it.
    ReasoningContent,
    /// A summary of reasoning.
    Summary,
}

/// Who restores, in the journal of the answer. It is a person's copy that is written, so nothing in it is protected.
const RESTORER: Author = Author::Person;

impl Restoring {
    /// Of the answer to a request; `None` where the API's answers are not restored.
    pub(crate) fn of(api: Api, request: &Document, vault: Vault, thread: Thread) -> Option<Self> {
        let sealed = api == Api::Responses && responses::asks_for_sealed(request);
        api.converses().then_some(Restoring { vault, api, sealed, thread })
    }

    /// Whether the session has no values yet, so that there is nothing to restore.
    pub(crate) fn is_idle(&self) -> bool {
        self.vault.is_empty()
    }

    /// Restores an answer that came whole.
    pub(crate) fn whole(&self, answer: &Bytes) -> Bytes {
        let Some(document) = read(answer.clone()) else { return answer.clone() };
        let texts = match self.api {
            Api::Responses => {
                self.follow(&document, document.root());
                responses::texts(&document)
            }
            Api::Messages => messages::texts(&document),
            _ => chat::texts(&document),
        };
        let mut draft = Draft::new(Arc::new(document));
        for leaf in texts {
            self.repeat(&mut draft, leaf);
        }
        draft.render()
    }

    /// Remembers whose response this is.
    fn follow(&self, document: &Document, response: NodeId) {
        if let Some(id) = text_leaf(document, response, "id") {
            self.thread.answered(id.text().expose());
        }
    }

    /// Restores a leaf whose text is whole.
    fn repeat(&self, draft: &mut Draft, leaf: NodeId) {
        let document = draft.document().clone();
        let Some(leaf) = document.leaf(leaf) else { return };
        let text = leaf.text();
        // Refused only for leaves that `text` does not give; then the token stays.
        let _ = draft.set(leaf.id(), &self.vault.restore(text.expose(), Channel::Text), &RESTORER);
    }
}

/// Reads an answer, or an event of a stream. A text that is itself JSON stays one leaf here: it is restored as text.
fn read(json: Bytes) -> Option<Document> {
    let limits = Limits { embedded: 0, ..Limits::default() };
    Document::parse(json, Format::Generic, &limits).ok()
}

/// A member that is a text and may be written.
fn text(document: &Document, object: NodeId, key: &str) -> Option<NodeId> {
    let leaf = document.leaf(document.member(object, key)?)?;
    (leaf.value_type() == ValueType::Text && leaf.access() == Access::Open).then_some(leaf.id())
}

/// A member that is a word of the API.
fn is(document: &Document, object: NodeId, key: &str, word: &str) -> bool {
    text_leaf(document, object, key).is_some_and(|leaf| leaf.text().expose() == word)
}

fn text_leaf<'d>(document: &'d Document, object: NodeId, key: &str) -> Option<Leaf<'d>> {
    let leaf = document.leaf(document.member(object, key)?)?;
    (leaf.value_type() == ValueType::Text).then_some(leaf)
}

/// A member that counts from 0.
fn number(document: &Document, object: NodeId, key: &str) -> Option<usize> {
    document.leaf(document.member(object, key)?)?.text().expose().parse().ok()
}

/// The elements of a member that is an array.
fn elements<'d>(document: &'d Document, object: NodeId, key: &str) -> impl Iterator<Item = NodeId> + 'd {
    document.member(object, key).into_iter().flat_map(|array| document.children(array))
}

#[cfg(test)]
mod tests;

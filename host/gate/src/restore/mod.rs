//! Puts the real values back into an answer: into the text that a person reads, and nowhere else.
//!
//! - Never into tool arguments: a value restored into a shell or an HTTP call would be carried out.
//! - Never into reasoning that is signed or has an encrypted copy: the client sends it back as it is, where it may not be changed and
//!   so not be redacted again.
//! - The other bytes of an answer stay as they are. What cannot be read as JSON passes as it came; the tokens in it are no secrets.
//!
//! The folder of each API has a [`Reader`] that says where its texts stand, in an answer that comes whole and in the events of a stream.
//! [`stream`] does the work for streams, this file for the rest.

pub(crate) mod said;
mod stream;

use std::sync::Arc;

use bytes::Bytes;
use leafgate_tree::{Author, Document, Draft, Format, Limits, NodeId};
use leafgate_vault::{Channel, Vault};

pub(crate) use said::{Added, Place, Reader, Said, Text};
pub(crate) use stream::EventStream;

use crate::apis::Api;
use crate::session::Thread;

/// What one answer is restored from, and how it is read.
pub(crate) struct Restoring {
    vault: Vault,
    reader: Box<dyn Reader>,
    /// The conversation, which the next request may find by the id of this answer alone.
    thread: Thread,
}

/// Who restores, in the journal of the answer. It is a person's copy that is written, so nothing in it is protected.
const RESTORER: Author = Author::Person;

impl Restoring {
    /// Of the answer to a request; `None` where the API's answers are not restored.
    pub(crate) fn of(api: Api, request: &Document, vault: Vault, thread: Thread) -> Option<Self> {
        let reader = api.conversation()?.reader(request);
        Some(Restoring { vault, reader, thread })
    }

    /// Whether the session has no values yet, so that there is nothing to restore.
    pub(crate) fn is_idle(&self) -> bool {
        self.vault.is_empty()
    }

    /// Restores an answer that came whole.
    pub(crate) fn whole(&mut self, answer: &Bytes) -> Bytes {
        let Some(document) = read(answer.clone()) else { return answer.clone() };
        let said = self.reader.whole(&document);
        let mut draft = Draft::new(Arc::new(document));
        for one in said {
            match one {
                Said::Id(leaf) => self.follow(draft.document(), leaf),
                Said::More(_, leaf) | Said::Whole(leaf) => self.repeat(&mut draft, leaf),
                Said::End(_) | Said::EndItem(_) | Said::EndAll => {}
            }
        }
        draft.render()
    }

    /// Remembers whose answer this is.
    fn follow(&self, document: &Document, id: NodeId) {
        if let Some(id) = document.leaf(id) {
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

#[cfg(test)]
mod tests;

//! Puts the real values back into an answer: into the text that a person reads, and nowhere else.
//!
//! - In the arguments of tools, into the content that a known file editor writes into a file, where
//!   the policy lets a value return ([`calls`]), and into a heredoc that does the same and nothing else.
//!   Any other command of a shell or an HTTP call would carry it out.
//! - Never into reasoning that is signed or has an encrypted copy: the client sends it back as it
//!   is, where it may not be changed and so not be redacted again.
//! - Never where a client that joins the texts of the answer would find it in a link ([`speech`]).
//! - Never behind something that was not read, or that parsers read differently: nobody knows what
//!   a client made of it.
//! - The other bytes of an answer stay as they are.
//!
//! The folder of each API has a [`Reader`] that says where its texts stand, in an answer that comes
//! whole and in the events of a stream. [`stream`] does the work for streams, this file for the
//! rest.

mod calls;
pub(crate) mod said;
mod speech;
mod stream;

use std::sync::Arc;

use bytes::Bytes;
use leafgate_tree::{Author, Document, Draft, Format, Limits, NodeId, ParseError};
use leafgate_vault::Vault;

pub(crate) use said::{Added, CallSaid, Position, Reader, Reading, Said, TextKind, TextPlace};
pub(crate) use stream::EventStream;

use crate::apis::Api;
use crate::session::Thread;
use speech::Speech;

/// What one answer is restored from, and how it is read.
pub(crate) struct Restoring {
    vault: Vault,
    reader: Box<dyn Reader>,
    /// The conversation, which the next request may find by the name of this answer alone; `None`
    /// once it was told all that it wants to know.
    thread: Option<Thread>,
    /// It was told the name.
    is_named: bool,
    /// Values may come while the answer does.
    grows: bool,
}

/// Who restores, in the journal of the answer. It is a person's copy that is written, so nothing in
/// it is protected.
const RESTORER: Author = Author::Person;

impl Restoring {
    /// Of the answer to a request; `None` where the API's answers are not restored.
    pub(crate) fn of(api: Api, request: &Document, vault: Vault, thread: Thread) -> Option<Self> {
        let reader = api.conversation()?.reader(request);
        let thread = reader.names_answers().then_some(thread);
        Some(Restoring { vault, reader, thread, is_named: false, grows: false })
    }

    /// Of an answer during which its session may get its first value: its whole stream is read.
    pub(crate) fn while_values_come(self) -> Self {
        Restoring { grows: true, ..self }
    }

    /// Returns whether there is nothing to do: the session has no values yet, and the answer's name
    /// is of no use.
    pub(crate) fn is_idle(&self) -> bool {
        self.vault.is_empty() && self.thread.is_none() && !self.grows
    }

    /// Restores an answer that came whole.
    pub(crate) fn whole(&mut self, answer: &Bytes) -> Bytes {
        let Ok(document) = read(answer.clone()) else { return answer.clone() };
        let Some(mut said) = self.said(&document, |reader, answer| reader.whole(answer)) else {
            return answer.clone();
        };
        if self.vault.is_empty() {
            return answer.clone();
        }
        said.push(Said::EndAll);
        let mut draft = Draft::new(Arc::new(document));
        let mut speech = Speech::new(self.vault.clone(), self.reader.repeats());
        match speech.hear(&mut draft, &said, |_| {}) {
            Ok(()) => draft.render(),
            Err(speech::Disorder) => answer.clone(),
        }
    }

    /// Returns what an answer or an event says; `None` where parsers disagree about it. Remembers
    /// the answer's name.
    fn said(
        &mut self,
        document: &Document,
        read: impl FnOnce(&mut dyn Reader, &Reading<'_>) -> Vec<Said>,
    ) -> Option<Vec<Said>> {
        let reading = Reading::new(document);
        let said = read(&mut *self.reader, &reading);
        if reading.is_odd() {
            return None;
        }
        for one in &said {
            match *one {
                Said::Id(leaf) => self.follow(document, leaf),
                Said::Call(
                    _,
                    CallSaid::Begins(tool) | CallSaid::Whole { tool, .. } | CallSaid::Object { tool, .. },
                ) => self.note_call(document, tool),
                _ => {}
            }
        }
        Some(said)
    }

    /// Remembers whose answer this is. An answer has one name; the first counts.
    fn follow(&mut self, document: &Document, name: NodeId) {
        let (Some(name), Some(thread)) = (document.leaf(name), &self.thread) else { return };
        if !std::mem::replace(&mut self.is_named, true) {
            thread.answered(name.text().expose());
        }
        if !thread.remembers() {
            self.thread = None;
        }
    }

    /// Remembers of which tool a call is, by the id that stands beside its name.
    fn note_call(&self, document: &Document, tool: NodeId) {
        let id = document.parent(tool).and_then(|call| document.member(call, "call_id"));
        let texts = id.and_then(|id| document.leaf(id)).zip(document.leaf(tool));
        if let (Some(thread), Some((id, tool))) = (&self.thread, texts) {
            thread.called(id.text().expose(), tool.text().expose());
        }
    }
}

/// Reads an answer, or an event of a stream. A text that is itself JSON stays one leaf here: it is
/// restored as text.
pub(crate) fn read(json: Bytes) -> Result<Document, ParseError> {
    let limits = Limits { embedded: 0, ..Limits::default() };
    Document::parse(json, Format::Generic, &limits)
}

#[cfg(test)]
mod tests;

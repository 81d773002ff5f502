//! Puts the real values back into an answer: into the text that a person reads, and nowhere else.
//!
//! - In the arguments of tools, into the content that a known file editor writes into a file, where
//!   the policy lets a value return ([`calls`]), and into a heredoc that does the same and nothing else.
//!   Any other command of a shell or an HTTP call would carry it out.
//! - Never into reasoning that is signed or has an encrypted copy: the client sends it back as it
//!   is, where it may not be changed and so not be redacted again.
//! - Never where a client that joins the texts of the answer would find it in a link ([`speech`]).
//! - Never behind something that was not read, or that parsers read differently: nobody knows what
//!   a client made of it. A stream does not go on with such a thing where it could change what a value stands in.
//! - The other bytes of an answer stay as they are.
//!
//! What an answer says, and where, is heard by its [`Account`]. [`stream`] does the work for streams,
//! this file for the rest.

mod calls;
mod speech;
mod stream;

use bytes::Bytes;
use leafgate_answer::{Account, CallSaid, Heard, Said, parse};
use leafgate_tree::{Author, Document, Draft, Leaf};
use leafgate_vault::Vault;

pub(crate) use stream::EventStream;

use crate::apis::{Api, asks_for_several};
use crate::session::Thread;
use speech::RestoredSpeech;

/// What one answer is restored from, and how it is read.
pub(crate) struct Restoring {
    api: Api,
    vault: Vault,
    /// What is heard of the answer, until a stream takes it over.
    account: Account,
    thread: NamedThread,
    /// Values may come while the answer does.
    grows: bool,
}

/// The conversation, which the next request may find by the name of this answer alone.
struct NamedThread {
    /// `None` once it was told all that it wants to know.
    thread: Option<Thread>,
    /// It was told the name.
    is_named: bool,
}

/// Who restores, in the journal of the answer. It is a person's copy that is written, so nothing in
/// it is protected.
const RESTORER: Author = Author::Person;

impl Restoring {
    /// Of the answer to a request; `None` where the API's answers are not restored.
    pub(crate) fn of(api: Api, request: &Document, vault: Vault, thread: Thread) -> Option<Self> {
        let account = Account::new(api.answers?, (api.seals)(request));
        let account = account.of_several(asks_for_several(request));
        let thread = account.names_answers().then_some(thread);
        Some(Restoring { api, vault, account, thread: NamedThread { thread, is_named: false }, grows: false })
    }

    /// Of an answer during which its session may get its first value: its whole stream is read.
    pub(crate) fn while_values_come(self) -> Self {
        Restoring { grows: true, ..self }
    }

    /// Returns whether there is nothing to do: the session has no values yet, and the answer's name
    /// is of no use.
    pub(crate) fn is_idle(&self) -> bool {
        self.vault.is_empty() && self.thread.thread.is_none() && !self.grows
    }

    /// Restores an answer that came whole.
    pub(crate) fn whole(mut self, answer: &Bytes) -> Bytes {
        let Ok(document) = parse(answer.clone()) else { return answer.clone() };
        let heard = self.account.whole(document);
        if heard.is_odd {
            return answer.clone();
        }
        self.thread.follow(&heard);
        if self.vault.is_empty() {
            return answer.clone();
        }
        let said: Vec<Said> = heard.said.into_iter().chain([Said::EndAll]).collect();
        let mut draft = Draft::new(heard.document);
        let mut speech = RestoredSpeech::new(self.vault, self.account.repeats());
        match speech.hear(&mut draft, &said, |_| {}) {
            Ok(()) => draft.render(),
            Err(speech::TooMuch) => answer.clone(),
        }
    }
}

impl NamedThread {
    /// Remembers whose answer this is and what it calls. An answer has one name; the first counts.
    fn follow(&mut self, heard: &Heard) {
        for said in &heard.said {
            let (called, arguments) = match *said {
                Said::Id(leaf) => {
                    self.is_called(heard.document.leaf(leaf));
                    continue;
                }
                Said::Call(_, CallSaid::Begins(called)) => (called, None),
                Said::Call(_, CallSaid::Whole(called, arguments)) => (called, Some(arguments)),
                _ => continue,
            };
            let thread = self.thread.as_ref();
            let Some(behind) = thread.and_then(|thread| thread.behind.as_ref()) else { continue };
            let Some(id) = called.id.and_then(|id| heard.document.leaf(id)) else { continue };
            let (id, tool) = (id.text(), called.tool.name(&heard.document));
            behind.called(id.expose(), &tool);
            if let Some(arguments) = arguments {
                let file = calls::file_read(&tool, &heard.document, arguments);
                behind.reads(id.expose(), file.as_deref());
            }
        }
    }

    /// Forgets what it calls.
    fn doubt(&self) {
        self.thread.iter().flat_map(|thread| &thread.behind).for_each(|behind| behind.doubt());
    }

    fn is_called(&mut self, name: Option<Leaf<'_>>) {
        let (Some(name), Some(thread)) = (name, &mut self.thread) else { return };
        if !std::mem::replace(&mut self.is_named, true) {
            thread.answered(name.text().expose());
        }
        if thread.behind.is_none() {
            self.thread = None;
        }
    }
}

#[cfg(test)]
mod tests;

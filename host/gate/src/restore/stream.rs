//! Puts the real values back into an answer that comes as a stream of events.
//!
//! A token may be broken over many events, so each text that a stream speaks has a restorer of its
//! own, which holds back the shortest suffix that may still become a token of this session. Held
//! text leaves with the next event of its text; when the text ends, or the stream does, in an added
//! event before that. Lines in which nothing was held or restored leave byte for byte as they came,
//! before the next one is read.
//!
//! After something that clients read in different ways, the rest of the stream passes as it comes. Where it could make more
//! of a value that has left already, the stream ends with an error in its place.

use bytes::{Bytes, BytesMut};
use leafgate_answer::{Account, Heard, Hearing, StreamStep, with_data};
use leafgate_tree::Draft;

use super::speech::{HeldText, RestoredSpeech};
use super::{NamedThread, Restoring};
use crate::apis::Api;
use crate::apis::dialect;
use leafgate_http::Refusal;

/// A longer line, or a longer event of several lines, is not read.
const MAX_EVENT: usize = 1024 * 1024;

/// Why a stream ends before its end.
const LATE: &str = "the upstream's answer ended here: behind a value that was put back came something that clients read in \
                    different ways, which could give its call another name or put a link before it";

/// Restores one stream.
pub(crate) struct EventStream {
    api: Api,
    hearing: Hearing,
    speech: RestoredSpeech,
    vault: leafgate_vault::Vault,
    thread: NamedThread,
    grows: bool,
    /// Lines of the present event that have not left: they must stay with its data when an event is
    /// added before it.
    pending: BytesMut,
    /// Whether the stream stands between two events.
    at_boundary: bool,
    /// Nothing is restored any more.
    pub(super) stopped: bool,
    /// Nothing leaves any more: it has ended with an error, before the upstream's stream has.
    pub(crate) is_over: bool,
}

impl EventStream {
    pub(crate) fn new(restoring: Restoring) -> Self {
        let Restoring { api, vault, account, thread, grows } = restoring;
        EventStream {
            api,
            speech: RestoredSpeech::new(vault.clone(), account.repeats()),
            hearing: Hearing::new(account, MAX_EVENT),
            vault,
            thread,
            grows,
            pending: BytesMut::new(),
            at_boundary: true,
            stopped: false,
            is_over: false,
        }
    }

    /// Takes the next bytes of the stream and returns what may leave.
    pub(crate) fn push(&mut self, chunk: Bytes) -> Bytes {
        match (self.is_over, self.stopped) {
            (true, _) => return Bytes::new(),
            (false, true) => return chunk,
            (false, false) => {}
        }
        let mut out = BytesMut::with_capacity(chunk.len());
        for (bytes, step) in self.hearing.push(chunk) {
            self.step(&bytes, step, &mut out);
        }
        if self.stopped && !self.is_over {
            out.extend_from_slice(&self.hearing.unheard());
        }
        out.freeze()
    }

    /// Returns what was held back, when the stream has ended.
    pub(crate) fn finish(&mut self) -> Bytes {
        let mut out = BytesMut::new();
        for (bytes, step) in self.hearing.finish() {
            self.step(&bytes, step, &mut out);
        }
        let mut added = BytesMut::new();
        if out.last().is_some_and(|last| !matches!(last, b'\n' | b'\r')) {
            // What is added must not go on with a line that was cut off.
            added.extend_from_slice(b"\n\n");
            self.at_boundary = true;
        }
        let ending = added.len();
        self.release(&mut added);
        if added.len() > ending {
            out.extend_from_slice(&added);
        }
        out.freeze()
    }

    fn step(&mut self, bytes: &Bytes, step: StreamStep, out: &mut BytesMut) {
        if self.is_over {
            return;
        }
        // Whether there is something to do is settled once: what begins later has not read what
        // came before.
        self.stopped |= self.vault.is_empty() && self.thread.thread.is_none() && !self.grows;
        if self.stopped {
            out.extend_from_slice(&self.pending.split());
            return out.extend_from_slice(bytes);
        }
        match step {
            // A comment is a sign of life and waits for nothing.
            StreamStep::Feed | StreamStep::Comment if self.pending.is_empty() => out.extend_from_slice(bytes),
            StreamStep::Feed | StreamStep::Comment | StreamStep::Within
                if self.pending.len() + bytes.len() <= MAX_EVENT =>
            {
                self.pending.extend_from_slice(bytes);
            }
            StreamStep::Event(heard) => {
                self.pending.extend_from_slice(bytes);
                self.event(heard, out);
            }
            StreamStep::End(heard) => {
                match heard {
                    Some(heard) => self.event(heard, out),
                    None => out.extend_from_slice(&self.pending.split()),
                }
                out.extend_from_slice(bytes);
                self.at_boundary = true;
            }
            // Some clients go on.
            StreamStep::Done if self.speech.may_be_changed() => {
                self.release(out);
                out.extend_from_slice(&self.pending.split());
                out.extend_from_slice(bytes);
            }
            StreamStep::Done => self.stop(bytes, out),
            StreamStep::Feed | StreamStep::Comment | StreamStep::Within | StreamStep::Odd => {
                self.give_up(bytes, out)
            }
        }
    }

    /// Restores in the event that is complete. Events that must come before it are written first.
    fn event(&mut self, heard: Heard, out: &mut BytesMut) {
        if heard.is_odd {
            return self.give_up(b"", out);
        }
        self.thread.follow(&heard);
        let mut draft = Draft::new(heard.document);
        let (account, at_boundary) = (self.hearing.account(), self.at_boundary);
        let Ok(()) = self.speech.hear(&mut draft, &heard.said, |held| add(account, at_boundary, &held, out))
        else {
            return self.give_up(b"", out);
        };
        let event = self.pending.split();
        match draft.is_dirty() {
            true => out.extend_from_slice(&with_data(&event, &draft.render())),
            false => out.extend_from_slice(&event),
        }
        self.at_boundary = false;
    }

    /// Stops where nobody knows what a client reads: calls that nobody heard may follow.
    fn give_up(&mut self, bytes: &[u8], out: &mut BytesMut) {
        self.thread.doubt();
        if !self.speech.may_be_changed() {
            return self.stop(bytes, out);
        }
        self.pending.clear();
        self.release(out);
        (self.stopped, self.is_over) = (true, true);
        // What stands before it may lack the empty line that ends an event.
        out.extend_from_slice(if self.at_boundary { b"" } else { b"\n" });
        out.extend_from_slice(&dialect::ending(&Refusal::upstream(LATE), self.api));
    }

    /// Restores nothing any more. What was held leaves, then what was kept, then this.
    fn stop(&mut self, bytes: &[u8], out: &mut BytesMut) {
        self.release(out);
        self.stopped = true;
        out.extend_from_slice(&self.pending.split());
        out.extend_from_slice(bytes);
    }

    /// Lets go of all that is held.
    fn release(&mut self, out: &mut BytesMut) {
        let (account, at_boundary) = (self.hearing.account(), self.at_boundary);
        self.speech.let_go(|held| add(account, at_boundary, &held, out));
    }
}

/// Adds an event with what was held back of a text.
fn add(account: &Account, at_boundary: bool, held: &HeldText, out: &mut BytesMut) {
    let mut event = account.added(&held.last, held.place, &held.text).to_string();
    if !at_boundary {
        // Servers that end events with one newline have clients that read it so; otherwise a blank
        // line ends the event.
        event.pop();
    }
    out.extend_from_slice(event.as_bytes());
}

//! Puts the real values back into an answer that comes as a stream of events.
//!
//! A token may be broken over many events, so each text that a stream speaks has a restorer of its
//! own, which holds back the shortest suffix that may still become a token of this session. Held
//! text leaves with the next event of its text; when the text ends, or the stream does, in an added
//! event before that. Lines in which nothing was held or restored leave byte for byte as they came,
//! before the next one is read.
//!
//! An event may have several `data` lines, which clients join (WHATWG HTML, 9.2.6). A line that is
//! a JSON text of its own is read at once, since some servers end events with a single newline; one
//! that is not complete waits for the rest of its event. After data that cannot be read, the rest
//! of the stream passes as it comes.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use leafgate_tree::{Document, Draft, ParseErrorKind};

use super::said::Added;
use super::speech::{Disorder, HeldText, Speech};
use super::{Reader, Restoring};
use crate::sse::{self, Field, Lines, Piece};

/// A longer line, or a longer event of several lines, is not read.
const MAX_EVENT: usize = 1024 * 1024;

/// Restores one stream.
pub(crate) struct EventStream {
    restoring: Restoring,
    lines: Lines,
    speech: Speech,
    /// Lines of the present event that have not left: they must stay with its data when an event is
    /// added before it.
    pending: Pending,
    /// Whether the stream stands between two events.
    at_boundary: bool,
    /// Lines with data of their own since the last blank line. By the standard, several of them are
    /// one event, which is then no JSON.
    data_lines: usize,
    /// Whether a blank line has ended an event.
    blank_lines: bool,
    /// Nothing is restored any more.
    stopped: bool,
}

/// The lines of an event that have come and not left.
#[derive(Default)]
struct Pending {
    /// All of them.
    lines: BytesMut,
    /// Those that are no data.
    fields: BytesMut,
    /// The data of an event whose first line is no JSON text by itself.
    data: Option<BytesMut>,
    /// The name that the event bears.
    name: Option<Bytes>,
}

impl EventStream {
    pub(crate) fn new(restoring: Restoring) -> Self {
        EventStream {
            lines: Lines::new(MAX_EVENT),
            speech: Speech::new(restoring.vault.clone(), restoring.reader.repeats()),
            restoring,
            pending: Pending::default(),
            at_boundary: true,
            data_lines: 0,
            blank_lines: false,
            stopped: false,
        }
    }

    /// Takes the next bytes of the stream and returns what may leave.
    pub(crate) fn push(&mut self, chunk: Bytes) -> Bytes {
        let mut out = BytesMut::with_capacity(chunk.len());
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(MAX_EVENT));
        lines.push(chunk, |piece| self.piece(&piece, &mut out));
        self.lines = lines;
        out.freeze()
    }

    /// Returns what was held back, when the stream has ended.
    pub(crate) fn finish(&mut self) -> Bytes {
        let mut out = BytesMut::new();
        if let Some(piece) = self.lines.finish() {
            self.piece(&piece, &mut out);
        }
        self.complete(&mut out);
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

    fn piece(&mut self, piece: &Piece, out: &mut BytesMut) {
        // Whether there is something to do is settled once: what begins later has not read what
        // came before.
        self.stopped |= self.restoring.is_idle();
        if self.stopped {
            return out.extend_from_slice(piece.bytes());
        }
        let line = match piece {
            Piece::Line(line) => line,
            Piece::LineFeed(feed) if self.pending.lines.is_empty() => return out.extend_from_slice(feed),
            Piece::LineFeed(feed) => return self.pending.lines.extend_from_slice(feed),
            Piece::Overlong(bytes) => return self.stop(bytes, out),
        };
        match sse::field(line) {
            // Whoever reads by the standard has read nothing in an event of several texts, and
            // others have.
            Field::End if self.data_lines > 1 => self.stop(line, out),
            Field::End => {
                self.complete(out);
                self.blank_lines |= self.data_lines > 0;
                self.data_lines = 0;
                out.extend_from_slice(line);
                self.at_boundary = true;
            }
            Field::Data(data) => self.data(line, &line.slice_ref(data), out),
            // The name of an event whose data has left already.
            Field::Name(_) if self.data_lines > 0 => self.stop(line, out),
            Field::Name(name) => {
                self.pending.name = Some(line.slice_ref(name));
                self.pend(line, out);
            }
            Field::Unclear => self.stop(line, out),
            // A comment is a sign of life and waits for nothing.
            Field::Comment if self.pending.lines.is_empty() => out.extend_from_slice(line),
            Field::Comment | Field::Other => self.pend(line, out),
        }
    }

    /// Keeps a line that is no data with the event it belongs to.
    fn pend(&mut self, line: &[u8], out: &mut BytesMut) {
        if self.pending.lines.len() + line.len() > MAX_EVENT {
            return self.stop(line, out);
        }
        self.pending.lines.extend_from_slice(line);
        if self.pending.data.is_some() {
            self.pending.fields.extend_from_slice(line);
        }
    }

    /// Takes a line with data.
    fn data(&mut self, line: &Bytes, data: &Bytes, out: &mut BytesMut) {
        if let Some(begun) = &mut self.pending.data {
            if begun.len() + data.len() >= MAX_EVENT {
                return self.stop(line, out);
            }
            begun.extend_from_slice(b"\n");
            begun.extend_from_slice(data);
            return self.pending.lines.extend_from_slice(line);
        }
        if data.trim_ascii().is_empty() {
            return self.pend(line, out);
        }
        match super::read(data.clone()) {
            Ok(_) if self.blank_lines && self.data_lines > 0 => self.stop(line, out),
            Ok(event) => match self.event(event, out) {
                Ok(restored) => {
                    self.data_lines += 1;
                    out.extend_from_slice(&std::mem::take(&mut self.pending).lines);
                    match restored {
                        Some(restored) => {
                            let (text, ending) = sse::split_ending(line);
                            out.extend_from_slice(&text[..text.len() - data.len()]);
                            out.extend_from_slice(&restored);
                            out.extend_from_slice(ending);
                        }
                        None => out.extend_from_slice(line),
                    }
                    self.at_boundary = false;
                }
                Err(Disorder) => self.stop(line, out),
            },
            Err(_) if data.trim_ascii() == b"[DONE]" => self.stop(line, out),
            Err(error) if error.kind() == ParseErrorKind::Truncated => {
                self.pending.data = Some(BytesMut::from(&data[..]));
                self.pending.fields = self.pending.lines.clone();
                self.pending.lines.extend_from_slice(line);
            }
            Err(_) => self.stop(line, out),
        }
    }

    /// Ends the present event: what it kept leaves, restored where its data lines are a JSON text
    /// together.
    fn complete(&mut self, out: &mut BytesMut) {
        let Some(data) = self.pending.data.take() else {
            return out.extend_from_slice(&std::mem::take(&mut self.pending).lines);
        };
        let event = super::read(data.freeze()).map_err(|_| Disorder);
        match event.and_then(|event| self.event(event, out)) {
            Ok(Some(restored)) => {
                out.extend_from_slice(&self.pending.fields.split());
                for line in restored.split(|&byte| byte == b'\n') {
                    out.extend_from_slice(b"data: ");
                    out.extend_from_slice(line);
                    out.extend_from_slice(b"\n");
                }
                self.pending = Pending::default();
            }
            Ok(None) => out.extend_from_slice(&std::mem::take(&mut self.pending).lines),
            Err(Disorder) => self.stop(b"", out),
        }
        self.at_boundary = false;
    }

    /// Restores in an event; `None` where it stays as it is. Events that must come before it are
    /// written to `out`.
    fn event(&mut self, event: Document, out: &mut BytesMut) -> Result<Option<Bytes>, Disorder> {
        let name = self.pending.name.as_deref();
        let said = self.restoring.said(&event, |reader, event| reader.event(event));
        let said = said.filter(|_| is_named(&*self.restoring.reader, name, &event)).ok_or(Disorder)?;
        let mut draft = Draft::new(Arc::new(event));
        let (reader, at_boundary) = (&*self.restoring.reader, self.at_boundary);
        self.speech.hear(&mut draft, &said, |held| add(reader, at_boundary, &held, out))?;
        Ok(draft.is_dirty().then(|| draft.render()))
    }

    /// Returns whether the rest of the stream passes as it comes.
    #[cfg(test)]
    pub(super) fn has_stopped(&self) -> bool {
        self.stopped
    }

    /// Restores nothing any more. What was held leaves, then what was kept, then this.
    fn stop(&mut self, bytes: &[u8], out: &mut BytesMut) {
        self.release(out);
        self.stopped = true;
        out.extend_from_slice(&std::mem::take(&mut self.pending).lines);
        out.extend_from_slice(bytes);
    }

    /// Lets go of all that is held.
    fn release(&mut self, out: &mut BytesMut) {
        let (reader, at_boundary) = (&*self.restoring.reader, self.at_boundary);
        self.speech.let_go(|held| add(reader, at_boundary, &held, out));
    }
}

/// Returns whether an event bears the name that its data says. Some clients read by name and some
/// by data.
fn is_named(reader: &dyn Reader, name: Option<&[u8]>, event: &Document) -> bool {
    let kind = event.member(event.root(), "type").and_then(|node| event.leaf(node)).map(|leaf| leaf.text());
    match (name, kind) {
        (None, None) => true,
        (None, Some(_)) => !reader.names_events(),
        (Some(name), kind) => kind.is_some_and(|kind| kind.expose().as_bytes() == name),
    }
}

/// Adds an event with what was held back of a text.
fn add(reader: &dyn Reader, at_boundary: bool, held: &HeldText, out: &mut BytesMut) {
    let Added { name, data } = reader.added(&held.last, held.place, &held.text);
    let mut event = String::new();
    sse::event(&mut event, name, &data);
    if !at_boundary {
        // Servers that end events with one newline have clients that read it so; otherwise a blank
        // line ends the event.
        event.pop();
    }
    out.extend_from_slice(event.as_bytes());
}

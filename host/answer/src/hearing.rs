//! Hears an event stream (WHATWG HTML, 9.2) line by line, as the bytes pass.
//!
//! The unit is the line, not the event: some servers end events with a single newline, so a line with a whole JSON object is
//! an event by itself. One that is not complete waits for the empty line, and is joined with those between, as the grammar
//! says. A stream may be cut anywhere, inside a character or between CR and LF.
//!
//! What some clients read and others do not is odd: lines that are data to some, several objects in one event, an object in
//! one of several lines that are joined, a name behind its data or a second one, a lone CR, and what stands behind the word
//! that ends a stream.

use bytes::{Bytes, BytesMut};
use leafgate_tree::{Document, ParseErrorKind};

use crate::account::{Account, Heard};
use crate::lines::{Field, Lines, Piece, field};
use crate::reading::parse_mended;

/// Ends a stream of chat completions. Some send it on other streams too.
pub(crate) const DONE: &[u8] = b"[DONE]";

/// Hears one stream.
pub struct Hearing {
    account: Account,
    lines: Lines,
    longest: usize,
    name: Option<Bytes>,
    /// The data of an event whose first line is no JSON text by itself.
    data: Option<BytesMut>,
    /// Lines with data of their own since the last empty line. By the standard, several of them are
    /// one event, which is then no JSON.
    data_lines: usize,
    /// Whether a line without data has come since. Some clients end there what they read as one event.
    has_blank_data: bool,
    /// Whether an empty line has ended an event.
    blank_lines: bool,
    /// The last line ended with CR, and no LF has come.
    after_cr: bool,
    is_done: bool,
}

/// What a stretch of a stream is. All stretches, joined, are the stream.
#[derive(Debug)]
pub enum StreamStep {
    /// The second half of the end of a line.
    Feed,
    /// A comment.
    Comment,
    /// A part of an event that is not complete.
    Within,
    /// The line that completes an event.
    Event(Heard),
    /// An empty line. It completes an event whose data came in several lines.
    End(Option<Heard>),
    /// The word that ends the stream.
    Done,
    /// Clients read it in different ways.
    Odd,
}

impl Hearing {
    /// Begins to hear a stream. Lines, and events of several lines, that are longer than this are not read.
    pub fn new(account: Account, longest: usize) -> Self {
        Hearing {
            account,
            lines: Lines::new(longest),
            longest,
            name: None,
            data: None,
            data_lines: 0,
            has_blank_data: false,
            blank_lines: false,
            after_cr: false,
            is_done: false,
        }
    }

    /// What was heard so far.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Takes the next bytes and returns every stretch that is complete.
    pub fn push(&mut self, chunk: Bytes) -> Vec<(Bytes, StreamStep)> {
        let pieces = self.lines.push(chunk);
        pieces.into_iter().map(|piece| self.step(piece)).collect()
    }

    /// Returns the beginning of a line that is not complete, when the rest of the stream is not heard.
    pub fn unheard(&mut self) -> Bytes {
        self.lines.take()
    }

    /// Returns what is left when the stream has ended: servers forget the last newline. The last step has no bytes of its
    /// own.
    pub fn finish(&mut self) -> Vec<(Bytes, StreamStep)> {
        let last = self.lines.finish().map(|piece| self.step(piece));
        // A server that ends events with a single newline ends none with an empty line.
        self.data_lines = 0;
        last.into_iter().chain([(Bytes::new(), self.end())]).collect()
    }

    fn step(&mut self, piece: Piece) -> (Bytes, StreamStep) {
        match piece {
            Piece::Line(line) => {
                let step = self.line(&line);
                (line, step)
            }
            Piece::LineFeed(feed) => {
                self.after_cr = false;
                (feed, StreamStep::Feed)
            }
            Piece::Overlong(stretch) => (stretch, StreamStep::Odd),
        }
    }

    fn line(&mut self, line: &Bytes) -> StreamStep {
        // Some clients end lines at LF alone.
        if std::mem::replace(&mut self.after_cr, line.ends_with(b"\r")) {
            return StreamStep::Odd;
        }
        match field(line) {
            Field::End => self.end(),
            Field::Data(data) => self.data(&line.slice_ref(data)),
            Field::Name(_) if self.data_lines > 0 || self.has_blank_data || self.name.is_some() => {
                StreamStep::Odd
            }
            Field::Name(name) => {
                self.name = Some(line.slice_ref(name));
                StreamStep::Within
            }
            Field::Unclear => StreamStep::Odd,
            Field::Comment => StreamStep::Comment,
            Field::Other => StreamStep::Within,
        }
    }

    fn end(&mut self) -> StreamStep {
        let (name, data) = (self.name.take(), self.data.take());
        self.has_blank_data = false;
        // Whoever reads by the standard has read nothing in an event of several texts, and others have.
        let lines = std::mem::take(&mut self.data_lines);
        self.blank_lines |= lines > 0;
        match data.map(|data| object(data.freeze())) {
            _ if lines > 1 => StreamStep::Odd,
            None => StreamStep::End(None),
            Some(Ok(event)) => StreamStep::End(Some(heard(&mut self.account, event, name))),
            Some(Err(_)) => StreamStep::Odd,
        }
    }

    fn data(&mut self, data: &Bytes) -> StreamStep {
        let said = data.trim_ascii();
        if let Some(begun) = &mut self.data {
            begun.extend_from_slice(b"\n");
            begun.extend_from_slice(data);
            // Who reads line by line finds an object in one of them.
            let is_read_alone = said.starts_with(b"{") && said != b"{}" && object(data.clone()).is_ok();
            return if is_read_alone || begun.len() > self.longest {
                StreamStep::Odd
            } else {
                StreamStep::Within
            };
        }
        let has_blank = std::mem::replace(&mut self.has_blank_data, said.is_empty());
        if said.is_empty() {
            return if self.data_lines > 0 { StreamStep::Odd } else { StreamStep::Within };
        }
        if has_blank {
            return StreamStep::Odd;
        }
        let is_second = self.blank_lines && self.data_lines > 0;
        if said == DONE && !is_second {
            self.is_done = true;
            return StreamStep::Done;
        }
        match object(data.clone()) {
            _ if self.is_done || is_second => StreamStep::Odd,
            Ok(event) => {
                self.data_lines += 1;
                let name = self.name.take();
                StreamStep::Event(heard(&mut self.account, event, name))
            }
            Err(ParseErrorKind::Truncated) => {
                self.data = Some(BytesMut::from(&data[..]));
                StreamStep::Within
            }
            Err(_) => StreamStep::Odd,
        }
    }
}

/// Hears an event. One whose bytes are not all characters is odd.
fn heard(account: &mut Account, (document, is_mended): (Document, bool), name: Option<Bytes>) -> Heard {
    let heard = account.event(name.as_deref(), document);
    Heard { is_odd: heard.is_odd || is_mended, ..heard }
}

/// Reads the JSON object that an event carries.
fn object(data: Bytes) -> Result<(Document, bool), ParseErrorKind> {
    let read = parse_mended(data.clone()).map_err(|error| error.kind)?;
    match data.trim_ascii_start().starts_with(b"{") {
        true => Ok(read),
        false => Err(ParseErrorKind::Syntax("an object")),
    }
}

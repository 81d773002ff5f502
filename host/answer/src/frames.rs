//! Cuts an event stream (WHATWG HTML, 9.2) into the JSON objects that its events carry.
//!
//! A stream may be cut anywhere, inside a character or between CR and LF. Some servers end an event
//! with a single newline, so a `data` line that is a whole object is an event by itself; one that is
//! not waits for the empty line, and is joined with those between as the grammar says.

use serde_json::Value;

use crate::mend;

/// Ends a stream of chat completions. Some send it on other streams too.
const DONE: &[u8] = b"[DONE]";

/// What has come of a line and of an event that are not complete yet.
#[derive(Default)]
pub(crate) struct Frames {
    line: Vec<u8>,
    /// Data of an event that is no object yet.
    data: Option<Vec<u8>>,
    /// The last line ended with CR; an LF that comes next belongs to it.
    after_cr: bool,
    /// A line was seen: only the first one may begin with a byte order mark.
    begun: bool,
    /// The stream said that it is over.
    pub(crate) is_done: bool,
}

/// What an event carries.
pub(crate) enum Framed {
    /// A JSON object, and whether a character in it had to be mended.
    Object(Value, bool),
    /// Something else.
    Unread,
}

impl Frames {
    /// Takes the next bytes and returns the events that are complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Framed> {
        let mut framed = Vec::new();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                break;
            };
            self.line.extend_from_slice(&rest[..end]);
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line(&mut framed);
        }
        framed
    }

    /// Returns what is left when the stream has ended. Servers forget the last newline.
    pub(crate) fn finish(&mut self) -> Vec<Framed> {
        let mut framed = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut framed);
        }
        self.end_event(&mut framed);
        framed
    }

    fn end_line(&mut self, framed: &mut Vec<Framed>) {
        let whole = std::mem::take(&mut self.line);
        let mark = !std::mem::replace(&mut self.begun, true);
        let line = if mark { whole.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&whole) } else { &whole };
        if line.is_empty() {
            return self.end_event(framed);
        }
        let Some(data) = line.strip_prefix(b"data") else { return };
        let data = match data.split_first() {
            None => data,
            Some((b':', value)) => value.strip_prefix(b" ").unwrap_or(value),
            Some(_) => return,
        };
        match &mut self.data {
            Some(held) => {
                held.push(b'\n');
                held.extend_from_slice(data);
            }
            None if data.trim_ascii() == DONE => self.is_done = true,
            None => match object(data) {
                Some(object) => framed.push(object),
                None => self.data = Some(data.to_vec()),
            },
        }
    }

    fn end_event(&mut self, framed: &mut Vec<Framed>) {
        let Some(data) = self.data.take() else { return };
        if !data.trim_ascii().is_empty() {
            framed.push(object(&data).unwrap_or(Framed::Unread));
        }
    }
}

fn object(data: &[u8]) -> Option<Framed> {
    let (value, mended) = mend::parse(data).ok()?;
    value.is_object().then_some(Framed::Object(value, mended))
}

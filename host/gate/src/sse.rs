//! Cuts an event stream into lines (WHATWG HTML, 9.2) without changing or holding back a byte more
//! than a line needs.
//!
//! The unit is the line, not the event: some servers end events with a single newline, and a reader
//! that waits for a blank line would hold their stream back to its end. Lines end with LF, CR LF or
//! CR; a chunk may end anywhere, inside a character or between CR and LF. Joined, what comes out is
//! what went in.

use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};
use serde_json::Value;

/// The lines of a stream, cut as it comes. A line longer than the limit passes unparsed.
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    /// What has come of the line that is not complete yet.
    held: BytesMut,
    /// Inside a line that is over the limit.
    overlong: bool,
    /// The last line ended with CR; an LF that comes next belongs to it.
    after_cr: bool,
}

/// A stretch of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A whole line with its ending, which may lack at the end of the stream.
    Line(Bytes),
    /// The LF of an ending whose CR came before.
    LineFeed(Bytes),
    /// A stretch of a line over the limit, which is not looked into.
    Overlong(Bytes),
}

impl Piece {
    /// Returns the bytes of any piece.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        match self {
            Piece::Line(bytes) | Piece::LineFeed(bytes) | Piece::Overlong(bytes) => bytes,
        }
    }
}

impl Lines {
    /// Cuts a stream into lines of up to `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Lines { limit, held: BytesMut::new(), overlong: false, after_cr: false }
    }

    /// Takes the next chunk and gives every piece that is complete.
    pub fn push(&mut self, mut chunk: Bytes, mut give: impl FnMut(Piece)) {
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_cr) && chunk[0] == b'\n' {
                give(Piece::LineFeed(chunk.split_to(1)));
                continue;
            }
            match line_end(&chunk) {
                Some(end) => {
                    let rest = chunk.split_to(end);
                    self.after_cr = rest.ends_with(b"\r");
                    give(self.complete(rest));
                }
                None => {
                    self.hold(chunk, give);
                    return;
                }
            }
        }
    }

    /// Gives what is left when the stream has ended.
    pub fn finish(&mut self) -> Option<Piece> {
        (!self.held.is_empty()).then(|| self.complete(Bytes::new()))
    }

    fn complete(&mut self, rest: Bytes) -> Piece {
        // Without the ending, whose length depends on how the stream was cut.
        let length = self.held.len() + split_ending(&rest).0.len();
        if std::mem::take(&mut self.overlong) || length > self.limit {
            return Piece::Overlong(self.joined(rest));
        }
        Piece::Line(self.joined(rest))
    }

    /// Keeps the start of a line, or lets it go when it has become too long to be looked into.
    fn hold(&mut self, chunk: Bytes, mut give: impl FnMut(Piece)) {
        if self.overlong || self.held.len() + chunk.len() > self.limit {
            self.overlong = true;
            give(Piece::Overlong(self.joined(chunk)));
        } else {
            self.held.extend_from_slice(&chunk);
        }
    }

    fn joined(&mut self, rest: Bytes) -> Bytes {
        if self.held.is_empty() {
            return rest;
        }
        let mut whole = self.held.split();
        whole.extend_from_slice(&rest);
        whole.freeze()
    }
}

/// Where the first line of the chunk ends, its ending included. CR LF counts as one ending where
/// both are there.
fn line_end(chunk: &[u8]) -> Option<usize> {
    let at = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    Some(if chunk[at..].starts_with(b"\r\n") { at + 2 } else { at + 1 })
}

/// A line without its ending, and the ending.
pub(crate) fn split_ending(line: &[u8]) -> (&[u8], &[u8]) {
    let ending = line.iter().rev().take(2).take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    line.split_at(line.len() - ending)
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'l> {
    /// An empty line, which ends an event.
    End,
    /// A comment.
    Comment,
    /// A `data` field, and what it carries: one space after the colon belongs to the framing.
    Data(&'l [u8]),
    /// An `event` field, and the name in it.
    Name(&'l [u8]),
    /// A field without a meaning for what is read.
    Other,
    /// Data to some readers and nothing to others: behind a byte order mark or blanks, in capitals,
    /// or without a field's name.
    Unclear,
}

/// Returns what a line is.
#[must_use]
pub fn field(line: &[u8]) -> Field<'_> {
    let line = split_ending(line).0;
    let colon = line.iter().position(|&byte| byte == b':');
    let (name, value) = (&line[..colon.unwrap_or(line.len())], colon.map_or(&[][..], |at| &line[at + 1..]));
    match (name, colon) {
        (b"", None) => Field::End,
        (b"", Some(_)) => Field::Comment,
        (b"data", _) => Field::Data(value.strip_prefix(b" ").unwrap_or(value)),
        (b"event", _) => Field::Name(value.strip_prefix(b" ").unwrap_or(value)),
        (b"id" | b"retry", _) => Field::Other,
        _ => Field::Unclear,
    }
}

/// Appends an event. Its data is one line, whatever it was on: a line end would end it.
pub(crate) fn event(stream: &mut String, name: Option<&str>, data: &Value) {
    if let Some(name) = name {
        let _ = writeln!(stream, "event: {name}");
    }
    let _ = write!(stream, "data: {data}\n\n");
}

/// Returns an event that bears its type twice: as its name, and in its data.
pub(crate) fn typed_event(data: &Value) -> String {
    let mut out = String::new();
    event(&mut out, data["type"].as_str(), data);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Cuts `stream` at the given places and returns what comes out.
    fn pieces(stream: &[u8], cuts: &[usize], limit: usize) -> Vec<Piece> {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let mut lines = Lines::new(limit);
        let mut out = Vec::new();
        for pair in cuts.windows(2) {
            lines.push(Bytes::copy_from_slice(&stream[pair[0]..pair[1]]), |piece| out.push(piece));
        }
        out.extend(lines.finish());
        out
    }

    fn bytes(pieces: &[Piece]) -> Vec<u8> {
        pieces.iter().flat_map(|piece| piece.bytes().to_vec()).collect()
    }

    fn texts(pieces: &[Piece]) -> Vec<Vec<u8>> {
        let lines = pieces.iter().filter_map(|piece| match piece {
            Piece::Line(line) => Some(split_ending(line).0.to_vec()),
            Piece::LineFeed(_) | Piece::Overlong(_) => None,
        });
        lines.collect()
    }

    #[test]
    fn a_line_leaves_with_its_last_byte() {
        let mut lines = Lines::new(100);
        let mut out = Vec::new();
        lines.push(Bytes::from_static(b"data: a\r"), |piece| out.push(piece));
        assert_eq!(out, [Piece::Line("data: a\r".into())]);
        lines.push(Bytes::from_static(b"\n\r\n: c"), |piece| out.push(piece));
        assert_eq!(out[1..], [Piece::LineFeed("\n".into()), Piece::Line("\r\n".into())]);
        assert_eq!(lines.finish(), Some(Piece::Line(": c".into())));
        assert_eq!(lines.finish(), None);
    }

    #[test]
    fn an_overlong_line_passes_and_the_next_is_read() {
        let out = pieces(b"data: 0123456789\ndata: 1\n", &[4, 9], 10);
        assert_eq!(texts(&out), [b"data: 1".to_vec()]);
        assert_eq!(bytes(&out), b"data: 0123456789\ndata: 1\n");
    }

    #[test]
    fn a_line_is_data_to_every_reader_or_said_to_be_unclear() {
        assert_eq!(field(b"data: x\r\n"), Field::Data(b"x"));
        assert_eq!(field(b"data:x"), Field::Data(b"x"));
        assert_eq!(field(b"data:  x"), Field::Data(b" x"));
        assert_eq!(field(b"data\n"), Field::Data(b""));
        assert_eq!(field(b": data: x"), Field::Comment);
        assert_eq!(field(b"event: data"), Field::Name(b"data"));
        assert_eq!(field(b"id: 7"), Field::Other);
        assert_eq!(field(b"\r\n"), Field::End);
        for unclear in
            ["\u{feff}data: x", " data: x", "data : x", "DATA: x", "\u{feff}: x", "{\"x\": 1}", "database: x"]
        {
            assert_eq!(field(unclear.as_bytes()), Field::Unclear, "{unclear}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_cuts_do_not_matter(
            stream in "(data: [a-zé€]{0,6}|: c|\n|\r\n|\r|){0,30}",
            cuts in prop::collection::vec(any::<usize>(), 0..12),
            limit in 4..40usize,
        ) {
            let cut = pieces(stream.as_bytes(), &cuts, limit);
            prop_assert_eq!(bytes(&cut), stream.as_bytes());
            prop_assert_eq!(texts(&cut), texts(&pieces(stream.as_bytes(), &[], limit)));
        }
    }
}

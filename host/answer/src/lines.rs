//! Cuts an event stream into lines (WHATWG HTML, 9.2) without changing or holding back a byte more
//! than a line needs.
//!
//! The unit is the line, not the event: some servers end events with a single newline, and a reader
//! that waits for a blank line would hold their stream back to its end. Lines end with LF, CR LF or
//! CR; a chunk may end anywhere, inside a character or between CR and LF. Joined, what comes out is
//! what went in.

use bytes::{Bytes, BytesMut};

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

impl Lines {
    /// Cuts a stream into lines of up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Lines { limit, held: BytesMut::new(), overlong: false, after_cr: false }
    }

    /// Takes the next chunk and returns every piece that is complete.
    pub fn push(&mut self, mut chunk: Bytes) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_cr) && chunk[0] == b'\n' {
                pieces.push(Piece::LineFeed(chunk.split_to(1)));
                continue;
            }
            let Some(end) = line_end(&chunk) else {
                pieces.extend(self.hold(chunk));
                break;
            };
            let rest = chunk.split_to(end);
            self.after_cr = rest.ends_with(b"\r");
            pieces.push(self.complete(rest));
        }
        pieces
    }

    /// Gives what has come of a line that is not complete.
    pub(crate) fn take(&mut self) -> Bytes {
        self.held.split().freeze()
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
    fn hold(&mut self, chunk: Bytes) -> Option<Piece> {
        if self.overlong || self.held.len() + chunk.len() > self.limit {
            self.overlong = true;
            return Some(Piece::Overlong(self.joined(chunk)));
        }
        self.held.extend_from_slice(&chunk);
        None
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
    /// without a field's name, or behind what only some take for the end of a line.
    Unclear,
}

/// Returns what a line is.
pub fn field(line: &[u8]) -> Field<'_> {
    let line = split_ending(line).0;
    let colon = line.iter().position(|&byte| byte == b':');
    let (name, value) = (&line[..colon.unwrap_or(line.len())], colon.map_or(&[][..], |at| &line[at + 1..]));
    match (name, colon) {
        (b"", None) => Field::End,
        // What it carries is JSON, in which no such sign ends anything.
        (b"data", _) => Field::Data(value.strip_prefix(b" ").unwrap_or(value)),
        _ if may_end_within(value) => Field::Unclear,
        (b"", Some(_)) => Field::Comment,
        (b"event", _) => Field::Name(value.strip_prefix(b" ").unwrap_or(value)),
        (b"id" | b"retry", _) => Field::Other,
        _ => Field::Unclear,
    }
}

/// Whether some readers end a line within this text: at a vertical tab, a form feed, a separator of ASCII, NEL (a byte of
/// its own where the stream is taken for Latin-1) or a separator of Unicode.
fn may_end_within(text: &[u8]) -> bool {
    let is_end = |at: usize| match text[at] {
        0x0b | 0x0c | 0x1c..=0x1e | 0x85 => true,
        0xe2 => matches!(text.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9])),
        _ => false,
    };
    (0..text.len()).any(is_end)
}

/// An event with other data, its other lines as they came: what leads the data and ends the line stays, and further
/// lines of data go.
pub fn with_data(event: &[u8], data: &[u8]) -> Bytes {
    let mut told = BytesMut::with_capacity(event.len() + data.len());
    let mut is_written = false;
    each_line(event, |line| {
        let (text, ending) = split_ending(line);
        let Field::Data(was) = field(line) else { return told.extend_from_slice(line) };
        if std::mem::replace(&mut is_written, true) {
            return;
        }
        // The last line of a stream may lack its end.
        let between = if ending.is_empty() { &b"\n"[..] } else { ending };
        for (at, line) in data.split(|&byte| byte == b'\n').enumerate() {
            if at > 0 {
                told.extend_from_slice(between);
            }
            // A line that is the name of its field alone has no colon.
            told.extend_from_slice(if text == b"data" { b"data: " } else { &text[..text.len() - was.len()] });
            told.extend_from_slice(line);
        }
        told.extend_from_slice(ending);
    });
    told.freeze()
}

fn each_line(event: &[u8], mut visit: impl FnMut(&[u8])) {
    let mut rest = event;
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(line_end(rest).unwrap_or(rest.len()));
        visit(line);
        rest = behind;
    }
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
            out.extend(lines.push(Bytes::copy_from_slice(&stream[pair[0]..pair[1]])));
        }
        out.extend(lines.finish());
        out
    }

    fn bytes(pieces: &[Piece]) -> Vec<u8> {
        let bytes = |piece: &Piece| match piece {
            Piece::Line(bytes) | Piece::LineFeed(bytes) | Piece::Overlong(bytes) => bytes.to_vec(),
        };
        pieces.iter().flat_map(bytes).collect()
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
        assert_eq!(lines.push("data: a\r".into()), [Piece::Line("data: a\r".into())]);
        let out = lines.push("\n\r\n: c".into());
        assert_eq!(out, [Piece::LineFeed("\n".into()), Piece::Line("\r\n".into())]);
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

    /// P-26: some readers end lines at signs at which the standard does not.
    #[test]
    fn what_only_some_take_for_the_end_of_a_line_is_unclear() {
        for end in ["\u{b}", "\u{c}", "\u{1c}", "\u{1d}", "\u{1e}", "\u{85}", "\u{2028}", "\u{2029}"] {
            for before in [": x", "event: x", "id: 7", "retry: 1"] {
                let line = format!("{before}{end}data: {{}}\n");
                assert_eq!(field(line.as_bytes()), Field::Unclear, "{line:?}");
            }
            // In a string of JSON it ends nothing that could be read by itself.
            let said = format!("data: \"x{end}data: y\"");
            assert!(matches!(field(said.as_bytes()), Field::Data(_)), "{said:?}");
        }
        assert_eq!(field(": caf\u{e9} \u{2014} \u{2026}\n".as_bytes()), Field::Comment);
    }

    #[test]
    fn other_data_stands_where_the_first_did() {
        let told = |event: &str, data: &str| with_data(event.as_bytes(), data.as_bytes());
        assert_eq!(told("event: a\r\ndata:{}\r\n\r\n", "1"), "event: a\r\ndata:1\r\n\r\n");
        assert_eq!(told("data: {\nid: 7\ndata: }\n\n", "[]"), "data: []\nid: 7\n\n");
        assert_eq!(told("data: 1", "2\n3"), "data: 2\ndata: 3");
        assert_eq!(told("data\ndata: {}\n\n", "1"), "data: 1\n\n");
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

//! Spells canonically what is odd in its spelling alone, in front of those who read strictly.
//!
//! What is dropped says nothing, or says again the same: members with one key and one value, members whose key differs
//! in case and whose value is equal or empty, an empty variant beside the one that counts, the name of a call that later
//! chunks repeat, byte order marks, blanks and comments around what all clients read. What contradicts stays as it came,
//! and whoever reads strictly refuses it. So nothing here has to be trusted: what is judged is what comes out.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bytes::{BufMut as _, Bytes, BytesMut};
use leafgate_api::gemini;
use leafgate_tree::{NodeId, ParseErrorKind};
use serde_json::Value;

use crate::hearing::DONE;
use crate::lines::{Field, Lines, Piece, field, split_ending};
use crate::reading::{StrictReading, folded, parse_mended};

/// Members in which some API says one thing in one of two ways.
const VARIANTS: [[&str; 2]; 2] = [["function", "custom"], gemini::CALL];

/// Members below which the keys are no API's: two that differ in case are two.
const FREE: [&str; 6] = ["args", "arguments", "input", "metadata", "parameters", "schema"];

/// So many calls are known by their names.
const MOST_CALLS: usize = 512;

/// The names of calls that a stream has begun, by the indexes of their choice and their own.
type Names = BTreeMap<(usize, usize), String>;

/// Spells an answer that came whole; `None` for what is no JSON.
pub fn respelled(answer: &[u8]) -> Option<Bytes> {
    spelled(answer, &mut Names::new()).ok()
}

/// Spells an event stream while it comes, line by line: each ends with LF, and each event has its data in one.
#[derive(Debug)]
pub struct Respelling {
    lines: Lines,
    longest: usize,
    /// Data whose first line is no JSON text by itself.
    data: Option<BytesMut>,
    /// Lines of data since the last empty line.
    data_lines: usize,
    names: Names,
}

impl Respelling {
    /// Begins to spell a stream. What is longer than this, a line or the data of an event, stays as it came.
    pub fn new(longest: usize) -> Self {
        Respelling { lines: Lines::new(longest), longest, data: None, data_lines: 0, names: Names::new() }
    }

    /// Takes the next bytes of the stream, and returns the lines that are complete.
    pub fn push(&mut self, chunk: Bytes) -> Bytes {
        let mut out = BytesMut::new();
        self.lines.push(chunk).into_iter().for_each(|piece| self.piece(piece, &mut out));
        out.freeze()
    }

    /// Returns what is left when the stream has ended, with the empty line that its last event may lack.
    pub fn finish(&mut self) -> Bytes {
        let mut out = BytesMut::new();
        if let Some(piece) = self.lines.finish() {
            self.piece(piece, &mut out);
        }
        self.flush(&mut out);
        // A server that ends events with a single newline ends none with an empty line.
        if self.data_lines == 1 {
            out.put_u8(b'\n');
        }
        out.freeze()
    }

    fn piece(&mut self, piece: Piece, out: &mut BytesMut) {
        let line = match piece {
            Piece::Line(line) => line,
            Piece::LineFeed(_) => return,
            Piece::Overlong(bytes) => return out.put(bytes),
        };
        let came = split_ending(&line).0;
        let text = bare(came);
        match field(text) {
            Field::End if !came.is_empty() => {}
            Field::End => {
                self.flush(out);
                self.data_lines = 0;
                out.put_u8(b'\n');
            }
            Field::Data(data) => self.data(data, out),
            Field::Name(name) => put(out, b"event: ", name.trim_ascii()),
            _ if text.starts_with(b":") && field(came) != Field::Comment => {}
            _ => put(out, b"", text),
        }
    }

    fn data(&mut self, data: &[u8], out: &mut BytesMut) {
        if let Some(begun) = &mut self.data {
            begun.put_u8(b'\n');
            begun.put(data);
            if begun.len() > self.longest {
                self.flush(out);
            }
            return;
        }
        match bare(data).trim_ascii_end() {
            b"" => return,
            DONE => put(out, b"data: ", DONE),
            said => match spelled(said, &mut self.names) {
                Ok(json) => put(out, b"data: ", &json),
                Err(ParseErrorKind::Truncated) => return self.data = Some(BytesMut::from(data)),
                Err(_) => put(out, b"data: ", data),
            },
        }
        self.data_lines += 1;
    }

    /// Writes the data that came in several lines: as one, or as it came.
    fn flush(&mut self, out: &mut BytesMut) {
        let Some(data) = self.data.take() else { return };
        self.data_lines += 1;
        match spelled(&data, &mut self.names) {
            Ok(json) if data.len() <= self.longest => put(out, b"data: ", &json),
            _ => data[..].split(|&byte| byte == b'\n').for_each(|line| put(out, b"data: ", line)),
        }
    }
}

fn put(out: &mut BytesMut, lead: &[u8], text: &[u8]) {
    [lead, text, b"\n"].into_iter().for_each(|part| out.put(part));
}

/// A text without the byte order marks and blanks before it.
fn bare(text: &[u8]) -> &[u8] {
    let mut text = text.trim_ascii_start();
    while let Some(rest) = text.strip_prefix(b"\xef\xbb\xbf") {
        text = rest.trim_ascii_start();
    }
    text
}

/// JSON in its canonical spelling, on one line: as it came where nothing in it is odd. Bytes that are no characters become
/// U+FFFD.
fn spelled(json: &[u8], names: &mut Names) -> Result<Bytes, ParseErrorKind> {
    let json = Bytes::copy_from_slice(bare(json).trim_ascii_end());
    let (document, is_mended) = parse_mended(json.clone()).map_err(|error| error.kind)?;
    let reading = StrictReading::new(&document);
    let repeated = repeated_names(&reading, names);
    let mut written = WrittenEvent { reading, repeated, out: String::new(), has_dropped: false };
    written.value(written.reading.root(), false);
    let is_written =
        is_mended || written.has_dropped || json.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    Ok(if is_written { written.out.into() } else { json })
}

/// The names of calls in a chunk of a completion that say again what an earlier one said. Clients that join names in pieces
/// read another one than those that take the first or the last.
fn repeated_names(chunk: &StrictReading<'_>, names: &mut Names) -> BTreeSet<NodeId> {
    let mut repeated = BTreeSet::new();
    for (number, choice) in chunk.numbered(chunk.root(), "choices") {
        let calls = chunk.present(choice, "delta").map(|delta| chunk.elements(delta, "tool_calls"));
        for call in calls.unwrap_or_default() {
            let name = chunk
                .either(call, VARIANTS[0])
                .and_then(|called| chunk.name(called, "name"))
                .and_then(|leaf| Some((leaf, chunk.leaf_text(leaf)?)));
            let (Some(index), Some((leaf, name))) = (chunk.index(call, "index"), name) else { continue };
            match names.get(&(number, index)) {
                Some(own) if *own == name => drop(repeated.insert(leaf)),
                Some(_) => {}
                None if names.len() < MOST_CALLS => drop(names.insert((number, index), name)),
                None => {}
            }
        }
    }
    repeated
}

struct WrittenEvent<'d> {
    reading: StrictReading<'d>,
    /// Members that are left out.
    repeated: BTreeSet<NodeId>,
    out: String,
    has_dropped: bool,
}

impl<'d> WrittenEvent<'d> {
    /// Writes a value. `is_free` says that no API's keys stand in it.
    fn value(&mut self, node: NodeId, is_free: bool) {
        let is_object = self.reading.is_object(node);
        if !is_object && !self.reading.is_container(node) {
            self.out += &String::from_utf8_lossy(self.source(node));
            return;
        }
        self.out.push(if is_object { '{' } else { '[' });
        let begin = self.out.len();
        let elements = self.reading.document.children(node).map(|element| (Cow::Borrowed(""), element));
        let parts = if is_object { self.members(node, is_free) } else { elements.collect() };
        for (key, part) in parts {
            if self.out.len() > begin {
                self.out.push(',');
            }
            if is_object {
                self.out += &format!("{}:", Value::from(&*key));
            }
            self.value(part, is_free || FREE.contains(&&*key));
        }
        self.out.push(if is_object { '}' } else { ']' });
    }

    fn source(&self, node: NodeId) -> &'d [u8] {
        let document = self.reading.document;
        &document.source()[document.body_span(node)]
    }

    /// The members of an object that say something, in the order in which they came.
    fn members(&mut self, object: NodeId, is_free: bool) -> Vec<(Cow<'d, str>, NodeId)> {
        let (mut kept, mut places): (Vec<(Cow<'d, str>, NodeId)>, _) = (Vec::new(), BTreeMap::new());
        for (key, node) in self.reading.members(object) {
            if self.repeated.contains(&node) {
                self.has_dropped = true;
                continue;
            }
            let name = if is_free { key.to_string() } else { folded(&key) };
            let place = *places.entry(name).or_insert(kept.len());
            let counts = kept.get(place).map(|(own, first)| self.counts((own, *first), (&key, node)));
            self.has_dropped |= counts.flatten().is_some();
            match counts {
                Some(Some(true)) => {}
                Some(Some(false)) => kept[place] = (key, node),
                Some(None) | None => kept.push((key, node)),
            }
        }
        for pair in VARIANTS.iter().filter(|_| !is_free) {
            let found = pair.map(|key| kept.iter().position(|(own, _)| own == key));
            let [Some(first), Some(second)] = found else { continue };
            let blank = [second, first].into_iter().find(|&at| self.is_blank(kept[at].1));
            self.has_dropped |= blank.map(|at| kept.remove(at)).is_some();
        }
        kept
    }

    /// Whether a value says nothing, by its bytes: a long text with many twins is not decoded for each.
    fn is_blank(&self, node: NodeId) -> bool {
        let is_empty = || self.reading.document.children(node).next().is_none();
        matches!(self.source(node), b"null" | b"\"\"") || self.reading.is_container(node) && is_empty()
    }

    /// Whether the first of two members that some clients take for one says all, or the second; `None` where they
    /// contradict each other.
    fn counts(&self, (own, first): (&str, NodeId), (key, second): (&str, NodeId)) -> Option<bool> {
        let is_api = |key: &str| key.starts_with(|letter: char| letter.is_ascii_lowercase());
        if self.source(first) == self.source(second) {
            return Some(is_api(own) || !is_api(key));
        }
        let is_twin = own != key;
        let first_counts = || (is_twin && self.is_blank(first)).then_some(false);
        (is_twin && self.is_blank(second)).then_some(true).or_else(first_counts)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(answer: &str) -> String {
        String::from_utf8(respelled(answer.as_bytes()).unwrap().to_vec()).unwrap()
    }

    fn stream(sent: &[u8], cuts: &[usize]) -> String {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (sent.len() + 1)).collect();
        cuts.extend([0, sent.len()]);
        cuts.sort_unstable();
        let mut respelling = Respelling::new(200);
        let mut out = BytesMut::new();
        for pair in cuts.windows(2) {
            out.put(respelling.push(Bytes::copy_from_slice(&sent[pair[0]..pair[1]])));
        }
        out.put(respelling.finish());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn what_says_nothing_or_the_same_again_is_dropped() {
        for (came, left) in [
            (r#"{"b": 1, "a": "x", "b": 1}"#, r#"{"b":1,"a":"x"}"#),
            (r#"[{"a": {"b": [1], "b": [1]}}]"#, r#"[{"a":{"b":[1]}}]"#),
            (r#"{"content": "x", "Content": "x"}"#, r#"{"content":"x"}"#),
            (r#"{"Content": "x", "content": "x"}"#, r#"{"content":"x"}"#),
            (r#"{"content": "x", "CONTENT": null}"#, r#"{"content":"x"}"#),
            (r#"{"Content": "", "content": "x"}"#, r#"{"content":"x"}"#),
            ("{\"to\u{212a}en\": [], \"token\": 1}", r#"{"token":1}"#),
            (r#"{"function": {"name": "f"}, "custom": {}}"#, r#"{"function":{"name":"f"}}"#),
            (r#"{"function": null, "custom": {"name": "f"}}"#, r#"{"custom":{"name":"f"}}"#),
            // In arguments, keys that differ in case are two.
            (r#"{"args": {"a": "", "A": 1, "b": 2, "b": 2}}"#, r#"{"args":{"a":"","A":1,"b":2}}"#),
            ("\u{feff} \u{feff}{\"a\":\n\"\\u0041\"}\n", r#"{"a":"\u0041"}"#),
        ] {
            assert_eq!(whole(came), left, "{came}");
        }
        assert_eq!(respelled(b"{\"a\": \"\xff\"}").unwrap(), "{\"a\":\"\u{fffd}\"}");
        assert_eq!(respelled(b"{\"a\": 1} 2"), None);
        assert_eq!(whole(&("\u{feff}".repeat(1_000_000) + "{}")), "{}");
    }

    #[test]
    fn what_contradicts_stays_as_it_came() {
        for came in [
            r#"{"a": 1, "a": 2}"#,
            r#"{"a": "x", "a": null}"#,
            r#"{"content": "x", "Content": "y"}"#,
            r#"{"function": {"name": "f"}, "custom": {"name": "g"}}"#,
            r#"{"args": {"a": 1, "A": 1}}"#,
            r#"{"a": 1,  "b": "é\u0041"}"#,
        ] {
            assert_eq!(whole(came), came);
        }
        // The twin alone is left where the member that counts is empty, so that whoever reads strictly sees it.
        assert_eq!(whole(r#"{"content": "", "Content": "x"}"#), r#"{"Content":"x"}"#);
    }

    #[test]
    fn lines_of_a_stream_are_framed_as_the_standard_has_it() {
        for (came, left) in [
            ("data: {\"a\": 1}\r\rdata: [DONE]\r\r", "data: {\"a\": 1}\n\ndata: [DONE]\n\n"),
            ("event:x \r\ndata:{\"a\":1,\"a\":1}\r\n\r\n", "event: x\ndata: {\"a\":1}\n\n"),
            ("\u{feff}data: {}\n\n\u{feff} event: x\n\tdata: {}\n\n", "data: {}\n\nevent: x\ndata: {}\n\n"),
            ("data: {\ndata: \"a\": 1\nid: 7\ndata: }\n\n", "id: 7\ndata: {\"a\":1}\n\n"),
            (": a\n: b\u{85}data: {}\n : c\n \n\n", ": a\n\n"),
            ("data: {}", "data: {}\n\n"),
            ("data: {}\ndata: {}", "data: {}\ndata: {}\n"),
            ("data: {\ndata: \"a\": 1}", "data: {\"a\":1}\n\n"),
            // What nobody can spell better stays.
            ("DATA: {}\n\n", "DATA: {}\n\n"),
            ("data: {]\n\n", "data: {]\n\n"),
            ("data: {\ndata: ]\n\n", "data: {\ndata: ]\n\n"),
        ] {
            assert_eq!(stream(came.as_bytes(), &[]), left, "{came:?}");
        }
        let long = format!("data: {{\ndata: \"{}\ndata: {}\n\n", "a".repeat(150), "b".repeat(150));
        assert_eq!(stream(long.as_bytes(), &[]), long);
    }

    /// Older servers repeat name and id in each chunk.
    #[test]
    fn a_call_is_named_once() {
        let chunk = |choice: usize, index: usize, function: &str| {
            format!(
                "data: {{\"choices\":[{{\"index\":{choice},\"delta\":{{\"tool_calls\":[{{\"index\":{index},\"function\":\
                 {function}}}]}}}}]}}\n\n"
            )
        };
        let first = chunk(0, 0, r#"{"name":"f","arguments":""}"#);
        let again = chunk(0, 0, r#"{"name":"f","arguments":"{}"}"#);
        let more = chunk(0, 0, r#"{"arguments":"{}"}"#);
        let others = chunk(0, 1, r#"{"name":"f"}"#) + &chunk(1, 0, r#"{"name":"f"}"#);
        let other = chunk(0, 0, r#"{"name":"g"}"#);
        let came = format!("{first}{again}{others}{other}{again}");
        assert_eq!(stream(came.as_bytes(), &[40, 200]), format!("{first}{more}{others}{other}{more}"));
        assert_eq!(stream((first.clone() + &more).as_bytes(), &[]), first + &more, "nothing is spelled anew");
    }

    #[test]
    fn an_event_goes_on_with_its_last_line() {
        let mut respelling = Respelling::new(200);
        assert_eq!(respelling.push("event: x\rdata: {}\r".into()), "event: x\ndata: {}\n");
        assert_eq!(respelling.push("\n\r".into()), "\n");
        assert_eq!(respelling.push("\nda".into()), "");
        assert_eq!(respelling.push("ta: {\n".into()), "");
        assert_eq!(respelling.push("data: }\n\n".into()), "data: {}\n\n");
        assert_eq!(respelling.finish(), "");
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter_and_what_is_spelled_is_spelled_for_good(
            sent in "(\u{feff}| |data: |event: |: |[{]\"a\":1(,\"a\":1)?[}]|[{]\n|[}]|\u{85}|\n|\r\n|\r){0,40}",
            cuts in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            let spelled = stream(sent.as_bytes(), &[]);
            prop_assert_eq!(&stream(sent.as_bytes(), &cuts), &spelled);
            prop_assert_eq!(&stream(spelled.as_bytes(), &[]), &spelled);
        }
    }
}

//! Sessions of coding agents: files of one JSON value a line, as Claude Code and Codex keep them.
//!
//! Many lines are read as one document: an array whose elements stand on the lines of the file. All
//! that is added is a bracket at each end and a comma at the end of each line, so what a policy does
//! not change comes back byte for byte. A line that is no JSON (the last one of a killed agent) is a
//! text of its own.

use std::collections::HashSet;
use std::ops::Range;

use bytes::Bytes;
use leafgate_tree::{Document, NodeId};
use serde::de::IgnoredAny;

use crate::node::JsonView;

/// Bytes of the lines that are read as one document, about. Their index takes some ten times as
/// much.
const BATCH: usize = 4 * 1024 * 1024;

/// Lines that are looked at together.
pub struct LineBatch {
    /// The 1-based number of the first line.
    pub line: usize,
    /// Its lines in the file.
    pub range: Range<usize>,
    /// Whether each of its lines is empty or a JSON value.
    pub is_json: bool,
}

/// A rendered batch that cannot be brought back into lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what the policy leaves of these lines is not one value a line")]
pub struct NoLines;

/// Cuts a file into batches, none of which ends within a line.
pub fn batches(file: &[u8]) -> Vec<LineBatch> {
    let mut batches: Vec<LineBatch> = Vec::new();
    let mut start = 0;
    for (number, line) in file.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let is_json = is_blank(line) || serde_json::from_slice::<IgnoredAny>(line).is_ok();
        let end = start + line.len();
        match batches.last_mut() {
            Some(last) if last.is_json && is_json && last.range.len() + line.len() <= BATCH => {
                last.range.end = end;
            }
            _ => batches.push(LineBatch { line: number + 1, range: start..end, is_json }),
        }
        start = end;
    }
    batches
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// Returns JSON lines as an array.
pub fn wrapped(lines: &[u8]) -> Bytes {
    let all: Vec<&[u8]> = lines.split_inclusive(|&byte| byte == b'\n').collect();
    let last = all.iter().rposition(|line| !is_blank(line));
    let mut array = Vec::with_capacity(lines.len() + all.len() + 2);
    array.push(b'[');
    for (at, line) in all.iter().enumerate() {
        match line.strip_suffix(b"\n") {
            Some(value) if !is_blank(line) && Some(at) != last => {
                array.extend_from_slice(value);
                array.extend_from_slice(b",\n");
            }
            _ => array.extend_from_slice(line),
        }
    }
    array.push(b']');
    array.into()
}

/// Returns an array as the lines that it was made of.
///
/// # Errors
/// When it has not as many lines as before.
pub fn unwrapped(array: &[u8], before: &[u8]) -> Result<Vec<u8>, NoLines> {
    let inner = array.strip_prefix(b"[").and_then(|array| array.strip_suffix(b"]")).ok_or(NoLines)?;
    let mut lines = Vec::with_capacity(inner.len());
    for line in inner.split_inclusive(|&byte| byte == b'\n') {
        match line.strip_suffix(b",\n") {
            // No line of JSON ends in a comma by itself.
            Some(value) => {
                lines.extend_from_slice(value);
                lines.push(b'\n');
            }
            None => lines.extend_from_slice(line),
        }
    }
    let count = |bytes: &[u8]| bytes.split_inclusive(|&byte| byte == b'\n').count();
    let is_whole = |line: &[u8]| is_blank(line) || serde_json::from_slice::<IgnoredAny>(line).is_ok();
    if count(&lines) != count(before) || !lines.split_inclusive(|&byte| byte == b'\n').all(is_whole) {
        return Err(NoLines);
    }
    Ok(lines)
}

/// Members of a part that hold its text.
const TEXTS: [&str; 3] = ["text", "thinking", "reasoning"];

/// Returns the texts that stand in several parts, as groups of leaves: adjacent parts of one list,
/// and the parts of one message, of which Claude Code writes each on a line of its own.
pub fn pieces(lines: &Document) -> Vec<Vec<NodeId>> {
    let mut groups = Vec::new();
    let messages: Vec<_> = JsonView::root(lines).items().filter_map(own_message).collect();
    for message in messages.chunk_by(|(id, _), (next, _)| id == next) {
        let parts: Vec<_> = message.iter().flat_map(|(_, content)| content.items()).collect();
        group(&parts, &mut groups);
    }
    let seen: HashSet<NodeId> = messages.iter().map(|(_, content)| content.id).collect();
    let mut below = vec![JsonView::root(lines)];
    while let Some(node) = below.pop() {
        if node.is_array() && !seen.contains(&node.id) {
            group(&node.items().collect::<Vec<_>>(), &mut groups);
        }
        below.extend(node.items());
        below.extend(node.members().map(|(_, member)| member));
    }
    groups
}

/// Returns the id of the message on a line, and its parts.
fn own_message(line: JsonView<'_>) -> Option<(String, JsonView<'_>)> {
    let message = line.get("message")?;
    let content = message.get("content").filter(|content| content.is_array())?;
    Some((message.get("id")?.text()?.into_owned(), content))
}

/// Adds the texts of parts that stand side by side, each kind by itself.
fn group(parts: &[JsonView<'_>], groups: &mut Vec<Vec<NodeId>>) {
    for key in TEXTS {
        let texts: Vec<Option<NodeId>> = parts
            .iter()
            .map(|part| part.get(key).filter(|text| text.text().is_some()).map(|view| view.id))
            .collect();
        let runs = texts.split(Option::is_none).filter(|run| run.len() > 1);
        groups.extend(runs.map(|run| run.iter().flatten().copied().collect()));
    }
}

#[cfg(test)]
mod tests {
    use leafgate_tree::{Format, Limits};

    use super::*;

    fn document(lines: &str) -> Document {
        Document::parse(wrapped(lines.as_bytes()), Format::Generic, &Limits::default()).unwrap()
    }

    #[test]
    fn lines_become_an_array_and_the_same_lines_again() {
        for lines in [
            "",
            "\n",
            "{\"a\": 1}",
            "{\"a\": 1}\n",
            "{\"a\":1}\r\n\r\n  [2, 3]\t\n\"x,\\n\"\n\n",
            "1\n2\n3",
            "{\"a\": \"[\"}\n{\"b\": \"],\"}\n",
        ] {
            let array = wrapped(lines.as_bytes());
            serde_json::from_slice::<Vec<serde_json::Value>>(&array)
                .unwrap_or_else(|error| panic!("{lines:?}: {error}"));
            assert_eq!(unwrapped(&array, lines.as_bytes()).unwrap(), lines.as_bytes(), "{lines:?}");
        }
        assert_eq!(unwrapped(b"[1,\n2\n]", b"1\n"), Err(NoLines));
        assert_eq!(unwrapped(b"[1 2\n]", b"1\n"), Err(NoLines));
    }

    #[test]
    fn a_line_that_is_no_json_stands_alone() {
        let file = b"{}\n{}\n{\"cut\": \"of\n{}\n\xff\n";
        let found: Vec<_> =
            batches(file).into_iter().map(|batch| (batch.line, batch.range, batch.is_json)).collect();
        assert_eq!(found, [(1, 0..6, true), (3, 6..18, false), (4, 18..21, true), (5, 21..23, false)]);
        let large = format!("[{}]\n", "1,".repeat(BATCH / 3) + "1").repeat(4);
        let sizes: Vec<_> = batches(large.as_bytes()).iter().map(|batch| batch.range.len()).collect();
        assert!(sizes.len() > 2 && sizes.iter().sum::<usize>() == large.len(), "{sizes:?}");
    }

    #[test]
    fn adjacent_parts_of_a_list_and_parts_of_one_message_belong_together() {
        let lines = concat!(
            r#"{"payload": {"content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}, {"type": "image"}, {"text": "c"}]}}"#,
            "\n",
            r#"{"message": {"id": "m", "content": [{"type": "thinking", "thinking": "d"}]}}"#,
            "\n",
            r#"{"message": {"id": "m", "content": [{"type": "text", "text": "e"}]}}"#,
            "\n",
            r#"{"message": {"id": "m", "content": [{"type": "text", "text": "f"}, {"type": "tool_result", "content": [{"text": "g"}, {"text": "h"}]}]}}"#,
            "\n",
            r#"{"message": {"id": "n", "content": [{"type": "text", "text": "i"}]}}"#,
            "\n",
        );
        let document = document(lines);
        let mut groups: Vec<Vec<String>> = pieces(&document)
            .iter()
            .map(|group| group.iter().map(|&node| document.pointer(node)).collect())
            .collect();
        groups.sort();
        let texts =
            |pointers: &[&str]| pointers.iter().map(|&pointer| pointer.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            groups,
            [
                texts(&["/0/payload/content/0/text", "/0/payload/content/1/text"]),
                texts(&["/2/message/content/0/text", "/3/message/content/0/text"]),
                texts(&["/3/message/content/1/content/0/text", "/3/message/content/1/content/1/text"]),
            ]
        );
    }
}

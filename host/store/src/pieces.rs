//! A body as pieces, each of which is written once.
//!
//! A conversation sends all that was said before with every turn. So a body is cut between the
//! elements of its outer lists (messages, tools) and between its members. Where it is cut depends
//! on what comes before alone: what a turn repeats is cut as it was, and is known again by its
//! digest. What makes no JSON object is one piece.

use std::ops::Range;

/// A piece is as short as that at least: each has its row, and its place in an index.
const LEAST: usize = 1024;

/// One piece of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BodyPiece {
    pub(crate) range: Range<usize>,
    /// Where it begins.
    pub(crate) within: Within,
}

/// Where in a body a piece begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Within {
    /// At the beginning of the body.
    #[default]
    Start,
    /// Between two members of the outermost object.
    Object,
    /// Between two elements of a list, which is the member with this key, as it is spelled.
    List(Range<usize>),
}

/// Cuts a body, piece by piece.
pub(crate) struct Cutter<'b> {
    body: &'b [u8],
    is_object: bool,
    at: usize,
    /// Where the piece begins that comes next.
    start: usize,
    within: Within,
    /// How many objects and lists are open.
    depth: usize,
    /// Whether a list is open that is a member of the outermost object.
    in_list: bool,
    /// The last string.
    string: Range<usize>,
    /// The last key of the outermost object.
    key: Range<usize>,
}

impl<'b> Cutter<'b> {
    pub(crate) fn new(body: &'b [u8]) -> Self {
        let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
        Cutter {
            body,
            is_object: first == Some(&b'{'),
            at: 0,
            start: 0,
            within: Within::Start,
            depth: 0,
            in_list: false,
            string: 0..0,
            key: 0..0,
        }
    }

    fn is_between(&self, byte: u8) -> bool {
        match byte {
            b',' => self.depth == 1 || (self.depth == 2 && self.in_list),
            // The last element is cut off from what follows: in the next turn it is not the last.
            b']' => self.depth == 2 && self.in_list,
            _ => false,
        }
    }

    fn step(&mut self, byte: u8) {
        match byte {
            b'"' => {
                let end = string_end(self.body, self.at);
                self.string = self.at..end;
                self.at = end;
                return;
            }
            b':' if self.depth == 1 => self.key = self.string.clone(),
            b'{' | b'[' => {
                self.in_list |= self.depth == 1 && byte == b'[';
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.in_list &= self.depth > 1;
            }
            _ => {}
        }
        self.at += 1;
    }
}

impl Iterator for Cutter<'_> {
    type Item = BodyPiece;

    fn next(&mut self) -> Option<BodyPiece> {
        while self.is_object
            && let Some(&byte) = self.body.get(self.at)
        {
            if self.at - self.start >= LEAST && self.is_between(byte) {
                let next = if self.depth == 1 { Within::Object } else { Within::List(self.key.clone()) };
                let within = std::mem::replace(&mut self.within, next);
                let range = self.start..self.at;
                self.start = self.at;
                return Some(BodyPiece { range, within });
            }
            self.step(byte);
        }
        let range = self.start..self.body.len();
        self.start = self.body.len();
        (!range.is_empty()).then(|| BodyPiece { range, within: std::mem::take(&mut self.within) })
    }
}

/// Returns where the string that begins here has ended, its quotes included.
pub(crate) fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        at += found;
        if text[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

/// Writes the ids of pieces: each as its difference to the one before, in groups of seven bits.
pub(crate) fn write_ids(ids: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ids.len() * 2);
    let mut last = 0_i64;
    for &id in ids {
        let difference = id.wrapping_sub(last);
        // Small numbers of either sign stay small.
        let mut rest = ((difference << 1) ^ (difference >> 63)).cast_unsigned();
        loop {
            let group = u8::try_from(rest & 0x7f).unwrap_or(0);
            rest >>= 7;
            bytes.push(if rest == 0 { group } else { group | 0x80 });
            if rest == 0 {
                break;
            }
        }
        last = id;
    }
    bytes
}

/// Reads what [`write_ids`] wrote.
pub(crate) fn read_ids(bytes: &[u8]) -> Vec<i64> {
    let (mut ids, mut last) = (Vec::new(), 0_i64);
    let (mut rest, mut shift) = (0_u64, 0_u32);
    for &byte in bytes {
        rest |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte & 0x80 == 0 {
            last = last.wrapping_add((rest >> 1).cast_signed() ^ -((rest & 1).cast_signed()));
            ids.push(last);
            (rest, shift) = (0, 0);
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn body(messages: &[Value]) -> String {
        // The list stands first, so that what comes behind it is no part of the comparison.
        json!({ "messages": messages, "model": "m" }).to_string()
    }

    fn texts(body: &str) -> Vec<&str> {
        Cutter::new(body.as_bytes()).map(|piece| &body[piece.range]).collect()
    }

    #[test]
    fn what_a_turn_repeats_is_cut_as_it_was() {
        let message =
            |n: usize| json!({ "role": "user", "content": format!("{n}, \"[{{\\ {}", "x".repeat(700)) });
        let messages: Vec<_> = (0..20).map(message).collect();
        let (first, second) = (body(&messages[..10]), body(&messages));
        let (first, second) = (texts(&first), texts(&second));
        let same = first.iter().zip(&second).take_while(|(a, b)| a == b).count();
        // What stands behind the list is another piece.
        assert!(same + 1 >= first.len() && same >= 4, "{same} of {}", first.len());
    }

    #[test]
    fn a_piece_of_a_list_knows_the_key_of_the_list() {
        let long = "x".repeat(LEAST);
        let body = json!({ "a": [long, long], "b": long, "c": { "d": [long, long] } }).to_string();
        let within: Vec<_> = Cutter::new(body.as_bytes())
            .map(|piece| match piece.within {
                Within::Start => "start".to_owned(),
                Within::Object => "object".to_owned(),
                Within::List(key) => body[key].to_owned(),
            })
            .collect();
        assert_eq!(within, ["start", "\"a\"", "\"a\"", "object"]);
    }

    proptest! {
        #[test]
        fn pieces_are_the_body(body in prop::collection::vec(any::<u8>(), 0..4000)) {
            let mut at = 0;
            for piece in Cutter::new(&body) {
                prop_assert_eq!(piece.range.start, at);
                prop_assert!(!piece.range.is_empty());
                at = piece.range.end;
            }
            prop_assert_eq!(at, body.len());
        }

        #[test]
        fn ids_come_back(ids in prop::collection::vec(any::<i64>(), 0..50)) {
            prop_assert_eq!(read_ids(&write_ids(&ids)), ids);
        }
    }
}

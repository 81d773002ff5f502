//! A body as pieces, each of which is written once.
//!
//! A conversation sends all that was said before with every turn. So a body is cut between the
//! elements of its outer lists (messages, tools) and between its members. Where it is cut depends
//! on what comes before alone: what a turn repeats is cut as it was, and is known again by its
//! digest. What makes no JSON object is one piece.

use crate::tokens::{JsonToken, JsonTokenKind, JsonTokens};

/// A piece is as short as that at least: each has its row, and its place in an index.
const LEAST: usize = 1024;

/// One piece of a body.
#[derive(Clone, Copy)]
pub(crate) struct BodyPiece<'b> {
    pub(crate) text: &'b [u8],
    /// Where it begins.
    pub(crate) within: Within<'b>,
}

/// Where a stretch of JSON begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Within<'b> {
    /// Outside of everything, as a body does.
    Start,
    /// Between two members of an object.
    Object,
    /// Between two elements of a list, which is the member with this key, as it is spelled.
    List(&'b [u8]),
}

/// Cuts a body, piece by piece.
pub(crate) struct Cutter<'b> {
    body: &'b [u8],
    /// Of a JSON object; of anything else nothing is taken.
    tokens: Option<JsonTokens<'b>>,
    /// Where the piece begins that comes next.
    start: usize,
    within: Within<'b>,
    /// How many objects and lists are open.
    depth: usize,
    /// Whether a list is open that is a member of the outermost object.
    in_list: bool,
    /// The last string.
    string: &'b [u8],
    /// The last key of the outermost object.
    key: &'b [u8],
}

impl<'b> Cutter<'b> {
    pub(crate) fn new(body: &'b [u8]) -> Self {
        Cutter {
            body,
            tokens: body.trim_ascii_start().starts_with(b"{").then(|| JsonTokens::new(body)),
            start: 0,
            within: Within::Start,
            depth: 0,
            in_list: false,
            string: b"",
            key: b"",
        }
    }

    fn is_between(&self, sign: u8) -> bool {
        match sign {
            b',' => self.depth == 1 || (self.depth == 2 && self.in_list),
            // The last element is cut off from what follows: in the next turn it is not the last.
            b']' => self.depth == 2 && self.in_list,
            _ => false,
        }
    }

    /// Returns what there is up to a place, behind which the next piece begins.
    fn cut(&mut self, end: usize) -> Option<BodyPiece<'b>> {
        let text = &self.body[std::mem::replace(&mut self.start, end)..end];
        let next = if self.depth == 1 { Within::Object } else { Within::List(self.key) };
        let within = std::mem::replace(&mut self.within, next);
        (!text.is_empty()).then_some(BodyPiece { text, within })
    }

    fn step(&mut self, sign: u8) {
        match sign {
            b':' if self.depth == 1 => self.key = self.string,
            b'{' | b'[' => {
                self.in_list |= self.depth == 1 && sign == b'[';
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.in_list &= self.depth > 1;
            }
            _ => {}
        }
    }
}

impl<'b> Iterator for Cutter<'b> {
    type Item = BodyPiece<'b>;

    fn next(&mut self) -> Option<BodyPiece<'b>> {
        while let Some(JsonToken { at, text, kind }) = self.tokens.as_mut().and_then(Iterator::next) {
            match kind {
                JsonTokenKind::String => self.string = text,
                JsonTokenKind::Scalar => {}
                JsonTokenKind::Sign(sign) => {
                    let is_enough = at - self.start >= LEAST && self.is_between(sign);
                    let piece = if is_enough { self.cut(at) } else { None };
                    self.step(sign);
                    if piece.is_some() {
                        return piece;
                    }
                }
            }
        }
        self.cut(self.body.len())
    }
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
        Cutter::new(body.as_bytes()).map(|piece| std::str::from_utf8(piece.text).unwrap()).collect()
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
                Within::List(key) => String::from_utf8(key.to_vec()).unwrap(),
            })
            .collect();
        assert_eq!(within, ["start", "\"a\"", "\"a\"", "object"]);
    }

    proptest! {
        #[test]
        fn pieces_are_the_body(body in prop::collection::vec(any::<u8>(), 0..4000)) {
            let pieces: Vec<_> = Cutter::new(&body).map(|piece| piece.text).collect();
            prop_assert!(pieces.iter().all(|piece| !piece.is_empty()));
            prop_assert_eq!(pieces.concat(), body);
        }

        #[test]
        fn ids_come_back(ids in prop::collection::vec(any::<i64>(), 0..50)) {
            prop_assert_eq!(read_ids(&write_ids(&ids)), ids);
        }
    }
}

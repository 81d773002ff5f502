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
pub(crate) struct Piece {
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

/// Cuts a body.
pub(crate) fn cut(body: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut start, mut within) = (0, Within::Start);
    let first = body.iter().position(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|first| body[first] == b'{') {
        let mut depth = 0_usize;
        let mut in_list = false;
        let (mut string, mut key) = (0..0, 0..0);
        let mut at = 0;
        while let Some(byte) = body.get(at) {
            let is_between = match byte {
                b',' => depth == 1 || (depth == 2 && in_list),
                // The last element is cut off from what follows: in the next turn it is not the last.
                b']' => depth == 2 && in_list,
                _ => false,
            };
            if is_between && at - start >= LEAST {
                let next = if depth == 1 { Within::Object } else { Within::List(key.clone()) };
                pieces.push(Piece { range: start..at, within: std::mem::replace(&mut within, next) });
                start = at;
            }
            match byte {
                b'"' => {
                    let end = string_end(body, at);
                    string = at..end;
                    at = end;
                    continue;
                }
                b':' if depth == 1 => key = string.clone(),
                b'{' | b'[' => {
                    in_list |= depth == 1 && *byte == b'[';
                    depth += 1;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    in_list &= depth > 1;
                }
                _ => {}
            }
            at += 1;
        }
    }
    if start < body.len() {
        pieces.push(Piece { range: start..body.len(), within });
    }
    pieces
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
        cut(body.as_bytes()).into_iter().map(|piece| &body[piece.range]).collect()
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
        let within: Vec<_> = cut(body.as_bytes())
            .into_iter()
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
            for piece in cut(&body) {
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

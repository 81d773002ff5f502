//! Where the bodies of conversations were cut.
//!
//! A turn repeats what was said before, and to find again where that is to be cut means to read all of
//! it. So the places of the last turn are remembered, with the names of the pieces between them: where
//! a piece of a new body has the name of the old one, so have the bytes before the place, and the body
//! is cut there as it was. No text is remembered.

use std::num::NonZeroUsize;
use std::sync::Arc;

use leafgate_policy::Policy;
use lru::LruCache;

use crate::names::{PieceName, PieceNames};
use crate::pieces::{Cutter, Piece, Place};

/// Conversations whose last turn is remembered. With [`PLACES`] it is some five megabytes at most.
const CONVERSATIONS: NonZeroUsize = NonZeroUsize::new(32).expect("it is not 0");

/// Places of one turn that are remembered: those of a megabyte or more.
const PLACES: usize = 1024;

/// Whose bodies begin alike: the key of a conversation, and who sends the request. Agents and their
/// subagents send other messages.
type Conversation = (Arc<str>, &'static str);

/// A piece that was cut, and the place behind it.
struct Cut {
    name: PieceName,
    place: Place,
}

/// What is remembered.
pub(crate) struct Cuts {
    conversations: LruCache<Conversation, Vec<Cut>>,
}

impl Cuts {
    pub(crate) fn new() -> Self {
        Cuts { conversations: LruCache::new(CONVERSATIONS) }
    }

    /// Cuts a body and names its pieces, and remembers where.
    pub(crate) fn of(
        &mut self,
        names: &PieceNames,
        conversation: Conversation,
        policy: &Policy,
        body: &[u8],
    ) -> Vec<(Piece, PieceName)> {
        self.by(conversation, body, |piece| names.of(piece, body, policy))
    }

    fn by(
        &mut self,
        conversation: Conversation,
        body: &[u8],
        name: impl Fn(&Piece) -> PieceName,
    ) -> Vec<(Piece, PieceName)> {
        let mut known = self.conversations.pop(&conversation).unwrap_or_default();
        let mut cutter = Cutter::new(body);
        let mut pieces = Vec::with_capacity(known.len() + 1);
        for cut in &known {
            let Some(piece) = cutter.up_to(&cut.place) else { break };
            if name(&piece) != cut.name {
                break;
            }
            cutter.go_on(&cut.place);
            pieces.push((piece, cut.name));
        }
        known.truncate(pieces.len());
        while let Some(piece) = cutter.next() {
            let name = name(&piece);
            if known.len() < PLACES
                && let Some(place) = cutter.place()
            {
                known.push(Cut { name, place });
            }
            pieces.push((piece, name));
        }
        self.conversations.put(conversation, known);
        pieces
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one() -> Conversation {
        ("conversation".into(), "main")
    }

    /// Bodies, and what looks like some.
    fn text() -> impl Strategy<Value = Vec<String>> {
        let long = prop_oneof![Just("x"), Just("y"), Just("[,")].prop_map(|part| {
            let text = part.repeat(700);
            format!("\"{text}\"")
        });
        let short = prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"a\"",
            "\"b\"",
            "\"",
            "\\",
            " ",
            "1",
            "{\"a\":[",
            "],\"b\":[",
            "},{",
        ]);
        prop::collection::vec(prop_oneof![3 => short.prop_map(str::to_owned), 2 => long], 0..40)
    }

    proptest! {
        #[test]
        fn a_body_is_cut_alike_whatever_is_remembered(
            turns in prop::collection::vec((text(), 0..60_usize), 1..5),
        ) {
            let names = PieceNames::new();
            let mut cuts = Cuts::new();
            let mut last: Vec<String> = vec!["{\"a\":[".to_owned()];
            for (tail, kept) in turns {
                last.truncate(kept.max(1));
                last.extend(tail);
                let body = last.concat();
                let name = |piece: &Piece| names.of_parts(piece, body.as_bytes(), &[1; 32]);
                let known = cuts.by(one(), body.as_bytes(), name);
                let fresh = Cuts::new().by(one(), body.as_bytes(), name);
                let read: Vec<Piece> = Cutter::new(body.as_bytes()).collect();
                prop_assert_eq!(&known, &fresh);
                prop_assert_eq!(known.into_iter().map(|(piece, _)| piece).collect::<Vec<_>>(), read);
            }
        }
    }

    #[test]
    fn what_a_turn_repeats_is_named_and_not_read_again() {
        let message = "x".repeat(2000);
        let body =
            |turns: usize| format!("{{\"messages\":[{}]}}", vec![format!("\"{message}\""); turns].join(","));
        let names = PieceNames::new();
        let mut cuts = Cuts::new();
        let name = |body: &str, piece: &Piece| names.of_parts(piece, body.as_bytes(), &[1; 32]);
        let (first, second) = (body(10), body(11));
        cuts.by(one(), first.as_bytes(), |piece| name(&first, piece));
        let remembered = cuts.conversations.peek(&one()).unwrap().len();
        assert_eq!(remembered, 10, "the places before each comma, and before the end of the list");
        let mut cutter = Cutter::new(second.as_bytes());
        let same = cuts.conversations.peek(&one()).unwrap().iter().take_while(|cut| {
            let piece = cutter.up_to(&cut.place).filter(|piece| name(&second, piece) == cut.name);
            cutter.go_on(&cut.place);
            piece.is_some()
        });
        // The last message was followed by the end of the list, and now by another one.
        assert_eq!(same.count(), 9);
        cuts.by(one(), second.as_bytes(), |piece| name(&second, piece));
        assert_eq!(cuts.conversations.peek(&one()).unwrap().len(), 11);
    }
}

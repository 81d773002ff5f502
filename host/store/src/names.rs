//! The names by which pieces of bodies are known again within a process.
//!
//! A turn that repeats a megabyte repeats a thousand pieces, so a name must be cheap: it is a keyed
//! hash made for short texts, of 128 bits under a secret that this process made. Nobody is shown
//! one. Who writes a piece can make none that is taken for another piece without a guess of the
//! secret. In the database a piece is known by the digest of its masked text.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use highway::{HighwayHash, HighwayHasher, Key};

use crate::pieces::{BodyPiece, Within};

/// What a piece is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PieceName([u64; 2]);

/// What makes names.
pub(crate) struct PieceNames {
    secret: [u64; 4],
}

impl PieceNames {
    pub(crate) fn new() -> Self {
        // Each state has keys of its own, from the operating system.
        PieceNames { secret: std::array::from_fn(|_| RandomState::new().hash_one(0)) }
    }

    /// Returns the name of a piece: of its text before it was masked, and of all that decides how it
    /// is masked, the digest of a policy among it.
    pub(crate) fn of(&self, piece: BodyPiece<'_>, policy: &[u8; 32]) -> PieceName {
        let within: &[u8] = match piece.within {
            Within::Start => b"start",
            Within::Object => b"object",
            Within::List(key) => key,
        };
        let mut hasher = HighwayHasher::new(Key(self.secret));
        hasher.append(policy);
        // Its length keeps it apart from the text.
        hasher.append(&(within.len() as u64).to_le_bytes());
        hasher.append(within);
        hasher.append(piece.text);
        PieceName(hasher.finalize128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_piece_makes_another_name() {
        let names = PieceNames::new();
        let piece = |text: &'static str, within| BodyPiece { text: text.as_bytes(), within };
        let (a, b) = (Within::List(b"\"a\""), Within::List(b"\"b\""));
        let name = |piece| names.of(piece, &[1; 32]);
        let known = name(piece("one", a));
        assert_eq!(name(piece("one", a)), known, "the same text in the same list");
        let others = [
            name(piece("two", a)),
            name(piece("one", b)),
            name(piece("one", Within::Start)),
            name(piece("one", Within::Object)),
            names.of(piece("one", a), &[2; 32]),
            PieceNames::new().of(piece("one", a), &[1; 32]),
        ];
        for (place, other) in others.iter().enumerate() {
            assert_ne!(*other, known, "name {place}");
            assert_eq!(others.iter().filter(|one| *one == other).count(), 1, "name {place}");
        }
    }
}

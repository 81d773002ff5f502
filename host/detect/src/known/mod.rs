//! Values that somebody named as secret: found exactly, before any pattern, by keyed fingerprints.
//!
//! Nothing here keeps a value. A [`KnownKey`] turns one into a [`KnownValue`]: the fingerprint of the
//! whole, and one of each piece of [`PIECE`] bytes. Whoever has the fingerprints and not the key can
//! test no guess; whoever has both can, so neither is for anybody but their owner.
//!
//! A text is read once, and each stretch of [`PIECE`] bytes of a word is looked up in one table,
//! however many values there are. So pieces are found as well as wholes, over the parts of a text
//! that somebody glued together. What decoding brings to light is another text, which is searched in
//! the same way, and what is too short to be decoded is known as it is spelled ([`spelled`]).

mod piece;
mod spelled;
#[cfg(test)]
mod tests;
mod wording;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::work::spend;
pub use piece::PIECE;
pub use spelled::Spelled;
pub use wording::{NamedValue, named_values};

/// Shorter values stand in any text by chance.
pub const LEAST_KNOWN: usize = 8;

/// Longer ones are files, not values: an RSA key of 8192 bits has 6,500 bytes.
pub const MOST_KNOWN: usize = 16 << 10;

/// The secret under which values are known. No `Debug`.
#[derive(Clone)]
pub struct KnownKey {
    piece: [u8; 16],
    whole: [u8; 32],
}

/// A piece, as it is known.
type Print = u64;

/// One value as it is known: fingerprints, and no part of the value itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Debug)]
#[debug("KnownValue(..)")]
#[serde(rename_all = "camelCase")]
pub struct KnownValue {
    /// Bytes of the value.
    pub length: usize,
    /// Where in the value the piece begins by which the whole is noticed.
    pub anchor_at: usize,
    /// The fingerprint of that piece.
    pub anchor: Print,
    /// The fingerprint of all of it.
    pub whole: [u8; 16],
    /// The fingerprints of its pieces that are found alone.
    pub pieces: Vec<Print>,
    /// Whether the piece by which it is noticed has blanks.
    pub blanks: bool,
    /// How it stands inside base64, base32 and hexadecimal digits. What was kept before spellings were known
    /// has none.
    #[serde(default)]
    pub spelled: Vec<Spelled>,
}

/// Why a text is no value that can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotKnown {
    /// It would be found in texts that have nothing to do with it.
    #[error("it is shorter than {LEAST_KNOWN} bytes, and would be found everywhere")]
    TooShort,
    /// It is a file rather than a value.
    #[error("it is longer than {MOST_KNOWN} bytes")]
    TooLong,
    /// It hardly has two different characters.
    #[error("it has fewer than 4 different characters, and would be found everywhere")]
    TooPlain,
}

impl KnownKey {
    /// Takes 32 secret bytes that are used for nothing else.
    pub fn new(secret: &[u8; 32]) -> Self {
        let derived = |what: &str| *blake3::keyed_hash(secret, what.as_bytes()).as_bytes();
        let mut piece = [0; 16];
        piece.copy_from_slice(&derived("leafgate known pieces 1")[..16]);
        KnownKey { piece, whole: derived("leafgate known values 1") }
    }

    /// Returns what a value is known by.
    ///
    /// # Errors
    /// One that is too short, too long or too plain to be looked for.
    pub fn value(&self, value: &str) -> Result<KnownValue, NotKnown> {
        let bytes = value.as_bytes();
        match bytes.len() {
            0..LEAST_KNOWN => return Err(NotKnown::TooShort),
            LEAST_KNOWN..=MOST_KNOWN => {}
            _ => return Err(NotKnown::TooLong),
        }
        if bytes.iter().collect::<BTreeSet<_>>().len() < 4 {
            return Err(NotKnown::TooPlain);
        }
        let telling = piece::telling(value);
        let anchor_at = telling.first().copied().or_else(|| piece::words(bytes).next()).unwrap_or(0);
        let anchor = &bytes[anchor_at..bytes.len().min(anchor_at + PIECE)];
        Ok(KnownValue {
            length: bytes.len(),
            anchor_at,
            anchor: self.print(anchor),
            whole: self.whole(bytes),
            pieces: telling.iter().map(|&at| self.print(&bytes[at..at + PIECE])).collect(),
            blanks: anchor.iter().any(|&byte| piece::is_blank(byte)),
            spelled: spelled::spellings(self, value),
        })
    }

    fn print(&self, piece: &[u8]) -> Print {
        spend(piece.len());
        SipHasher13::new_with_key(&self.piece).hash(piece)
    }

    fn whole(&self, value: &[u8]) -> [u8; 16] {
        let hash = blake3::keyed_hash(&self.whole, value);
        let mut short = [0; 16];
        short.copy_from_slice(&hash.as_bytes()[..16]);
        short
    }
}

impl KnownValue {
    /// Returns the name of a value: the same value has the same one, and nobody can turn it back.
    pub fn id(&self) -> String {
        self.whole[..5].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Values that are looked for.
#[derive(Clone, derive_more::Debug)]
#[debug("KnownValues({})", self.count)]
pub struct KnownValues {
    key: KnownKey,
    /// How many there are.
    count: usize,
    pieces: FxHashSet<Print>,
    /// The values and spellings that a piece announces, with where it begins in them.
    anchored: FxHashMap<Print, Vec<(usize, Spelled)>>,
    /// By length, those that are shorter than a piece.
    short: BTreeMap<usize, FxHashMap<Print, Spelled>>,
    /// Which prints may be those of a piece: most are of none, and one look says so.
    may_be: Vec<u64>,
    /// Whether some value is noticed by a piece with blanks, so that words alone will not do.
    blanks: bool,
    digest: [u8; 32],
}

impl KnownValues {
    /// Puts values together that one key has made.
    pub fn new<'v>(key: KnownKey, values: impl IntoIterator<Item = &'v KnownValue>) -> Self {
        let mut all = KnownValues {
            key,
            count: 0,
            pieces: FxHashSet::default(),
            anchored: FxHashMap::default(),
            short: BTreeMap::new(),
            may_be: Vec::new(),
            blanks: false,
            digest: [0; 32],
        };
        let mut wholes = BTreeSet::new();
        for value in values {
            if wholes.insert(value.whole) {
                all.add(value);
            }
        }
        all.count = wholes.len();
        all.digest = digest(wholes.into_iter());
        all.may_be = may_be(all.pieces.iter().chain(all.anchored.keys()));
        all
    }

    fn add(&mut self, value: &KnownValue) {
        let KnownValue { length, anchor_at, anchor, whole, .. } = *value;
        self.add_whole(anchor_at, Spelled { length, anchor, whole, before: false, behind: false });
        self.pieces.extend(&value.pieces);
        self.blanks |= value.blanks;
        value.spelled.iter().for_each(|spelled| self.add_whole(0, *spelled));
    }

    fn add_whole(&mut self, at: usize, whole: Spelled) {
        if whole.length < PIECE {
            self.short.entry(whole.length).or_default().insert(whole.anchor, whole);
        } else {
            self.anchored.entry(whole.anchor).or_default().push((at, whole));
        }
    }

    /// Returns how many values there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns what changes with the values, and says nothing about them.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Calls `f` with each stretch of a text that is a value or a piece of one. Stretches that touch
    /// are one.
    pub(crate) fn each(&self, text: &str, mut f: impl FnMut(Range<usize>)) {
        let mut open: Option<Range<usize>> = None;
        let mut found = |range: Range<usize>| match &mut open {
            Some(last) if range.start <= last.end => {
                last.start = last.start.min(range.start);
                last.end = last.end.max(range.end);
            }
            open => {
                if let Some(whole) = open.replace(range) {
                    f(whole);
                }
            }
        };
        let bytes = text.as_bytes();
        match self.blanks {
            true => self.in_word(bytes, 0..bytes.len(), &mut found),
            false => piece::each_word(bytes, self.least(), |word| self.in_word(bytes, word, &mut found)),
        }
        if let Some(last) = open {
            f(last);
        }
    }

    /// How long a word must be to hold a value or a piece.
    fn least(&self) -> usize {
        self.short.keys().next().copied().unwrap_or(PIECE).min(PIECE)
    }

    fn in_word(&self, bytes: &[u8], word: Range<usize>, found: &mut impl FnMut(Range<usize>)) {
        for start in word.clone() {
            for (length, prints) in &self.short {
                let end = start + length;
                if end > word.end {
                    continue;
                }
                if let Some(whole) = prints.get(&self.key.print(&bytes[start..end])) {
                    found(whole.around(bytes, start..end));
                }
            }
            let end = start + PIECE;
            if end > word.end {
                continue;
            }
            let print = self.key.print(&bytes[start..end]);
            if !self.may_be(print) {
                continue;
            }
            if let Some(all) = self.anchored.get(&print) {
                all.iter().filter_map(|one| self.whole_at(bytes, start, one)).for_each(&mut *found);
            }
            if self.pieces.contains(&print) {
                found(start..end);
            }
        }
    }

    /// Where the whole value lies whose anchor stands at `start`, if it does.
    fn whole_at(&self, bytes: &[u8], start: usize, (at, one): &(usize, Spelled)) -> Option<Range<usize>> {
        let first = start.checked_sub(*at)?;
        let value = bytes.get(first..first + one.length)?;
        spend(value.len());
        (self.key.whole(value) == one.whole).then(|| one.around(bytes, first..first + one.length))
    }

    fn may_be(&self, print: Print) -> bool {
        let bits = self.may_be.len() as u64 * 64;
        bits > 0 && {
            let bit = print % bits;
            self.may_be[(bit / 64) as usize] >> (bit % 64) & 1 == 1
        }
    }
}

/// A bit for each print, in sixteen times as many: of other prints one in sixteen has one.
fn may_be<'p>(prints: impl Iterator<Item = &'p Print> + Clone) -> Vec<u64> {
    let words = (prints.clone().count() * 16).div_ceil(64);
    let mut table = vec![0; words];
    for print in prints {
        let bit = print % (words as u64 * 64);
        table[(bit / 64) as usize] |= 1 << (bit % 64);
    }
    table
}

fn digest(wholes: impl Iterator<Item = [u8; 16]>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    wholes.for_each(|whole| {
        hasher.update(&whole);
    });
    *hasher.finalize().as_bytes()
}

//! Looks for many literals in a text at once.
//!
//! Every literal is known by a window of eight bytes (four or two, where it is shorter), of which
//! each five-byte stretch of positions holds the start of a four-byte piece. So it is enough to
//! look at four bytes of every five positions of the text, and nearly all of these are ruled out by
//! one bit of a table that fits the processor's first cache:
//!
//! ```text
//! literal    c u s t o m e r - 0 0 1 7        window   m e r - 0 0 1 7
//! text       . . . . . c u s t o m e r - 0 0 1 7 . . . . .
//! looked at  ^^^^^^^   ^^^^^^^   ^^^^^^^   ^^^^^^^           "er-0" is a piece of the window
//! ```
//!
//! How long it takes depends on the text and hardly on the number of literals. An automaton of the
//! same literals looks at every byte.

use rustc_hash::FxHashMap;

use crate::literal::Literal;

/// A literal by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Needle(u32);

impl Needle {
    /// The literal at a place of the list that [`Needles`] is made of.
    ///
    /// # Panics
    /// Where the number does not fit 32 bits: a policy's files hold fewer bytes.
    pub(crate) fn new(index: usize) -> Self {
        Needle(u32::try_from(index).expect("rule files hold fewer than 2^32 literals"))
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Literals to be looked for.
#[derive(Debug)]
pub(crate) struct Needles {
    literals: Vec<Literal>,
    tables: Vec<NeedleTable>,
}

/// The literals whose windows are of one width.
#[derive(Debug)]
struct NeedleTable {
    width: usize,
    /// A bit for each hash of a piece.
    pieces: Box<[u64; HASHES / 64]>,
    /// At which places of windows a piece stands, one bit each.
    places: Numbered<u32, u8>,
    /// The literals with a window, and where in them it is.
    windows: Numbered<u64, Vec<(Needle, usize)>>,
}

/// How many hashes of pieces there are: their bits take 8 KiB.
const HASHES: usize = 1 << 16;

/// How many pieces of a text are looked at in one go.
const BLOCK: usize = 8;

/// Widths of windows. A literal has the widest that fits into it.
const WIDTHS: [usize; 3] = [8, 4, 2];

impl Needles {
    /// Prepares to look for literals. The number of each is its place.
    pub(crate) fn new(literals: Vec<Literal>) -> Self {
        let width_of = |literal: &Literal| WIDTHS.into_iter().find(|&width| width <= literal.bytes().len());
        let tables = WIDTHS.into_iter().filter_map(|width| {
            let own = literals.iter().enumerate().filter(|(_, literal)| width_of(literal) == Some(width));
            let own: Vec<_> = own.map(|(at, literal)| (Needle::new(at), literal.bytes())).collect();
            (!own.is_empty()).then(|| NeedleTable::new(width, &own))
        });
        Needles { tables: tables.collect(), literals }
    }

    pub(crate) fn len(&self) -> usize {
        self.literals.len()
    }

    /// Calls `found` for every place of a text at which a literal stands, in no order that matters.
    pub(crate) fn scan(&self, text: &[u8], mut found: impl FnMut(Needle, usize)) {
        #[cfg(test)]
        scanned::add(text.len());
        for table in &self.tables {
            let mut check = |needle: Needle, at: usize| {
                if self.literals[needle.index()].begins(&text[at..]) {
                    found(needle, at);
                }
            };
            match table.width {
                2 => table.scan::<2, 1>(text, &mut check),
                4 => table.scan::<4, 1>(text, &mut check),
                _ => table.scan::<4, 5>(text, &mut check),
            }
        }
    }
}

impl NeedleTable {
    fn new(width: usize, literals: &[(Needle, &[u8])]) -> Self {
        let mut table = NeedleTable {
            width,
            pieces: Box::new([0; HASHES / 64]),
            places: Numbered::default(),
            windows: Numbered::default(),
        };
        // Of all windows of a literal, the one that is in the fewest of them.
        let mut shared: Numbered<u64, usize> = Numbered::default();
        for (_, bytes) in literals {
            bytes.windows(width).for_each(|window| *shared.entry(folded(window)).or_default() += 1);
        }
        for &(needle, bytes) in literals {
            let windows = bytes.windows(width).enumerate();
            let rarest = windows.min_by_key(|(_, window)| shared[&folded(window)]);
            if let Some((at, window)) = rarest {
                table.add(needle, at, window);
            }
        }
        table
    }

    fn add(&mut self, needle: Needle, at: usize, window: &[u8]) {
        let of_window = self.windows.entry(folded(window)).or_default();
        of_window.push((needle, at));
        for (place, piece) in window.windows(self.piece()).enumerate() {
            let piece = folded(piece) as u32;
            let hash = hash(piece);
            self.pieces[hash / 64] |= 1 << (hash % 64);
            *self.places.entry(piece).or_default() |= 1 << place;
        }
    }

    /// Returns how many bytes a piece has.
    fn piece(&self) -> usize {
        self.width.min(4)
    }

    /// Looks at a piece of `PIECE` bytes in every `STRIDE` bytes. Every window holds one of them as
    /// a whole.
    fn scan<const PIECE: usize, const STRIDE: usize>(
        &self,
        text: &[u8],
        found: &mut impl FnMut(Needle, usize),
    ) {
        // Several at once: nearly all are ruled out, and what a loop costs is shared by them.
        let mut at = 0;
        while let Some(block) = text.get(at..at + (BLOCK - 1) * STRIDE + PIECE) {
            let mut known = 0;
            for number in 0..BLOCK {
                known |= self.known(folded_piece::<PIECE>(&block[number * STRIDE..]));
            }
            if known != 0 {
                (0..BLOCK).for_each(|number| self.look::<PIECE>(text, at + number * STRIDE, found));
            }
            at += BLOCK * STRIDE;
        }
        while at + PIECE <= text.len() {
            self.look::<PIECE>(text, at, found);
            at += STRIDE;
        }
    }

    /// Returns 1 for a piece that a window has, and for a few others.
    fn known(&self, piece: u32) -> u64 {
        let hash = hash(piece);
        self.pieces[hash / 64] >> (hash % 64) & 1
    }

    /// Looks for the windows that have a piece where the text has it.
    #[inline(never)]
    fn look<const PIECE: usize>(&self, text: &[u8], at: usize, found: &mut impl FnMut(Needle, usize)) {
        let piece = folded_piece::<PIECE>(&text[at..]);
        if self.known(piece) == 0 {
            return;
        }
        let places = self.places.get(&piece).copied().unwrap_or_default();
        for place in (0..8).filter(|place| places & 1 << place != 0) {
            let Some(start) = at.checked_sub(place) else { break };
            let window = text.get(start..start + self.width);
            let Some(literals) = window.and_then(|window| self.windows.get(&folded(window))) else {
                continue;
            };
            for &(needle, inside) in literals {
                if let Some(begin) = start.checked_sub(inside) {
                    found(needle, begin);
                }
            }
        }
    }
}

/// Returns up to eight bytes as a number that is the same for letters of either case. A few signs
/// are taken for others, which costs a comparison.
fn folded(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte | 0x20))
}

/// Returns the first bytes of a text, two or four, as [`folded`] does, by one load.
fn folded_piece<const PIECE: usize>(text: &[u8]) -> u32 {
    let mut bytes = [0; 4];
    bytes[..PIECE].copy_from_slice(&text[..PIECE]);
    let letters = if PIECE == 4 { 0x2020_2020 } else { 0x2020 };
    u32::from_le_bytes(bytes) | letters
}

fn hash(piece: u32) -> usize {
    // A multiplication by the golden ratio spreads neighbours; the upper bits depend on all others.
    (piece.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

/// A table whose keys are numbers that nothing but rule files choose: whoever sends texts cannot
/// make its entries collide.
pub(crate) type Numbered<K, V> = FxHashMap<K, V>;

/// Counts the bytes that are looked at, for tests.
#[cfg(test)]
pub(crate) mod scanned {
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn add(bytes: usize) {
        BYTES.set(BYTES.get() + bytes);
    }

    /// Returns what was counted since it was last asked.
    pub(crate) fn take() -> usize {
        BYTES.take()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn needles(literals: &[(&str, bool)]) -> Needles {
        let literal = |(text, any_case): &(&str, bool)| Literal::new(text.as_bytes(), *any_case);
        Needles::new(literals.iter().filter_map(literal).collect())
    }

    fn scanned(needles: &Needles, text: &str) -> BTreeSet<(usize, usize)> {
        let mut found = BTreeSet::new();
        needles.scan(text.as_bytes(), |needle, at| _ = found.insert((needle.index(), at)));
        found
    }

    #[test]
    fn literals_of_every_length_are_found_where_they_stand() {
        let needles =
            needles(&[("ab", false), ("prod", false), ("customer-0017", false), ("SECRET-key", true)]);
        let text = "ab prod customer-0017 Secret-KEY ab";
        assert_eq!(scanned(&needles, text), [(0, 0), (0, 33), (1, 3), (2, 8), (3, 22)].into());
        assert!(scanned(&needles, "a b pro customer-0018 Secret_KEY").is_empty());
        assert!(scanned(&needles, "").is_empty());
    }

    #[test]
    fn literals_that_begin_alike_are_known_by_what_they_differ_in() {
        let literals: Vec<String> = (0..1000).map(|n| format!("customer-number-{n:05}")).collect();
        let needles =
            Needles::new(literals.iter().filter_map(|it| Literal::new(it.as_bytes(), false)).collect());
        let shared = needles.tables[0].windows.values().map(Vec::len).max();
        assert_eq!(shared, Some(1));
        assert_eq!(scanned(&needles, "is customer-number-00417 here"), [(417, 3)].into());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn all_literals_are_found_and_nothing_else(
            literals in prop::collection::btree_set(("[abAB_]{2,12}", any::<bool>()), 1..12),
            text in "[abABC_@é]{0,60}",
        ) {
            let literals: BTreeSet<Literal> =
                literals.iter().filter_map(|(text, any_case)| Literal::new(text.as_bytes(), *any_case)).collect();
            let literals: Vec<Literal> = literals.into_iter().collect();
            let places = (0..literals.len()).flat_map(|needle| (0..text.len()).map(move |at| (needle, at)));
            let stands = |&(needle, at): &(usize, usize)| literals[needle].begins(&text.as_bytes()[at..]);
            let expected: BTreeSet<_> = places.filter(stands).collect();
            prop_assert_eq!(scanned(&Needles::new(literals.clone()), &text), expected);
        }
    }
}

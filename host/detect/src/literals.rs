//! Every place in a text where one of many keywords stands, whatever their case.
//!
//! Each keyword is known by three of its bytes, the rarest that stand side by side in it. A table
//! says for each two bytes which third ones make them a keyword's. It fits half of the first
//! cache, and no place of a text waits for the one before it, so a block of them is asked for at
//! once: an automaton of the same keywords, which waits for its own table at each byte, measured
//! a fifth of this speed. Where the table says so, the keywords of those three bytes are compared.

use std::ops::Range;

use wide::u16x8;

use crate::frequency::Frequencies;
use crate::runs;

/// Two bytes, of which five and six bits count: so capitals and small letters are one, and of the
/// second byte letters and signs are two.
const PAIRS: usize = 1 << 11;

/// Places that are asked for together.
const BLOCK: usize = 64;

/// Bytes that a block reads: three from each of its places on.
const BLOCK_REACH: usize = BLOCK + 2;

/// Parts of a block whose bits are put together apart.
const PARTS: usize = 4;

/// Keywords, ready to be looked for.
#[derive(Debug)]
pub(crate) struct Literals {
    /// For each two bytes a bit for each third one, of which six bits count.
    thirds: Box<[u64; PAIRS]>,
    /// For each two bytes the anchor of the lowest of these bits; those of the others follow it.
    firsts: Box<[u16; PAIRS]>,
    /// One for each bit, and behind these whatever else has the same bit.
    anchors: Vec<Anchor>,
    /// In lower case.
    words: Vec<Box<[u8]>>,
}

/// Three bytes by which a keyword is known.
#[derive(Clone, Debug)]
struct Anchor {
    word: u16,
    /// Where in the keyword they stand.
    offset: u16,
    length: u16,
    /// The next anchor of the same bit; zero where there is none.
    next: u16,
    start: Start,
}

/// The first eight bytes of a keyword, to be compared at once.
#[derive(Clone, Debug)]
struct Start {
    /// Zero behind the end of a shorter keyword.
    bytes: u64,
    /// All bits of the bytes that it has.
    mask: u64,
    /// The bit that makes capitals small letters, where a letter stands.
    fold: u64,
}

/// A bit of the table.
#[derive(Clone, Copy)]
struct Bit {
    pair: usize,
    third: u32,
}

/// A place of a keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LiteralHit {
    /// Which keyword, by its place in the list that [`Literals::new`] was given.
    pub(crate) word: usize,
    pub(crate) range: Range<usize>,
}

/// What may stand behind a keyword of two bytes, which is known by three all the same.
pub(crate) type Behind<'a> = &'a dyn Fn(u8) -> bool;

impl Literals {
    /// Prepares keywords of two or more bytes in lower case. `behind` says of a keyword of two
    /// bytes which bytes may follow it.
    pub(crate) fn new<'a>(keywords: impl Iterator<Item = (&'a str, Behind<'a>)>) -> Self {
        let (mut words, mut anchors) = (Vec::new(), Vec::new());
        let frequencies = Frequencies::new();
        for (keyword, behind) in keywords {
            let bytes = keyword.as_bytes();
            let offset = match bytes.len() {
                2 => 0,
                _ => {
                    let rarity = |(three, _): &(&[u8; 3], usize)| frequencies.of(**three);
                    bytes.array_windows().zip(0..).min_by_key(rarity).map_or(0, |(_, offset)| offset)
                }
            };
            let follows = |byte: u8| match bytes.get(offset + 2) {
                Some(third) => byte.eq_ignore_ascii_case(third),
                None => behind(byte),
            };
            let anchor = Anchor::new(bytes, words.len(), offset);
            let thirds = (0..=u8::MAX).filter(|&byte| follows(byte));
            let bits = thirds.map(|third| Bit::of(bytes[offset], bytes[offset + 1], third));
            anchors.extend(bits.map(|bit| (bit, anchor.clone())));
            words.push(bytes.into());
        }
        anchors.sort_by_key(|(bit, anchor)| (bit.pair, bit.third, anchor.word));
        anchors.dedup_by_key(|(bit, anchor)| (bit.pair, bit.third, anchor.word));
        let (mut thirds, mut firsts) = (Box::new([0; PAIRS]), Box::new([0; PAIRS]));
        let (mut of_bits, mut more): (Vec<Anchor>, Vec<(usize, Anchor)>) = Default::default();
        for (bit, anchor) in anchors {
            if thirds[bit.pair] >> bit.third & 1 != 0 {
                more.push((of_bits.len() - 1, anchor));
                continue;
            }
            if thirds[bit.pair] == 0 {
                firsts[bit.pair] = short(of_bits.len());
            }
            thirds[bit.pair] |= 1 << bit.third;
            of_bits.push(anchor);
        }
        let mut anchors = of_bits;
        for (mut before, anchor) in more {
            while anchors[before].next != 0 {
                before = usize::from(anchors[before].next);
            }
            anchors[before].next = short(anchors.len());
            anchors.push(anchor);
        }
        Self { thirds, firsts, anchors, words }
    }

    /// Calls `f` with each place of each keyword that `is_wanted`, in the order of their ends, and of
    /// those with one end the longest first. `is_wanted` gets the keyword and the byte behind it.
    pub(crate) fn each(
        &self,
        text: &[u8],
        is_wanted: impl Fn(usize, Option<&u8>) -> bool,
        mut f: impl FnMut(LiteralHit),
    ) {
        // Hits that a later place may still come before: a keyword is known by bytes inside it.
        let mut waiting: Vec<LiteralHit> = Vec::new();
        self.each_candidate(text, |at, bit| {
            while waiting.first().is_some_and(|hit| hit.range.end <= at) {
                f(waiting.remove(0));
            }
            for anchor in self.anchors_of(bit) {
                if let Some(hit) = self.hit(text, at, anchor)
                    && is_wanted(hit.word, text.get(hit.range.end))
                {
                    let key = |hit: &LiteralHit| (hit.range.end, hit.range.start);
                    let behind =
                        waiting.iter().rposition(|other| key(other) < key(&hit)).map_or(0, |last| last + 1);
                    waiting.insert(behind, hit);
                }
            }
        });
        waiting.into_iter().for_each(f);
    }

    /// Returns the keywords that these three bytes may be of. The bit must be set.
    fn anchors_of(&self, bit: Bit) -> impl Iterator<Item = &Anchor> {
        let below = self.thirds[bit.pair] & ((1 << bit.third) - 1);
        let first = usize::from(self.firsts[bit.pair]) + below.count_ones() as usize;
        let next = |anchor: &&Anchor| (anchor.next != 0).then(|| &self.anchors[usize::from(anchor.next)]);
        std::iter::successors(Some(&self.anchors[first]), next)
    }

    #[inline(always)]
    fn hit(&self, text: &[u8], at: usize, anchor: &Anchor) -> Option<LiteralHit> {
        let start = at.checked_sub(usize::from(anchor.offset))?;
        let (range, word) = (start..start + usize::from(anchor.length), usize::from(anchor.word));
        let all = || text.get(range.clone()).is_some_and(|part| part.eq_ignore_ascii_case(&self.words[word]));
        let stands = match text[start..].first_chunk() {
            Some(&first) => anchor.start.is(first) && (range.len() <= first.len() || all()),
            None => all(),
        };
        stands.then_some(LiteralHit { word, range })
    }

    /// Calls `f` with each place whose three bytes may be a keyword's, and with their bit.
    fn each_candidate(&self, text: &[u8], mut f: impl FnMut(usize, Bit)) {
        let mut at = 0;
        while let Some(bytes) = text[at..].first_chunk::<BLOCK_REACH>() {
            for place in runs::places(self.set_in_block(bytes)) {
                f(at + place, Bit::of(text[at + place], text[at + place + 1], text[at + place + 2]));
            }
            at += BLOCK;
        }
        // What is left is shorter than a block reads, and no keyword holds what it is filled up
        // with. Most texts are no longer than this.
        let rest = &text[at..];
        let mut last = [0; BLOCK_REACH + 2];
        last[..rest.len()].copy_from_slice(rest);
        for (place, &[first, second, third]) in last[..rest.len() + 2].array_windows().enumerate() {
            let bit = Bit::of(first, second, third);
            if self.thirds[bit.pair] >> bit.third & 1 != 0 {
                f(at + place, bit);
            }
        }
    }

    /// Returns a bit for each place of a block whose three bytes may be a keyword's.
    ///
    /// There is no branch in it: which places count is known to nobody before, and a branch that is
    /// guessed wrong costs as much as the look at a dozen places.
    #[inline(always)]
    fn set_in_block(&self, bytes: &[u8; BLOCK_REACH]) -> u64 {
        let (even, odd) = (pairs(&bytes[..BLOCK]), pairs(&bytes[1..=BLOCK]));
        let is_set = |pair: u16, third: u8| self.thirds[usize::from(pair) % PAIRS] >> (third & 63) & 1;
        // Each part waits for itself alone.
        let mut parts = [0; PARTS];
        for two in (0..BLOCK / PARTS / 2).rev() {
            for (part, bits) in parts.iter_mut().enumerate() {
                let two = part * (BLOCK / PARTS / 2) + two;
                *bits = *bits * 2 + is_set(odd[two], bytes[2 * two + 3]);
                *bits = *bits * 2 + is_set(even[two], bytes[2 * two + 2]);
            }
        }
        parts.iter().rev().fold(0, |all, bits| all << (BLOCK / PARTS) | bits)
    }
}

/// Returns what [`Bit::of`] makes of each two bytes.
#[inline(always)]
fn pairs(bytes: &[u8]) -> [u16; BLOCK / 2] {
    const LANES: usize = 8;
    let mut all = [0; BLOCK / 2];
    for (out, bytes) in all.as_chunks_mut::<LANES>().0.iter_mut().zip(bytes.as_chunks::<{ 2 * LANES }>().0) {
        let two = u16x8::new(std::array::from_fn(|lane| {
            u16::from_le_bytes([bytes[2 * lane], bytes[2 * lane + 1]])
        }));
        let pair: u16x8 = (two & u16x8::splat(0x1f))
            | ((two >> 3) & u16x8::splat(0x3e0))
            | ((two >> 4) & u16x8::splat(0x400));
        *out = pair.to_array();
    }
    all
}

impl Anchor {
    fn new(keyword: &[u8], word: usize, offset: usize) -> Self {
        let (word, offset, length) = (short(word), short(offset), short(keyword.len()));
        Self { word, offset, length, next: 0, start: Start::of(keyword) }
    }
}

impl Start {
    fn of(word: &[u8]) -> Self {
        let mut start = Self { bytes: 0, mask: 0, fold: 0 };
        for (&byte, place) in word.iter().zip((0..u64::BITS).step_by(8)) {
            start.bytes |= u64::from(byte) << place;
            start.mask |= 0xff << place;
            start.fold |= if byte.is_ascii_lowercase() { 0x20 << place } else { 0 };
        }
        start
    }

    fn is(&self, bytes: [u8; 8]) -> bool {
        (u64::from_le_bytes(bytes) | self.fold) & self.mask == self.bytes
    }
}

impl Bit {
    #[inline(always)]
    fn of(first: u8, second: u8, third: u8) -> Self {
        let two = u16::from_le_bytes([first, second]);
        let pair = (two & 0x1f) | (two >> 3 & 0x3e0) | (two >> 4 & 0x400);
        Self { pair: usize::from(pair), third: u32::from(third & 63) }
    }
}

/// Packs hold some hundred keywords, each of which a few bits have.
fn short(number: usize) -> u16 {
    u16::try_from(number).expect("packs hold some hundred keywords")
}

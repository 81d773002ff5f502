//! What every match of a pattern begins with: for each of its first bytes, which ones it may be.
//!
//! A keyword such as `pat` stands in `path` and `compat` far more often than in a token. What has
//! to stand behind it there is seen with a look at a few bytes, and costs less than to ask a regex.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Bytes of a match that are known. More of them turn away hardly anything further.
const LONGEST: usize = 16;

/// The first bytes of a pattern's matches.
#[derive(Clone, Debug, Default)]
pub(crate) struct PatternLead {
    /// As many as the shortest match has, and no more than [`LONGEST`].
    allowed: Vec<ByteSet>,
    pub(crate) lengths: MatchLengths,
}

/// How many bytes a pattern's matches have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MatchLengths {
    pub(crate) least: usize,
    /// `None` where they may be as long as the text.
    pub(crate) most: Option<usize>,
}

impl MatchLengths {
    pub(crate) fn allow(self, length: usize) -> bool {
        length >= self.least && self.most.is_none_or(|most| length <= most)
    }
}

impl PatternLead {
    /// Returns what the matches of a pattern begin with, where they begin at a keyword.
    pub(crate) fn of(pattern: &str, ignore_case: bool) -> Result<Self, Box<regex_syntax::Error>> {
        let mut allowed = [ByteSet::default(); LONGEST];
        let parsed = parse(pattern, ignore_case)?;
        let known = walk(&parsed, 1, &mut allowed).trailing_zeros() as usize;
        let properties = parsed.properties();
        let lengths =
            MatchLengths { least: properties.minimum_len().unwrap_or(0), most: properties.maximum_len() };
        Ok(Self { allowed: allowed[..known.min(LONGEST)].to_vec(), lengths })
    }

    /// Returns false only if no match begins with `bytes`; the first `known` of them are known to
    /// fit.
    pub(crate) fn fits(&self, bytes: &[u8], known: usize) -> bool {
        bytes.len() >= self.allowed.len()
            && self.allowed.iter().zip(bytes).skip(known).all(|(allowed, &byte)| allowed.contains(byte))
    }

    /// Returns whether a match's byte at `place` may be `byte`.
    pub(crate) fn allows(&self, place: usize, byte: u8) -> bool {
        self.allowed.get(place).is_none_or(|allowed| allowed.contains(byte))
    }
}

/// Reads a pattern as the rows' regexes do: about bytes.
fn parse(pattern: &str, ignore_case: bool) -> Result<Hir, Box<regex_syntax::Error>> {
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).case_insensitive(ignore_case).build();
    parser.parse(pattern).map_err(Box::new)
}

/// Some of the 256 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct ByteSet([u64; 4]);

impl ByteSet {
    fn add(&mut self, byte: u8) {
        self.0[usize::from(byte / 64)] |= 1 << (byte % 64);
    }

    fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte / 64)] >> (byte % 64) & 1 != 0
    }
}

/// How many bytes of a match may lie before some part of its pattern, a bit for each number; the bit [`LONGEST`]
/// stands for all numbers from there on.
type LeadPlaces = u32;

/// Adds what a part of a pattern may be at each place; gives where it may end.
fn walk(part: &Hir, from: LeadPlaces, allowed: &mut [ByteSet; LONGEST]) -> LeadPlaces {
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => from,
        HirKind::Literal(literal) => {
            literal.0.iter().fold(from, |at, &byte| one(at, allowed, |set| set.add(byte)))
        }
        HirKind::Class(class) => one(from, allowed, |set| add_class(class, set)),
        HirKind::Capture(capture) => walk(&capture.sub, from, allowed),
        HirKind::Concat(parts) => parts.iter().fold(from, |at, part| walk(part, at, allowed)),
        HirKind::Alternation(parts) => parts.iter().fold(0, |ends, part| ends | walk(part, from, allowed)),
        HirKind::Repetition(repetition) => {
            let times = |limit: u32| (limit as usize).min(LONGEST);
            let (least, most) = (times(repetition.min), repetition.max.map_or(LONGEST, times));
            let least_ends = (0..least).fold(from, |at, _| walk(&repetition.sub, at, allowed));
            let further = (least..most).scan(least_ends, |at, _| {
                *at = walk(&repetition.sub, *at, allowed);
                Some(*at)
            });
            further.fold(least_ends, |ends, at| ends | at)
        }
    }
}

fn one(at: LeadPlaces, allowed: &mut [ByteSet; LONGEST], add: impl Fn(&mut ByteSet)) -> LeadPlaces {
    (0..LONGEST).filter(|place| at >> place & 1 != 0).for_each(|place| add(&mut allowed[place]));
    let last = 1 << LONGEST;
    (at << 1 | at & last) & (2 * last - 1)
}

fn add_class(class: &Class, set: &mut ByteSet) {
    match class {
        Class::Bytes(class) => {
            class
                .ranges()
                .iter()
                .flat_map(|range| range.start()..=range.end())
                .for_each(|byte| set.add(byte));
        }
        // Patterns are about bytes; of a class of characters any byte may be a part.
        Class::Unicode(_) => *set = ByteSet([u64::MAX; 4]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        PatternLead::of(pattern, false).unwrap().fits(text.as_bytes(), 0)
    }

    #[test]
    fn a_match_that_cannot_be_is_turned_away_by_its_first_bytes() {
        let pattern = r"\A(?:pat[A-Za-z0-9]{14}\.[a-f0-9]{64})";
        assert!(fits(pattern, &format!("pat{}.{}", "aB3".repeat(6), "0".repeat(64))));
        for text in ["path = \"x\"; more of it", "pat", "patAAAAAAAA AAAAAAAA", "compat"] {
            assert!(!fits(pattern, text), "{text}");
        }
    }

    #[test]
    fn what_may_be_left_out_makes_no_demand() {
        for (pattern, text) in [
            (r"a?b{0,3}c", "c"),
            (r"(?:ab|c)d", "cd"),
            (r"(?:ab|c)d", "abd"),
            (r"x(?:y{2}|z)*w", "xzyyw"),
            (r"\A(?:a\b|b$)", "a"),
            (r"[^\n]{0,200}?x", "x"),
            (r"(?s:.){2}x", "\u{e9}x"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        assert!(!fits(r"(?:ab|c)d", "e"));
        assert!(PatternLead::of("KEY", true).unwrap().fits(b"kEy", 0));
    }
}

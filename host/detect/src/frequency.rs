//! How often bytes stand side by side in prose and code: a keyword is known by the rarest of its.

use std::collections::HashMap;

use crate::value::often_follows;

/// Three bytes that stand side by side at least fifty times in a million bytes, and how often they
/// do, letters in lower case: as counted in 34 MB of Rust, C, Python, JavaScript, JSON, YAML, TOML,
/// HTML, Markdown and plain text of some thousand open-source packages. A blank is spelled `\s`.
const TRIGRAMS: &str = include_str!("trigrams.txt");

/// Bits that count of the first of three bytes and of the last one where a table is asked for them.
const FIRST_BITS: u8 = 0x1f;
const THIRD_BITS: u8 = 0x3f;

/// How often three bytes stand side by side.
pub(crate) struct Frequencies {
    /// In a million bytes, where it is often.
    often: HashMap<[u8; 3], u32>,
}

/// How often three bytes are met: those that are counted, then a guess, in no unit.
pub(crate) type Frequency = (u32, u64);

impl Frequencies {
    /// Reads what was counted.
    pub(crate) fn new() -> Self {
        let entry = |line: &str| {
            let (count, spelled) = line.split_once(' ').expect("a line is a count and three bytes");
            let bytes = spelled.replace("\\s", " ").replace("\\n", "\n").replace("\\\\", "\\");
            let three = bytes.as_bytes().try_into().expect("three bytes are three");
            (three, count.parse().expect("a count is a number"))
        };
        Self { often: TRIGRAMS.lines().map(entry).collect() }
    }

    /// Returns how often three bytes in lower case are met where a table knows them by some of their
    /// bits: whatever else has these counts as well.
    pub(crate) fn of(&self, [first, second, third]: [u8; 3]) -> Frequency {
        let all = sharing(first, FIRST_BITS)
            .flat_map(|first| sharing(third, THIRD_BITS).map(move |third| [first, second, third]));
        let count = all.filter_map(|three| self.often.get(&three)).sum();
        (count, guess([first, second, third]))
    }
}

/// Returns a byte and those which share its bits, of the bytes that texts are of.
fn sharing(byte: u8, bits: u8) -> impl Iterator<Item = u8> {
    let of_texts = std::iter::once(b'\n').chain(b' '..=b'~').filter(|byte| !byte.is_ascii_uppercase());
    std::iter::once(byte).chain(of_texts.filter(move |&other| other != byte && (other ^ byte) & bits == 0))
}

/// About how often three bytes stand side by side, of which nothing was counted.
fn guess(three: [u8; 3]) -> u64 {
    /// How much rarer a pair of letters is that few words have.
    const SELDOM: u64 = 8;
    let seldom = |two: &&[u8]| two.iter().all(u8::is_ascii_alphabetic) && !often_follows(two[0], two[1]);
    let factor = three.windows(2).filter(seldom).map(|_| SELDOM).product::<u64>();
    three.iter().map(|byte| u64::from(per_mille(*byte))).product::<u64>() * 1000 / factor
}

/// How many of a thousand bytes of prose and code are this one, or a little more.
fn per_mille(byte: u8) -> u8 {
    const LETTERS: &[u8; 26] =
        &[70, 13, 32, 34, 110, 20, 16, 34, 65, 2, 8, 38, 23, 64, 66, 23, 2, 58, 60, 82, 26, 9, 13, 5, 14, 2];
    match byte.to_ascii_lowercase() {
        letter @ b'a'..=b'z' => LETTERS[usize::from(letter - b'a')],
        b' ' => 150,
        b'_' | b'.' | b'"' | b'\n' => 20,
        b'-' | b'/' | b':' | b'=' | b',' | b'(' | b')' => 14,
        b'0'..=b'9' => 6,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_more_often_than_any_guess() {
        let frequencies = Frequencies::new();
        assert!(frequencies.of(*b"pat") > frequencies.of(*b"tpa"), "letters of a word that texts repeat");
        assert!(frequencies.of(*b"ghp") < frequencies.of(*b"the"));
        assert!(frequencies.of(*b"equ") > frequencies.of(*b"irp"), "`q` is rare, and `qu` is not");
    }

    #[test]
    fn a_sign_that_shares_the_bits_of_a_letter_counts_for_it() {
        let frequencies = Frequencies::new();
        assert!(!frequencies.often.contains_key(b"jre"));
        assert!(frequencies.of(*b"jre").0 > 0, "a line that begins with `re` is looked up where `jre` is");
    }
}

//! Seed phrases of wallets: words of BIP-39's English list whose last one holds a checksum.
//!
//! `bip39.txt` is the list as the proposal publishes it, in its order, which is that of the alphabet.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

/// Of how many words a phrase may be, the longest first.
const LENGTHS: [usize; 5] = [24, 21, 18, 15, 12];

/// Each word stands for so many bits: its place in the list.
const BITS: usize = 11;

/// Gives how many bytes of `text` the phrase takes that it begins with, whatever stands between the
/// words; `None` where there is none or its checksum is wrong.
pub(crate) fn phrase_length(text: &str) -> Option<usize> {
    let mut places = Vec::with_capacity(LENGTHS[0]);
    let mut ends = Vec::with_capacity(LENGTHS[0]);
    for word in text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()) {
        let Some(place) = place(word) else { break };
        places.push(place);
        ends.push(word.as_ptr() as usize - text.as_ptr() as usize + word.len());
        if places.len() == LENGTHS[0] {
            break;
        }
    }
    let fits = |length: &&usize| places.get(..**length).is_some_and(is_checked);
    LENGTHS.iter().find(fits).map(|&length| ends[length - 1])
}

/// Where a word stands in the list.
fn place(word: &str) -> Option<usize> {
    static WORDS: LazyLock<Vec<&str>> =
        LazyLock::new(|| include_str!("bip39.txt").split_ascii_whitespace().collect());
    let word = word.to_ascii_lowercase();
    WORDS.binary_search(&&*word).ok()
}

/// A third of a bit of each word is the checksum: the first bits of the SHA-256 of all the others.
fn is_checked(places: &[usize]) -> bool {
    let bit = |at: usize| places[at / BITS] >> (BITS - 1 - at % BITS) & 1;
    let check = places.len() / 3;
    let entropy = places.len() * BITS - check;
    let byte = |from: usize| (from..from + 8).fold(0, |byte, at| byte << 1 | bit(at) as u8);
    let bytes: Vec<u8> = (0..entropy).step_by(8).map(byte).collect();
    let digest = Sha256::digest(&bytes)[0];
    (0..check).all(|at| usize::from(digest >> (7 - at) & 1) == bit(entropy + at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A phrase of the proposal's own test vectors.
    const PHRASE: &str = "letter advice cage absurd amount doctor acoustic avoid letter advice cage above";

    #[test]
    fn a_phrase_proves_itself_by_its_last_word() {
        assert_eq!(phrase_length(PHRASE), Some(PHRASE.len()));
        assert_eq!(phrase_length(&PHRASE.replace("above", "absent")), None);
        assert_eq!(phrase_length(&format!("{PHRASE} was written down")), Some(PHRASE.len()));
        assert_eq!(phrase_length(&PHRASE.replace(' ', "\", \"")), Some(PHRASE.len() + 11 * 3));
        assert_eq!(phrase_length("letter advice cage"), None);
        assert_eq!(phrase_length(""), None);
    }

    #[test]
    fn the_list_is_in_order() {
        let words: Vec<&str> = include_str!("bip39.txt").split_ascii_whitespace().collect();
        assert!(words.len() == 1 << BITS && words.is_sorted());
    }
}

//! Where names may begin: nearly every word of nearly every text is passed over by its first two
//! letters.
//!
//! Eight bytes are looked at in one step. What is not ASCII is looked at character by character,
//! and only by the trie: letters with accents and whole scripts have too many spellings for a
//! table.

use crate::fold::{self, FoldCursor};

/// The highest bit of each of eight bytes.
const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

/// For each first letter, the ASCII characters that may follow it in a name.
pub(crate) struct Beginnings {
    followers: Box<[u128; 128]>,
}

/// What leads from one letter of a name to the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edge {
    Letter(char),
    /// Between two words: nothing, blanks, or one of the characters that identifiers and addresses
    /// put there.
    Join,
    /// Between last and given names: a comma and blanks.
    Comma,
    /// After an initial: a full stop.
    Stop,
}

impl Default for Beginnings {
    fn default() -> Self {
        Beginnings { followers: Box::new([0; 128]) }
    }
}

impl Beginnings {
    /// Lets names begin with a folded letter and one of the spellings of what follows it, or with that letter alone.
    pub(crate) fn allow(&mut self, first: char, follower: Option<Edge>) {
        // Other letters are never looked up here.
        let Some(followers) = self.followers.get_mut(first as usize) else { return };
        let fits = |second: u8| match (follower, char::from(second)) {
            (Some(Edge::Letter(letter)), second) => second.to_ascii_lowercase() == letter,
            (Some(Edge::Join), second) => {
                second.is_whitespace() || matches!(second, '-' | '_' | '.' | '+' | '%')
            }
            (Some(Edge::Comma), second) => second == ',',
            (Some(Edge::Stop), second) => second == '.',
            (None, second) => !is_word(second),
        };
        *followers |= (0..128).filter(|&second| fits(second)).fold(0, |all, second| all | 1 << second);
    }

    /// Returns the next place where a word begins that may be a name's first one. What it passes
    /// over begins no name.
    pub(crate) fn next(&self, text: &str, from: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut inside = text[..from].chars().next_back().is_some_and(is_word);
        let mut at = from;
        loop {
            while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
                let block = u64::from_le_bytes(*block);
                if block & HIGH != 0 {
                    break;
                }
                let words = words(block);
                let mut begins = words & !(words << 8 | u64::from(inside) << 7);
                while begins != 0 {
                    let place = at + begins.trailing_zeros() as usize / 8;
                    if self.allows(bytes, place) {
                        return Some(place);
                    }
                    begins &= begins - 1;
                }
                inside = words >> 63 != 0;
                at += size_of_val(&block);
            }
            let character = text[at..].chars().next()?;
            let word = is_word(character);
            let begins = (word && !inside) || is_unspaced(character);
            if begins && (!character.is_ascii() || self.allows(bytes, at)) {
                return Some(at);
            }
            inside = word;
            at += character.len_utf8();
        }
    }

    /// Returns true where a name may begin with the ASCII letter at a place.
    fn allows(&self, bytes: &[u8], place: usize) -> bool {
        let followers = self.followers[usize::from(bytes[place].to_ascii_lowercase() & 0x7f)];
        match bytes.get(place + 1) {
            // An accent of the letter before it, or the second letter.
            Some(second) if !second.is_ascii() => followers != 0,
            Some(second) => followers >> second & 1 != 0,
            None => followers != 0,
        }
    }
}

/// Marks letters and digits among eight ASCII bytes by their highest bits.
fn words(block: u64) -> u64 {
    let all = |byte: u8| u64::from_le_bytes([byte; 8]);
    // No byte has its highest bit set, so no sum reaches the next byte: it sets the bit from the
    // first of a range on, and from behind its last.
    let from = |block: u64, first: u8| block + all(0x80 - first);
    let lower = block | all(0x20);
    let letters = from(lower, b'a') & !from(lower, b'z' + 1);
    let digits = from(block, b'0') & !from(block, b'9' + 1);
    (letters | digits) & HIGH
}

pub(crate) fn ends_word(cursor: FoldCursor<'_>) -> bool {
    !cursor.rest().chars().next().is_some_and(is_word)
}

/// An underscore joins words to identifiers, and names stand in identifiers: it is no part of a
/// word here.
pub(crate) fn is_word(character: char) -> bool {
    // Nearly all of nearly every text; the rest looks into tables.
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    (character.is_alphanumeric() && !is_unspaced(character)) || fold::is_accent(character)
}

/// Scripts that put no blanks between words, or hang particles on them (Thai to Khmer, Kana, Han,
/// Hangul): any character may begin or follow a name.
pub(crate) fn is_unspaced(character: char) -> bool {
    !character.is_ascii()
        && matches!(character,
        '\u{e00}'..='\u{eff}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_digits_are_marked_wherever_they_stand() {
        for byte in 0..128_u8 {
            for place in 0..8 {
                let mut block = [b' '; 8];
                block[place] = byte;
                let expected = if byte.is_ascii_alphanumeric() { 0x80_u64 << (8 * place) } else { 0 };
                assert_eq!(words(u64::from_le_bytes(block)), expected, "{byte} at {place}");
            }
        }
    }
}

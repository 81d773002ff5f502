//! Surrogates of people's names.
//!
//! A person is written in many ways: `Ann Miller`, `MILLER, Ann`, `A. Miller`, `Ms Miller`. Each word of
//! a name has a surrogate of its own, whatever stands beside it and however its letters are written, and
//! each initial the one with which the words that begin with it begin. So all ways to write one person
//! lead to one other person, without a memory of who was seen.

use crate::keys::TokenKeys;
use crate::surrogate::Noise;

/// The labels of people's names.
const LABELS: [&str; 2] = ["PERSON", "NAME"];

/// Words that stand beside names and are none, in lower case.
const BESIDE: [&str; 31] = [
    "mr", "mrs", "ms", "miss", "mx", "dr", "prof", "sir", "herr", "frau", "mme", "mlle", "sr", "sra", "van",
    "von", "der", "den", "de", "del", "della", "di", "da", "dos", "la", "le", "du", "bin", "al", "el", "y",
];

const VOWELS: &[u8] = b"aeiou";
const CONSONANTS: &[u8] = b"bdfgklmnprstvz";

/// Returns whether findings of a label are names of people.
pub(crate) fn is_of_people(label: &str) -> bool {
    LABELS.contains(&crate::word::normal_label(label).as_str())
}

/// Returns the surrogate of a name. What stands between its words is kept.
pub(crate) fn surrogate(keys: &TokenKeys, label: &str, value: &str) -> String {
    let initials = Initials::new(keys, label);
    let mut made = String::with_capacity(value.len() + 8);
    let mut word = String::new();
    for character in value.chars().chain(['\0']) {
        if character.is_alphabetic() {
            word.push(character);
            continue;
        }
        if !word.is_empty() {
            made.push_str(&replaced(&word, keys, label, &initials));
            word.clear();
        }
        if character.is_numeric() {
            made.push(Noise::new(keys, label, value).pick(b"0123456789"));
        } else if character != '\0' {
            made.push(character);
        }
    }
    made
}

fn replaced(word: &str, keys: &TokenKeys, label: &str, initials: &Initials) -> String {
    let lower = word.to_lowercase();
    let mut letters = word.chars();
    let (first, more) = (letters.next().unwrap_or_default(), letters.next().is_some());
    // The `s` of `Miller's` is none.
    if BESIDE.contains(&lower.as_str()) || !more && first.is_ascii_lowercase() {
        return word.to_owned();
    }
    let initial = initials.of(first);
    let mut made = if more { invented(initial, keys, label, &lower) } else { initial.to_string() };
    let is_upper = |letter: char| letter.is_uppercase();
    if more && word.chars().all(is_upper) || !more && is_upper(first) {
        made.make_ascii_uppercase();
    } else if is_upper(first) {
        made[..1].make_ascii_uppercase();
    }
    made
}

/// Returns a word that can be spoken: vowels and consonants in turn.
fn invented(initial: char, keys: &TokenKeys, label: &str, lower: &str) -> String {
    let mut noise = Noise::new(keys, label, lower);
    let length = 5 + noise.pick(b"012") as usize - '0' as usize;
    let mut made = String::from(initial);
    let mut after_vowel = VOWELS.contains(&(initial as u8));
    while made.len() < length {
        made.push(noise.pick(if after_vowel { CONSONANTS } else { VOWELS }));
        after_vowel = !after_vowel;
    }
    made
}

/// Which letter stands for which: each for another one, and no two for the same.
struct Initials([u8; 26]);

impl Initials {
    fn new(keys: &TokenKeys, label: &str) -> Self {
        let mut letters: [u8; 26] = std::array::from_fn(|at| b'a' + at as u8);
        // A value cannot be this text: no detector finds a control character in a name.
        let mut noise = Noise::new(keys, label, "\u{1}initials");
        // Sattolo's shuffle: one cycle, so no letter stands for itself.
        for at in (1..letters.len()).rev() {
            let range: Vec<u8> = (0..at as u8).collect();
            letters.swap(at, noise.pick(&range) as usize);
        }
        Initials(letters)
    }

    /// A letter of another alphabet has one of ours too.
    fn of(&self, letter: char) -> char {
        let lower = letter.to_lowercase().next().unwrap_or(letter);
        let place = match lower {
            'a'..='z' => lower as usize - 'a' as usize,
            other => other as usize % 26,
        };
        char::from(self.0[place])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::keys::{ClientIdentity, InstallationKey};

    fn keys(key: u8) -> TokenKeys {
        TokenKeys::derive(&InstallationKey::from_bytes([key; 32]), &ClientIdentity::new("laptop"))
    }

    fn made(value: &str) -> String {
        surrogate(&keys(7), "PERSON", value)
    }

    #[test]
    fn all_ways_to_write_a_person_lead_to_one_other_person() {
        let whole = made("Ann Miller");
        let (first, last) = whole.split_once(' ').unwrap();
        assert!(first != "Ann" && last != "Miller" && first.starts_with(|c: char| c.is_ascii_uppercase()));
        assert_eq!(made("Miller, Ann"), format!("{last}, {first}"));
        assert_eq!(made("ANN MILLER"), whole.to_uppercase());
        assert_eq!(made("Ms. Miller's"), format!("Ms. {last}'s"));
        assert_eq!(made("A. Miller"), format!("{}. {last}", &first[..1]));
        assert_eq!(made("Ann-Sofie van Miller"), format!("{first}-{} van {last}", made("Sofie")));
        assert_ne!(
            surrogate(&keys(8), "PERSON", "Ann Miller"),
            whole,
            "another installation, another person"
        );
    }

    #[test]
    fn every_letter_stands_for_another_one() {
        for key in 0..20 {
            let mut seen: Vec<char> =
                ('a'..='z').map(|letter| Initials::new(&keys(key), "NAME").of(letter)).collect();
            assert!(seen.iter().zip('a'..='z').all(|(one, other)| *one != other));
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 26);
        }
    }

    proptest! {
        #[test]
        fn no_word_of_a_name_stays(value in "[A-Z][a-zé]{1,9}( [A-ZÖ][a-z]{2,9}){0,2}|[王小明]{2,4}") {
            let made = made(&value);
            prop_assert!(made.is_ascii(), "{made}");
            for (word, other) in value.split(' ').zip(made.split(' ')) {
                prop_assert!(word != other || BESIDE.contains(&word.to_lowercase().as_str()), "{value}: {made}");
            }
        }
    }
}

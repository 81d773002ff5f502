//! Words that say what a number beside them is, in six languages: English, German, French, Spanish,
//! Italian and Portuguese.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::Deserialize;

use crate::table::table;

/// How far before a number its word may stand.
const BEFORE: usize = 40;

/// And behind it: `… office`, `… (fax)`.
const BEHIND: usize = 14;

/// What words are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cue {
    /// Telephones.
    Phone,
    /// Payment cards.
    Card,
    /// What a PIN opens.
    Lock,
    /// Numbers by which a state knows people: identity, tax, insurance.
    Person,
}

impl Cue {
    /// Returns true if and only if a word of this kind stands close to a stretch of a text.
    pub(crate) fn stands_beside(self, text: &str, range: &Range<usize>) -> bool {
        let start = text.floor_char_boundary(range.start.saturating_sub(BEFORE));
        let end = text.ceil_char_boundary(text.len().min(range.end + BEHIND));
        self.begins_word_of(&text[start..range.start]) || self.begins_word_of(&text[range.end..end])
    }

    /// Returns true if and only if a word of this kind stands in a text, such as the key of a number.
    pub(crate) fn begins_word_of(self, text: &str) -> bool {
        self.words().find_iter(text).any(|word| begins_word(text, word.start()))
    }

    fn words(self) -> &'static AhoCorasick {
        static WORDS: LazyLock<HashMap<Cue, Vec<String>>> =
            LazyLock::new(|| table(include_str!("../packs/cues.toml")));
        // Each is built when it is first asked for: most texts ask for few.
        static AUTOMATA: [OnceLock<AhoCorasick>; 4] = [const { OnceLock::new() }; 4];
        AUTOMATA[self as usize].get_or_init(|| automaton(&WORDS[&self]))
    }
}

/// Looks for words whatever their case.
pub(crate) fn automaton(words: &[String]) -> AhoCorasick {
    // Capitals beyond ASCII are words of their own.
    let capitals = words.iter().filter(|word| !word.is_ascii()).map(|word| word.to_uppercase());
    let all = words.iter().cloned().chain(capitals);
    let mut builder = AhoCorasick::builder();
    builder.kind(Some(AhoCorasickKind::DFA)).ascii_case_insensitive(true);
    builder.build(all).expect("some words stay far below the automaton's limits")
}

fn begins_word(text: &str, at: usize) -> bool {
    !text[..at].chars().next_back().is_some_and(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_where_it_begins_as_such_and_is_close() {
        let beside = |text: &str| {
            let at = text.find("4670 33").unwrap();
            Cue::Phone.stands_beside(text, &(at..at + 7))
        };
        for text in [
            "Phone: 4670 33",
            "Tél. 4670 33",
            "call me at 4670 33",
            "4670 33 office",
            "MÓVIL 4670 33",
            "cell_phone=4670 33",
        ] {
            assert!(beside(text), "{text}");
        }
        let far = format!("phone {} 4670 33", "-".repeat(60));
        for text in ["hotel 4670 33", "excel 4670 33", "4670 33 of it", &far] {
            assert!(!beside(text), "{text}");
        }
    }
}

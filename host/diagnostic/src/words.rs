//! A word or several, as a file may write it, and what may be said beside them.

use std::fmt;
use std::ops::Range;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// A string, or a list of strings of which any may match.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// A string.
    One(String),
    /// A list of strings.
    Many(Vec<Spanned<String>>),
}

impl OneOrMany {
    /// Returns its words with their places; `span` is the place of the whole value.
    #[must_use]
    pub fn words(&self, span: Range<usize>) -> Vec<(&str, Range<usize>)> {
        match self {
            OneOrMany::One(word) => vec![(word, span)],
            OneOrMany::Many(words) => {
                words.iter().map(|word| (word.get_ref().as_str(), word.span())).collect()
            }
        }
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    // Not `#[serde(untagged)]`: that loses the places of the list's items.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;

        impl<'de> Visitor<'de> for Words {
            type Value = OneOrMany;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E>(self, word: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany::One(word.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OneOrMany, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = items.next_element()? {
                    words.push(word);
                }
                Ok(OneOrMany::Many(words))
            }
        }

        deserializer.deserialize_any(Words)
    }
}

/// What a text may be: a word or several, or a table that says more.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum WordMatch {
    /// Any of these words.
    Any(OneOrMany),
    /// `{ any = …, not = …, ignore-case = … }`.
    Table(WordMatchTable),
}

/// What a text may be and may not be.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WordMatchTable {
    /// It is any of these; anything where the key is not there.
    pub any: Option<Spanned<OneOrMany>>,
    /// It is none of these.
    pub not: Option<Spanned<OneOrMany>>,
    /// Whether letters count in any case.
    pub ignore_case: Option<Spanned<bool>>,
}

impl WordMatch {
    /// Returns the words of which it may be any, with their places; `None` where none are written. `span` is
    /// the place of the whole value.
    #[must_use]
    pub fn any(&self, span: Range<usize>) -> Option<Vec<(&str, Range<usize>)>> {
        match self {
            WordMatch::Any(words) => Some(words.words(span)),
            WordMatch::Table(WordMatchTable { any, .. }) => {
                any.as_ref().map(|any| any.get_ref().words(any.span()))
            }
        }
    }

    /// Returns the words of which it may be none, with their places; `None` where none are written.
    #[must_use]
    pub fn not(&self) -> Option<Vec<(&str, Range<usize>)>> {
        let WordMatch::Table(WordMatchTable { not: Some(not), .. }) = self else { return None };
        Some(not.get_ref().words(not.span()))
    }

    /// Returns where it says whether case counts, and whether it does not; `None` where it says nothing.
    #[must_use]
    pub fn ignore_case(&self) -> Option<&Spanned<bool>> {
        let WordMatch::Table(WordMatchTable { ignore_case, .. }) = self else { return None };
        ignore_case.as_ref()
    }
}

impl<'de> Deserialize<'de> for WordMatch {
    // Not `#[serde(untagged)]`, as above.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordMatchVisitor;

        impl<'de> Visitor<'de> for WordMatchVisitor {
            type Value = WordMatch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a list of strings, or a table with `any` and `not`")
            }

            fn visit_str<E>(self, word: &str) -> Result<WordMatch, E> {
                Ok(WordMatch::Any(OneOrMany::One(word.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<WordMatch, A::Error> {
                OneOrMany::deserialize(SeqAccessDeserializer::new(items)).map(WordMatch::Any)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WordMatch, A::Error> {
                WordMatchTable::deserialize(MapAccessDeserializer::new(map)).map(WordMatch::Table)
            }
        }

        deserializer.deserialize_any(WordMatchVisitor)
    }
}

//! A word or several, as a file may write it, and what may be said beside them.

use std::fmt;
use std::ops::Range;

use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeMap as _;
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
    pub fn words(&self, span: Range<usize>) -> Vec<(&str, Range<usize>)> {
        match self {
            OneOrMany::One(word) => vec![(word, span)],
            OneOrMany::Many(words) => {
                words.iter().map(|word| (word.get_ref().as_str(), word.span())).collect()
            }
        }
    }
}

/// Returns the words of a key with their places; none where it is not there.
pub fn words_of(value: &Option<Spanned<OneOrMany>>) -> Vec<(&str, Range<usize>)> {
    value.as_ref().map(|words| words.get_ref().words(words.span())).unwrap_or_default()
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

/// What a text may be and may not be: `{ any = …, not = …, ignore-case = … }`. A word or several alone are `any`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WordMatch {
    /// It is any of these; anything where the key is not there.
    pub any: Option<Spanned<OneOrMany>>,
    /// It is none of these.
    pub not: Option<Spanned<OneOrMany>>,
    /// Whether letters count in any case.
    pub ignore_case: Option<Spanned<bool>>,
}

impl WordMatch {
    /// Returns the words of which it may be any, with their places; `None` where none are written.
    pub fn any(&self) -> Option<Vec<(&str, Range<usize>)>> {
        self.any.as_ref().map(|words| words.get_ref().words(words.span()))
    }

    /// Returns the words of which it may be none, with their places; `None` where none are written.
    pub fn not(&self) -> Option<Vec<(&str, Range<usize>)>> {
        self.not.as_ref().map(|words| words.get_ref().words(words.span()))
    }
}

impl Serialize for WordMatch {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            WordMatch { any: Some(any), not: None, ignore_case: None } => any.serialize(serializer),
            WordMatch { any, not, ignore_case } => {
                let texts = [("any", any), ("not", not)];
                let mut table = serializer.serialize_map(None)?;
                for (key, words) in texts.iter().filter_map(|(key, words)| Some((key, words.as_ref()?))) {
                    table.serialize_entry(key, words)?;
                }
                ignore_case.iter().try_for_each(|ignore| table.serialize_entry("ignore-case", ignore))?;
                table.end()
            }
        }
    }
}

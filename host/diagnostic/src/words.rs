//! A word or several, as a file may write it.

use std::fmt;
use std::ops::Range;

use serde::de::{SeqAccess, Visitor};
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

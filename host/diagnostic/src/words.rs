//! A word or several, and what may be said beside them.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

/// A string, or a list of strings of which any may match: the reader makes a list of a string alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct OneOrMany(Vec<Spanned<String>>);

/// Returns the words of a key with their places; none where it is not there.
pub fn words_of(value: &Option<Spanned<OneOrMany>>) -> Vec<(&str, Range<usize>)> {
    let words = value.iter().flat_map(|words| &words.get_ref().0);
    words.map(|word| (word.get_ref().as_str(), word.span())).collect()
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

//! Lists of words that names and values are judged by. `packs/lists.toml` says what each is.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::table::table;

pub(crate) static LISTS: LazyLock<WordLists> = LazyLock::new(|| table(include_str!("../packs/lists.toml")));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WordLists {
    pub(crate) no_passwords: WordList,
    pub(crate) stand_ins: WordList,
    pub(crate) placeholders: WordList,
    pub(crate) anybodys_prefixes: WordList,
    pub(crate) logins: WordList,
    pub(crate) no_settings: WordList,
    pub(crate) publishable: WordList,
    pub(crate) nobodys: WordList,
    pub(crate) declares: WordList,
    pub(crate) chosen: WordList,
    pub(crate) says_nothing: WordList,
    pub(crate) made_up: WordList,
    pub(crate) negated: WordList,
    pub(crate) extensions: WordList,
}

/// Words. For [`WordList::has`] case does not matter.
#[derive(Deserialize, derive_more::Deref)]
pub(crate) struct WordList(Vec<String>);

impl WordList {
    /// Returns whether a word is one of these.
    pub(crate) fn has(&self, word: impl AsRef<[u8]>) -> bool {
        self.0.iter().any(|known| word.as_ref().eq_ignore_ascii_case(known.as_bytes()))
    }
}

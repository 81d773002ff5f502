//! One saved edit: where it is made, what it replaces, what it writes.

use std::sync::Arc;

use leafgate_admin::OnDrift;
use leafgate_tree::{Author, Format, LeafKind, Role, SectionKind};
use serde::{Deserialize, Serialize};
use serde_with::SerializeDisplay;

use crate::guard::Guard;
use crate::spelled;

/// The name of a saved edit. The same edit of the same place has the same.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, derive_more::Display, SerializeDisplay, Deserialize,
)]
#[display("{_0}")]
#[serde(try_from = "String")]
pub struct SavedId(Arc<str>);

/// Characters of the longest id.
const LONGEST_ID: usize = 64;

impl SavedId {
    /// Takes letters, digits, `-` and `_`.
    pub fn new(id: &str) -> Option<SavedId> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (!id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(fits)).then(|| SavedId(id.into()))
    }

    /// The id as a word.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn author(&self) -> Author {
        Author::SavedEdit { id: Arc::clone(&self.0) }
    }
}

impl TryFrom<String> for SavedId {
    type Error = &'static str;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        SavedId::new(&id).ok_or(spelled::NO_ID)
    }
}

leafgate_words::words! {
    /// What a saved edit does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum SavedChange {
        /// Gives a leaf another text.
        Set = "set",
        /// Leaves a section out, with what must go with it.
        Delete = "delete",
        /// Puts a message of text directly before another one.
        Insert = "insert",
    }
    /// The word for it.
    pub fn name = 0;
}

/// One saved edit, as its file spells it: where it was made, what it replaces there, and what it does.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Debug)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SavedEdit {
    /// Its name.
    pub id: SavedId,
    /// What it does.
    pub action: SavedChange,
    /// The display path, for people.
    pub path: String,
    /// The format of the request.
    pub format: Format,
    /// RFC 6901, into the received body.
    pub pointer: String,
    /// Role of the message.
    pub role: Role,
    /// Kind of the section: the innermost one of a leaf, or the one that is left out or put before.
    pub section: SectionKind,
    /// Kind of the leaf; `None` where the edit is about the section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf: Option<LeafKind>,
    /// What it replaces there.
    pub replaces: Guard,
    /// What happens where it does not fit.
    #[serde(default)]
    pub on_drift: OnDrift,
    /// When it was saved, as RFC 3339.
    #[serde(with = "spelled::time")]
    pub updated_at: String,
    /// Who speaks in a message that is put in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<Role>,
    /// The text that it writes, redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[debug("{} bytes", text.as_ref().map_or(0, String::len))]
    pub text: Option<String>,
}

impl SavedEdit {
    /// Returns what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match (self.action, &self.text, self.speaker) {
            (SavedChange::Set, Some(_), None)
            | (SavedChange::Delete, None, None)
            | (SavedChange::Insert, Some(_), Some(_)) => {}
            (SavedChange::Set, ..) => return Err("`set` takes `text` and no `speaker`"),
            (SavedChange::Delete, ..) => return Err("`delete` takes neither `text` nor `speaker`"),
            (SavedChange::Insert, ..) => return Err("`insert` takes `text` and `speaker`"),
        }
        match (self.action == SavedChange::Set) == self.leaf.is_some() {
            true => Ok(()),
            false => Err("`leaf` belongs to `set` and to no other action"),
        }
    }

    pub(crate) fn is_insert(&self) -> bool {
        self.action == SavedChange::Insert
    }

    /// Returns the text that it writes.
    pub(crate) fn new_text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

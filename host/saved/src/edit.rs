//! One saved edit: where it is made, what it replaces, what it writes.

use std::fmt;
use std::sync::Arc;

use leafgate_admin::OnDrift;
use leafgate_tree::{Author, Format, LeafKind, Role, SectionKind};

use crate::guard::Guard;

/// The name of a saved edit. The same edit of the same place has the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, derive_more::Display)]
#[display("{_0}")]
pub struct SavedId(Arc<str>);

/// Characters of the longest id.
const LONGEST_ID: usize = 64;

impl SavedId {
    /// Takes letters, digits, `-` and `_`.
    #[must_use]
    pub fn new(id: &str) -> Option<SavedId> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (!id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(fits)).then(|| SavedId(id.into()))
    }

    /// The id as a word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn author(&self) -> Author {
        Author::SavedEdit { id: Arc::clone(&self.0) }
    }
}

/// Where an edit was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPlace {
    /// The format of the request.
    pub format: Format,
    /// Role of the message.
    pub role: Role,
    /// Kind of the section: the innermost one of a leaf, or the one that is left out or put before.
    pub section: SectionKind,
    /// Kind of the leaf; `None` where the edit is about the section.
    pub leaf: Option<LeafKind>,
    /// RFC 6901, into the received body.
    pub pointer: String,
    /// The display path, for people.
    pub path: String,
}

/// What a saved edit does.
#[derive(Clone, PartialEq, Eq)]
pub enum SavedChange {
    /// Gives a leaf another text.
    Set {
        /// The text, redacted.
        text: String,
    },
    /// Leaves a section out, with what must go with it.
    Delete,
    /// Puts a message of text directly before another one.
    Insert {
        /// Who speaks in it.
        role: Role,
        /// Its text, redacted.
        text: String,
    },
}

impl SavedChange {
    /// The word for it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            SavedChange::Set { .. } => "set",
            SavedChange::Delete => "delete",
            SavedChange::Insert { .. } => "insert",
        }
    }

    /// The text that it writes.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            SavedChange::Set { text } | SavedChange::Insert { text, .. } => Some(text),
            SavedChange::Delete => None,
        }
    }
}

impl fmt::Debug for SavedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.name(), self.text().map_or(0, str::len))
    }
}

/// One saved edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedEdit {
    /// Its name.
    pub id: SavedId,
    /// Where it was made.
    pub place: SavedPlace,
    /// What it replaces there.
    pub replaces: Guard,
    /// What it does.
    pub change: SavedChange,
    /// What happens where it does not fit.
    pub on_drift: OnDrift,
    /// When it was saved, as RFC 3339.
    pub updated_at: String,
}

impl SavedEdit {
    pub(crate) fn is_insert(&self) -> bool {
        matches!(self.change, SavedChange::Insert { .. })
    }
}

//! Why an edit was refused.

use crate::journal::Author;
use crate::kinds::ValueType;

/// An edit that was refused. Nothing has changed.
///
/// Whoever is refused decides about each of these. A new one is one decision more, for which the
/// compiler asks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Rules and plugins may not change ids, types, roles and names.
    #[error("the leaf is protected: only a person may change it")]
    Protected,
    /// The API checks a signature over it.
    #[error("the leaf is frozen: the API verifies it, so nobody may change it")]
    Frozen,
    /// Binary media.
    #[error("the leaf is media and cannot be edited as text")]
    Opaque,
    /// An earlier rule pinned it.
    #[error("the leaf is pinned by {by}")]
    Pinned {
        /// Who did.
        by: Author,
    },
    /// A rule keeps it as it is, whoever asks.
    #[error("{by} keeps this as it is")]
    Kept {
        /// Who does.
        by: Author,
    },
    /// Its section is deleted.
    #[error("the section of this leaf is deleted: restore it first")]
    Deleted,
    /// The string around it was set as a whole, and its inner leaves went with what it spelled before.
    #[error("the text around this leaf was set as a whole: edit that text, or undo")]
    Covered,
    /// Nothing is deleted here.
    #[error("the section is not deleted")]
    NotDeleted,
    /// The node is an object or an array.
    #[error("the value is no leaf: only strings, numbers, booleans and null can be set")]
    NotALeaf,
    /// Only messages and tool definitions can be deleted, and no system message.
    #[error("only whole messages and tool definitions can be deleted, and no system messages")]
    NotDeletable,
    /// The format has no list of messages there, or the place lies inside an exchange.
    #[error("no message can be inserted here: {0}")]
    NotInsertable(&'static str),
    /// A number, boolean or null takes no such spelling.
    #[error("the value is a {was}: its new text must be the JSON spelling of a number, a boolean or null")]
    BadScalar {
        /// Its type.
        was: ValueType,
    },
    /// A number cannot hold a replacement that is no number.
    #[error("a {was} cannot hold this replacement")]
    Unredactable {
        /// The leaf's type.
        was: ValueType,
    },
    /// No redaction has this number.
    #[error("the request has no such redaction: name one by the number that the turn shows")]
    NoSuchRedaction,
    /// A rule does not let anybody release what it redacted.
    #[error(
        "{by} keeps this value from leaving: only rules with `releasable = true` let a redaction be released"
    )]
    NotReleasable {
        /// Who does.
        by: Author,
    },
    /// The value was written and not received, or is made up of several.
    #[error(
        "the redacted value did not come as it was found: nothing was received that could leave in its place"
    )]
    NotReceived,
    /// The redaction was released before, or written over.
    #[error("the redaction does not stand any more: it was released already, or its text was edited")]
    NotRedacted,
    /// Ranges overlap, are out of order, outside the text or inside a character.
    #[error(
        "the ranges do not fit the text: they must be sorted, apart, inside it and on character boundaries"
    )]
    BadRange,
}

//! The form in which saved edits are kept: TOML that people can read, change and share.
//!
//! A file that is not exactly this is refused as a whole: an edit that is only half understood
//! could leave something in a request that a person has taken out. Errors name the line and quote
//! nothing, since texts of requests stand in the file.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use leafgate_admin::OnDrift;
use leafgate_tree::{Format, LeafKind, Role, SectionKind};
use serde::{Deserialize, Serialize};

use crate::edit::{SavedChange, SavedEdit, SavedId, SavedPlace};
use crate::guard::Guard;

/// The version of the form.
const VERSION: u32 = 1;

/// How many edits one file may have. Each is looked for in every request.
pub const MAX_EDITS: usize = 256;

/// The saved edits of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedFile {
    /// What the key of the guards derives from; `None` for the key of the installation. A file that
    /// is shared has its own.
    pub key: Option<String>,
    /// The folder that it is for.
    pub workspace: Option<String>,
    /// The edits, oldest first.
    pub edits: Vec<SavedEdit>,
}

/// Why a file cannot be used. It quotes nothing of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedFileError {
    /// It is no TOML, or has other keys or values than this form.
    #[error("line {line}: {what}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what to do.
        what: &'static str,
    },
    /// A newer leafgate wrote it.
    #[error("it has version {found}, and this leafgate reads version {VERSION}: use a newer one")]
    Version {
        /// The version that it has.
        found: u32,
    },
    /// One of its edits is none.
    #[error("edit {number}: {what}")]
    Edit {
        /// Which of them, from 1.
        number: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// It has too many edits.
    #[error("it has {found} edits, and {MAX_EDITS} are the most: remove some")]
    TooMany {
        /// How many it has.
        found: usize,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawSavedFile {
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    #[serde(default, rename = "edit")]
    edits: Vec<RawSavedEdit>,
}

/// An edit as the file spells it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawSavedEdit {
    id: String,
    action: SavedAction,
    path: String,
    format: String,
    pointer: String,
    role: Role,
    section: SectionKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    leaf: Option<LeafKind>,
    replaces: String,
    #[serde(default)]
    on_drift: OnDrift,
    updated_at: toml::value::Datetime,
    /// Who speaks in a message that is put in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    speaker: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SavedAction {
    Set,
    Delete,
    Insert,
}

const HEAD: &str = "\
# Edits that a person saved (`leafgate saved`). Redacted values stand here as tokens or masks.
# What an edit replaces is kept as a digest: a changed place is reported, never guessed.

";

impl SavedFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it is not this form, with the line or the number of the edit.
    pub fn parse(text: &str) -> Result<SavedFile, SavedFileError> {
        let raw: RawSavedFile = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
            let what = "not what `leafgate saved` writes: a key or value is unknown, missing or misspelled";
            SavedFileError::Malformed { line, what }
        })?;
        if raw.version != VERSION {
            return Err(SavedFileError::Version { found: raw.version });
        }
        if raw.edits.len() > MAX_EDITS {
            return Err(SavedFileError::TooMany { found: raw.edits.len() });
        }
        let mut ids = BTreeSet::new();
        let mut edits = Vec::with_capacity(raw.edits.len());
        for (number, raw) in (1..).zip(raw.edits) {
            let edit = raw.checked().map_err(|what| SavedFileError::Edit { number, what })?;
            if !ids.insert(edit.id.clone()) {
                return Err(SavedFileError::Edit { number, what: "another edit has the same id" });
            }
            edits.push(edit);
        }
        Ok(SavedFile { key: raw.key, workspace: raw.workspace, edits })
    }

    /// Spells the file.
    ///
    /// # Panics
    /// Never: what is spelled here is always TOML.
    #[must_use]
    pub fn spell(&self) -> String {
        let raw = RawSavedFile {
            version: VERSION,
            key: self.key.clone(),
            workspace: self.workspace.clone(),
            edits: self.edits.iter().map(RawSavedEdit::of).collect(),
        };
        let mut text = HEAD.to_owned();
        let body = toml::to_string_pretty(&raw).expect("strings, numbers and times are always TOML");
        let _ = write!(text, "{body}");
        text
    }

    /// Puts edits in. One with the id of another replaces it.
    ///
    /// # Errors
    /// [`SavedFileError::TooMany`]; nothing has changed then.
    pub fn put(&mut self, edits: &[SavedEdit]) -> Result<(), SavedFileError> {
        let kept: Vec<_> =
            self.edits.iter().filter(|kept| edits.iter().all(|new| new.id != kept.id)).cloned().collect();
        let found = kept.len() + edits.len();
        if found > MAX_EDITS {
            return Err(SavedFileError::TooMany { found });
        }
        self.edits = kept;
        self.edits.extend_from_slice(edits);
        Ok(())
    }

    /// Removes an edit. Returns whether there was one.
    pub fn remove(&mut self, id: &str) -> bool {
        let before = self.edits.len();
        self.edits.retain(|edit| edit.id.as_str() != id);
        self.edits.len() < before
    }
}

impl RawSavedEdit {
    fn of(edit: &SavedEdit) -> RawSavedEdit {
        let SavedEdit { id, place, replaces, change, on_drift, updated_at } = edit;
        let epoch = || "1970-01-01T00:00:00Z".parse().expect("it is a time");
        RawSavedEdit {
            id: id.to_string(),
            action: match change {
                SavedChange::Set { .. } => SavedAction::Set,
                SavedChange::Delete => SavedAction::Delete,
                SavedChange::Insert { .. } => SavedAction::Insert,
            },
            path: place.path.clone(),
            format: place.format.name().to_owned(),
            pointer: place.pointer.clone(),
            role: place.role,
            section: place.section,
            leaf: place.leaf,
            replaces: replaces.to_string(),
            on_drift: *on_drift,
            updated_at: updated_at.parse().unwrap_or_else(|_| epoch()),
            speaker: match change {
                SavedChange::Insert { role, .. } => Some(*role),
                SavedChange::Set { .. } | SavedChange::Delete => None,
            },
            text: change.text().map(str::to_owned),
        }
    }

    fn checked(self) -> Result<SavedEdit, &'static str> {
        let change = match (self.action, self.text, self.speaker) {
            (SavedAction::Set, Some(text), None) => SavedChange::Set { text },
            (SavedAction::Delete, None, None) => SavedChange::Delete,
            (SavedAction::Insert, Some(text), Some(role)) => SavedChange::Insert { role, text },
            (SavedAction::Set, ..) => return Err("`set` takes `text` and no `speaker`"),
            (SavedAction::Delete, ..) => return Err("`delete` takes neither `text` nor `speaker`"),
            (SavedAction::Insert, ..) => return Err("`insert` takes `text` and `speaker`"),
        };
        if matches!(change, SavedChange::Set { .. }) != self.leaf.is_some() {
            return Err("`leaf` belongs to `set` and to no other action");
        }
        Ok(SavedEdit {
            id: SavedId::new(&self.id).ok_or("`id` is up to 64 letters, digits, `-` and `_`")?,
            place: SavedPlace {
                format: Format::from_name(&self.format).ok_or("`format` is none that leafgate knows")?,
                role: self.role,
                section: self.section,
                leaf: self.leaf,
                pointer: self.pointer,
                path: self.path,
            },
            replaces: Guard::parse(&self.replaces).ok_or("`replaces` is 32 hexadecimal digits")?,
            change,
            on_drift: self.on_drift,
            updated_at: self.updated_at.to_string(),
        })
    }
}

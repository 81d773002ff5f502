//! The form in which saved edits are kept: TOML that people can read, change and share.
//!
//! A file that is not exactly this is refused as a whole: an edit that is only half understood
//! could leave something in a request that a person has taken out. Errors name the line and quote
//! nothing, since texts of requests stand in the file.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::edit::SavedEdit;
use crate::spelled::{NO_FORMAT, NO_GUARD, NO_ID};

/// The version of the form.
const VERSION: u32 = 1;

/// How many edits one file may have. Each is looked for in every request.
pub const MAX_EDITS: usize = 256;

/// The saved edits of one file, as it spells them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SavedFile {
    /// The version of its form.
    pub version: u32,
    /// What the key of the guards derives from; `None` for the key of the installation. A file that
    /// is shared has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The folder that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The edits, oldest first.
    #[serde(default, rename = "edit")]
    pub edits: Vec<SavedEdit>,
}

impl Default for SavedFile {
    fn default() -> Self {
        SavedFile { version: VERSION, key: None, workspace: None, edits: Vec::new() }
    }
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
        let file: SavedFile = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
            // Whatever else the error says may quote the file.
            let ours = [NO_ID, NO_GUARD, NO_FORMAT].into_iter().find(|&ours| error.message() == ours);
            let unknown =
                "not what `leafgate saved` writes: a key or value is unknown, missing or misspelled";
            SavedFileError::Malformed { line, what: ours.unwrap_or(unknown) }
        })?;
        if file.version != VERSION {
            return Err(SavedFileError::Version { found: file.version });
        }
        if file.edits.len() > MAX_EDITS {
            return Err(SavedFileError::TooMany { found: file.edits.len() });
        }
        let mut ids = BTreeSet::new();
        for (number, edit) in (1..).zip(&file.edits) {
            edit.check().map_err(|what| SavedFileError::Edit { number, what })?;
            if !ids.insert(&edit.id) {
                return Err(SavedFileError::Edit { number, what: "another edit has the same id" });
            }
        }
        Ok(file)
    }

    /// Spells the file.
    ///
    /// # Panics
    /// Never: what is spelled here is always TOML.
    pub fn spell(&self) -> String {
        let body = toml::to_string_pretty(self).expect("strings, numbers and times are always TOML");
        format!("{HEAD}{body}")
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

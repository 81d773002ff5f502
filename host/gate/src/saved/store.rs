//! Where saved edits are kept that outlive a conversation.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;

use leafgate_admin::{OnDrift, SavedScope};
use leafgate_saved::{SavedEdit, ScopeEdits};
use serde::{Deserialize, Serialize};

/// How many sections a capture may show first.
pub const PREVIEW_LIMITS: RangeInclusive<usize> = 1..=10;

/// How edits are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SavedSettings {
    /// Where captured edits are saved.
    pub scope: SavedScope,
    /// How many sections a capture shows first, within [`PREVIEW_LIMITS`].
    pub preview_limit: usize,
    /// What edits want that are saved from now on.
    pub on_drift: OnDrift,
}

/// What a store has at one moment.
#[derive(Debug, Default)]
pub struct SavedFiles {
    /// The edits, those that win first.
    pub layers: Vec<ScopeEdits>,
    /// How edits are saved.
    pub settings: SavedSettings,
    /// The folder that the gate runs for.
    pub workspace: Option<String>,
    /// Files that are not used, and why.
    pub problems: Vec<String>,
}

/// Keeps saved edits. Several gates may share what it keeps.
pub trait SavedStore: Send + Sync {
    /// What there is now. The very same value as long as nothing has changed; it is asked for each
    /// request, so finding that out must be cheap.
    fn read(&self) -> Arc<SavedFiles>;

    /// Saves edits. Once this returns, they are found again whatever happens to the process.
    ///
    /// # Errors
    /// Where they cannot be kept: nothing has changed then.
    fn put(&self, scope: SavedScope, edits: &[SavedEdit]) -> io::Result<()>;

    /// Removes an edit from every scope. Returns whether there was one.
    ///
    /// # Errors
    /// Where it cannot be removed.
    fn remove(&self, id: &str) -> io::Result<bool>;

    /// Removes all edits of a scope.
    ///
    /// # Errors
    /// Where they cannot be removed.
    fn clear(&self, scope: SavedScope) -> io::Result<()>;

    /// Keeps settings.
    ///
    /// # Errors
    /// Where they cannot be kept.
    fn set(&self, settings: SavedSettings) -> io::Result<()>;
}

//! What clients keep of conversations in the user's own folders: a trial leaves none there.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::client::KnownClient;

/// How deep a conversation lies at most: Codex has a folder for each day.
const DEPTH: usize = 6;

/// The files of a client's history before a trial.
pub(super) struct ClientHistory {
    folders: Vec<PathBuf>,
    before: HashSet<PathBuf>,
}

impl ClientHistory {
    pub(super) fn of(known: &KnownClient) -> Self {
        let home = known.home.folders();
        let folders: Vec<_> =
            home.iter().flat_map(|home| known.history.iter().map(|within| home.join(within))).collect();
        let before = files(&folders).into_iter().collect();
        ClientHistory { folders, before }
    }

    /// Removes the conversations that have come since and ask this. What a user's own client began meanwhile stays.
    pub(super) fn forget(self, question: &str) {
        for file in files(&self.folders) {
            let is_of_trial = || fs::read(&file).is_ok_and(|text| holds(&text, question.as_bytes()));
            if !self.before.contains(&file) && is_of_trial() && fs::remove_file(&file).is_ok() {
                self.remove_empty_around(&file);
            }
        }
    }

    /// Removes the folders that nothing is left in.
    fn remove_empty_around(&self, file: &Path) {
        let around =
            file.ancestors().skip(1).take_while(|folder| !self.folders.iter().any(|top| top == folder));
        // The first one in which something is left ends it.
        let _ = around.map(fs::remove_dir).find(Result::is_err);
    }
}

fn holds(text: &[u8], words: &[u8]) -> bool {
    text.windows(words.len()).any(|window| window == words)
}

/// Returns all files below some folders; links are not followed.
fn files(folders: &[PathBuf]) -> Vec<PathBuf> {
    let entries = folders.iter().flat_map(|folder| WalkDir::new(folder).max_depth(DEPTH + 1)).flatten();
    entries.filter(|entry| entry.file_type().is_file()).map(DirEntry::into_path).collect()
}

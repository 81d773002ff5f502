//! The files that a profile names, each read once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use leafgate_assemble::{FileFault, Files, ListedEntry};

use super::below::FolderFiles;

/// Files that are read once: whoever asks again gets what was there the first time, errors too. So
/// what a turn is made of does not change while its tools run.
#[derive(derive_more::Debug)]
#[debug("{} bytes of files", self.bytes())]
pub struct ReadOnce {
    files: FolderFiles,
    seen: Mutex<SeenFile>,
}

#[derive(Default)]
struct SeenFile {
    files: BTreeMap<String, Result<Vec<u8>, FileFault>>,
    lists: BTreeMap<(String, usize, usize), Result<Vec<ListedEntry>, FileFault>>,
    bytes: usize,
}

impl ReadOnce {
    /// Wraps files of which none was read yet.
    pub fn new(files: FolderFiles) -> Self {
        ReadOnce { files, seen: Mutex::default() }
    }

    /// Returns the bytes that it remembers.
    pub fn bytes(&self) -> usize {
        self.seen().bytes
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, SeenFile> {
        // Every change is one call, so a panic elsewhere leaves it whole.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files for ReadOnce {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileFault> {
        let mut seen = self.seen();
        if let Some(read) = seen.files.get(path) {
            return read.clone();
        }
        let read = self.files.read(path);
        seen.bytes += path.len() + read.as_ref().map_or(0, Vec::len);
        seen.files.insert(path.to_owned(), read.clone());
        read
    }

    fn list(&self, folder: &str, depth: usize, most: usize) -> Result<Vec<ListedEntry>, FileFault> {
        let asked = (folder.to_owned(), depth, most);
        let mut seen = self.seen();
        if let Some(listed) = seen.lists.get(&asked) {
            return listed.clone();
        }
        let listed = self.files.list(folder, depth, most);
        let size = |entries: &Vec<ListedEntry>| entries.iter().map(|entry| entry.path.len()).sum();
        seen.bytes += listed.as_ref().map_or(0, size);
        seen.lists.insert(asked, listed.clone());
        listed
    }
}

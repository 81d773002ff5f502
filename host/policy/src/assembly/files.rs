//! The files that a profile names.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use leafgate_assemble::{FileFault, Files, ListedEntry};
use leafgate_folder::{Below, BelowError};

/// The files below a profile's folder, as they are on disk.
#[derive(Clone, Debug)]
pub struct FolderFiles(Below);

impl FolderFiles {
    pub(crate) fn new(root: &Path, limit: u64) -> Self {
        FolderFiles(Below::new(root, limit))
    }
}

impl Files for FolderFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileFault> {
        self.0.read(path).map_err(fault)
    }

    fn list(&self, folder: &str, depth: usize, most: usize) -> Result<Vec<ListedEntry>, FileFault> {
        let listed = self.0.list(folder, depth, most).map_err(fault)?;
        Ok(listed
            .into_iter()
            .map(|entry| ListedEntry { path: entry.path, is_folder: entry.is_folder })
            .collect())
    }
}

fn fault(error: BelowError) -> FileFault {
    match error {
        BelowError::Outside => FileFault::Outside,
        BelowError::Missing => FileFault::Missing,
        BelowError::Link => FileFault::Link,
        BelowError::Kind => FileFault::NoFile,
        BelowError::TooLarge { limit } => FileFault::TooLarge { limit },
        BelowError::Io(_) => FileFault::Unreadable,
    }
}

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
    #[must_use]
    pub fn new(files: FolderFiles) -> Self {
        ReadOnce { files, seen: Mutex::default() }
    }

    /// Returns the bytes that it remembers.
    #[must_use]
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

//! What a policy folder holds at one moment.

use std::fmt;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Below a policy folder, deeper folders and more files than this are no policy.
const MAX_DEPTH: usize = 6;
const MAX_FILES: usize = 10_000;

/// The content of a folder's rule files (`*.toml`) and components (`*.wasm`), as a digest.
///
/// Hidden files and folders do not count: editors and deployments keep their own things there.
#[derive(Clone)]
pub struct Snapshot {
    content: Option<[u8; 32]>,
    signature: Vec<(PathBuf, Option<Stamp>)>,
}

impl Snapshot {
    /// Reads the folder. One that is not there, or cannot be read, is a snapshot of its own.
    #[must_use]
    pub fn take(folder: &Path) -> Snapshot {
        let Some(files) = files(folder) else { return Snapshot { content: None, signature: Vec::new() } };
        let mut hash = Sha256::new();
        let signature = signature(&files);
        for file in &files {
            let name = file.strip_prefix(folder).unwrap_or(file).as_os_str().as_encoded_bytes();
            // A file that vanishes between listing and reading differs from an empty one.
            let content = std::fs::read(file).ok();
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
            hash.update(content.as_ref().map_or(u64::MAX, |content| content.len() as u64).to_le_bytes());
            hash.update(content.unwrap_or_default());
        }
        Snapshot { content: Some(hash.finalize().into()), signature }
    }

    /// Whether the folder is there.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.content.is_some()
    }

    /// Whether names, sizes and times are what they were: reason enough not to read everything again without an event.
    pub(crate) fn looks_the_same(&self, folder: &Path) -> bool {
        files(folder).map(|files| signature(&files)).unwrap_or_default() == self.signature
    }
}

impl PartialEq for Snapshot {
    /// By content alone: a file that was saved again unchanged is no change.
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl Eq for Snapshot {}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.content {
            Some(digest) => {
                write!(f, "Snapshot({:02x}{:02x}{:02x}{:02x})", digest[0], digest[1], digest[2], digest[3])
            }
            None => f.write_str("Snapshot(no folder)"),
        }
    }
}

/// Size and time of a file.
type Stamp = (u64, Option<std::time::SystemTime>);

fn signature(files: &[PathBuf]) -> Vec<(PathBuf, Option<Stamp>)> {
    let stamp = |metadata: Metadata| (metadata.len(), metadata.modified().ok());
    files.iter().map(|file| (file.clone(), std::fs::metadata(file).ok().map(stamp))).collect()
}

/// The files that count, in name order; `None` if the folder cannot be read. Symlinks are followed.
fn files(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(folder, MAX_DEPTH, &mut found).ok()?;
    found.sort();
    Some(found)
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if hidden || found.len() >= MAX_FILES {
            continue;
        }
        if path.is_dir() {
            if depth > 1 {
                // A folder below that cannot be read holds nothing that the policy could read.
                let _ = collect(&path, depth - 1, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "toml" || extension == "wasm") {
            found.push(path);
        }
    }
    Ok(())
}

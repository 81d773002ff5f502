//! The content of a policy folder at one moment.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use leafgate_folder::{Listing, Reason, Stamp};
use sha2::{Digest, Sha256};

/// Most content that one look reads. For files beyond it, their stamps stand for the content: a
/// folder of gigabytes must not keep a disk busy, and the loader refuses files that are larger than
/// a plugin can be.
const MAX_READ: u64 = 256 << 20;

/// The files of a folder that count, as a digest of their content, and the names of the files that
/// are ignored.
///
/// [`leafgate_folder::list`] decides which files count, for the loader too.
#[derive(Clone)]
pub struct Snapshot {
    content: Option<[u8; 32]>,
    signature: Signature,
    /// Whether the folder of tests belongs to it.
    with_tests: bool,
}

/// The files that count, as they look without being read.
type Signature = Vec<(PathBuf, Option<Stamp>)>;

impl Snapshot {
    /// Reads the folder. A missing or unreadable folder is a snapshot of its own.
    pub fn take(folder: &Path) -> Snapshot {
        Snapshot::take_within(folder, false, MAX_READ)
    }

    /// Reads the folder and its tests, for whoever loads nothing that fails them.
    pub fn take_with_tests(folder: &Path) -> Snapshot {
        Snapshot::take_within(folder, true, MAX_READ)
    }

    /// Reads the folder again, as this one was taken.
    pub(crate) fn again(&self, folder: &Path) -> Snapshot {
        Snapshot::take_within(folder, self.with_tests, MAX_READ)
    }

    fn take_within(folder: &Path, with_tests: bool, max_read: u64) -> Snapshot {
        let Ok(listing) = leafgate_folder::list(folder) else {
            return Snapshot { content: None, signature: Vec::new(), with_tests };
        };
        let tests = tests(folder, with_tests);
        let signature = signature(&listing, &tests);
        let mut digest = FolderDigest { hash: Sha256::new(), left: max_read };
        for passed in &listing.passed_over {
            digest.part(passed.reason.to_string().as_bytes());
            digest.part(name(folder, &passed.path));
            // A detector may name it: rules of another scanner.
            if passed.reason == Reason::Subfolder {
                digest.content(&passed.path);
            }
        }
        for file in listing.rules.iter().chain(&listing.components).chain(&listing.words).chain(&tests) {
            digest.part(name(folder, file));
            digest.content(file);
        }
        Snapshot { content: Some(digest.hash.finalize().into()), signature, with_tests }
    }

    /// Returns true if names and stamps are unchanged, so that a look without an event need
    /// not read everything again.
    pub(crate) fn looks_the_same(&self, folder: &Path) -> bool {
        let listed = leafgate_folder::list(folder);
        let tests = tests(folder, self.with_tests);
        listed.map(|listing| signature(&listing, &tests)).unwrap_or_default() == self.signature
    }
}

impl PartialEq for Snapshot {
    /// Compares the content alone: a file that was saved again unchanged is no change.
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl Eq for Snapshot {}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.content {
            Some(digest) => {
                write!(f, "Snapshot({})", base16ct::lower::encode_string(&digest[..4]))
            }
            None => f.write_str("Snapshot(no folder)"),
        }
    }
}

/// A digest in progress, and how much may still be read for it.
struct FolderDigest {
    hash: Sha256,
    left: u64,
}

impl FolderDigest {
    /// Adds bytes with their length, which separates neighbours.
    fn part(&mut self, bytes: &[u8]) {
        self.hash.update((bytes.len() as u64).to_le_bytes());
        self.hash.update(bytes);
    }

    /// Adds the content of a file. A file that vanishes between listing and reading differs from an
    /// empty one.
    fn content(&mut self, path: &Path) {
        let Ok(mut file) = leafgate_folder::open(path) else { return self.part(b"unreadable") };
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        let mut size = 0;
        while self.left > 0 {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    hash.update(&buffer[..read]);
                    size += read as u64;
                    self.left = self.left.saturating_sub(read as u64);
                }
                Err(_) => return self.part(b"unreadable"),
            }
        }
        self.part(&size.to_le_bytes());
        self.part(&hash.finalize());
        if self.left == 0 {
            self.part(format!("{:?}", Stamp::at(path)).as_bytes());
        }
    }
}

fn name<'p>(folder: &Path, file: &'p Path) -> &'p [u8] {
    file.strip_prefix(folder).unwrap_or(file).as_os_str().as_encoded_bytes()
}

/// The files of tests. A folder of them that cannot be read holds none: whoever needs them says so.
fn tests(folder: &Path, with_tests: bool) -> Vec<PathBuf> {
    match with_tests {
        true => leafgate_folder::list_tests(&leafgate_folder::tests_of(folder)).unwrap_or_default(),
        false => Vec::new(),
    }
}

fn signature(listing: &Listing, tests: &[PathBuf]) -> Signature {
    let passed = listing.passed_over.iter().map(|passed| &passed.path);
    let files =
        listing.rules.iter().chain(&listing.components).chain(&listing.words).chain(tests).chain(passed);
    files.map(|file| (file.clone(), Stamp::at(file))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_allowed_and_a_change_beyond_it_is_seen_by_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("large.wasm");
        let take = || Snapshot::take_within(folder.path(), false, 4);
        std::fs::write(&file, [0; 100_000]).unwrap();
        let before = take();
        assert_eq!(before, take());
        std::fs::write(&file, [0; 100_001]).unwrap();
        assert_ne!(before, take());
    }
}

//! What tells that a file has changed, without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Device, inode, size and times of a file. Whatever way somebody saves, one of them changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Returns the stamp of a file that is known already.
    pub fn of(about: &Metadata) -> Stamp {
        Stamp {
            file: (about.dev(), about.ino()),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    /// Returns the stamp of what is at a path, links followed; `None` where nothing can be seen.
    pub fn at(path: &Path) -> Option<Stamp> {
        Some(Stamp::of(&path.metadata().ok()?))
    }
}

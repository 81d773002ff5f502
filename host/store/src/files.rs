//! Whether what a writer has open is still what stands in the folder of the log.
//!
//! A file that was removed, or replaced by a copy, takes every write for as long as it is open, and
//! gives nothing back. A writer therefore looks at each commit.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The database and what SQLite writes beside it.
const ENDS: [&str; 3] = ["", "-wal", "-shm"];

/// A file as the system knows it: device and inode.
type Identity = (u64, u64);

/// The files of a log that is open.
#[derive(Debug)]
pub(crate) struct LogFiles {
    /// Those beside the database are there from the first write on.
    files: [(PathBuf, Option<Identity>); ENDS.len()],
}

impl LogFiles {
    /// Returns the files of a database that was opened just now.
    pub(crate) fn at(database: &Path) -> io::Result<LogFiles> {
        let files = ENDS.map(|end| {
            let mut path = database.as_os_str().to_owned();
            path.push(end);
            (PathBuf::from(path), None)
        });
        let mut files = LogFiles { files };
        files.files[0].1 = Some(identity(database)?);
        Ok(files)
    }

    /// Returns the first file that is no longer the one that was opened.
    pub(crate) fn lost(&mut self) -> Option<&Path> {
        for (path, known) in &mut self.files {
            let now = identity(path).ok();
            let known = known.get_or_insert_with(|| now.unwrap_or_default());
            if now != Some(*known) {
                return Some(path);
            }
        }
        None
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|about| (about.dev(), about.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_or_another_one_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = |end: &str| folder.path().join(format!("log.db{end}"));
        let write = |end: &str| fs::write(path(end), "x").unwrap();
        ENDS.iter().for_each(|end| write(end));
        let opened = || {
            let mut files = LogFiles::at(&path("")).unwrap();
            assert_eq!(files.lost(), None);
            files
        };
        for end in ENDS {
            let mut files = opened();
            // Open as a database is, so that its number is given to no other file.
            let _open = fs::File::open(path(end)).unwrap();
            fs::remove_file(path(end)).unwrap();
            assert_eq!(files.lost(), Some(&*path(end)));
            fs::write(path(".copy"), "x").unwrap();
            fs::rename(path(".copy"), path(end)).unwrap();
            assert_eq!(files.lost(), Some(&*path(end)), "another file by its name");
        }
    }
}

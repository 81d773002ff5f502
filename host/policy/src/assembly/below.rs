//! Files below a folder that may be written by others: notes, a vault, a checkout.
//!
//! Each part of a path is opened from the folder before it, and no part may be a symbolic link. So
//! no name leads outside, and none does that somebody changes while it is read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use leafgate_assemble::{FileFault, Files, ListedEntry, check_path};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Names that are looked at in one folder. One with more is no folder of documents.
const MAX_NAMES: usize = 50_000;

/// The files below a profile's folder, each read once: whoever asks again gets what was there the first
/// time, errors too. So what a turn is made of does not change while its tools run.
#[derive(derive_more::Debug)]
#[debug("{} bytes of files", self.bytes())]
pub struct FolderFiles {
    root: PathBuf,
    limit: u64,
    seen: Mutex<ReadSoFar>,
}

#[derive(Default)]
struct ReadSoFar {
    files: BTreeMap<String, Result<Vec<u8>, FileFault>>,
    lists: BTreeMap<(String, usize, usize), Result<Vec<ListedEntry>, FileFault>>,
    bytes: usize,
}

impl Files for FolderFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileFault> {
        let mut seen = self.seen();
        if let Some(read) = seen.files.get(path) {
            return read.clone();
        }
        let read = self.read_now(path);
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
        let listed = self.list_now(folder, depth, most);
        let size = |entries: &Vec<ListedEntry>| entries.iter().map(|entry| entry.path.len()).sum();
        seen.bytes += listed.as_ref().map_or(0, size);
        seen.lists.insert(asked, listed.clone());
        listed
    }
}

impl FolderFiles {
    /// A folder of which files of at most `limit` bytes are read. Its own path may lead over links.
    pub(crate) fn new(root: &Path, limit: u64) -> Self {
        FolderFiles { root: root.to_owned(), limit, seen: Mutex::default() }
    }

    /// Returns the bytes that it remembers.
    pub fn bytes(&self) -> usize {
        self.seen().bytes
    }

    fn seen(&self) -> MutexGuard<'_, ReadSoFar> {
        // Every change is one call, so a panic elsewhere leaves it whole.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a regular file. A larger one is refused before any of it is read.
    fn read_now(&self, path: &str) -> Result<Vec<u8>, FileFault> {
        let parts = parts(path)?;
        let (name, folders) = parts.split_last().ok_or(FileFault::Outside)?;
        let folder = self.folder(folders)?;
        // Opening alone has effects on some devices.
        if kind(&folder, name)? != FileType::RegularFile {
            return Err(FileFault::NoFile);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, *name, flags, Mode::empty()).map_err(refused)?;
        let file = File::from(file);
        let metadata = file.metadata().map_err(|_| FileFault::Unreadable)?;
        // Another file may stand there by now.
        if !metadata.is_file() {
            return Err(FileFault::NoFile);
        }
        let too_large = FileFault::TooLarge { limit: self.limit };
        if metadata.len() > self.limit {
            return Err(too_large);
        }
        let mut bytes = Vec::new();
        file.take(self.limit + 1).read_to_end(&mut bytes).map_err(|_| FileFault::Unreadable)?;
        if bytes.len() as u64 > self.limit { Err(too_large) } else { Ok(bytes) }
    }

    /// Lists files and folders: each folder by name, and before what is in it. Links, devices and names with a dot
    /// in front are left out.
    fn list_now(&self, folder: &str, depth: usize, most: usize) -> Result<Vec<ListedEntry>, FileFault> {
        let parts = if folder.is_empty() { Vec::new() } else { parts(folder)? };
        let mut found = Vec::new();
        list_into(&self.folder(&parts)?, folder, depth, most, &mut found)?;
        Ok(found)
    }

    /// Opens a folder, part by part.
    fn folder(&self, parts: &[&str]) -> Result<OwnedFd, FileFault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = rustix::fs::openat(CWD, &self.root, flags, Mode::empty()).map_err(refused)?;
        for part in parts {
            folder = open_folder(&folder, part)?;
        }
        Ok(folder)
    }
}

fn open_folder(above: &OwnedFd, name: &str) -> Result<OwnedFd, FileFault> {
    if kind(above, name)? != FileType::Directory {
        return Err(FileFault::NoFile);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, name, flags, Mode::empty()).map_err(refused)
}

/// What stands under a name; a link is refused.
fn kind(folder: &OwnedFd, name: &str) -> Result<FileType, FileFault> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(refused)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Err(FileFault::Link),
        kind => Ok(kind),
    }
}

fn list_into(
    folder: &OwnedFd,
    path: &str,
    depth: usize,
    most: usize,
    found: &mut Vec<ListedEntry>,
) -> Result<(), FileFault> {
    if depth == 0 {
        return Ok(());
    }
    for name in names(folder)? {
        if found.len() >= most {
            return Ok(());
        }
        let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        match kind(folder, &name) {
            Ok(FileType::RegularFile) => found.push(ListedEntry { path, is_folder: false }),
            Ok(FileType::Directory) => {
                found.push(ListedEntry { path: path.clone(), is_folder: true });
                // One that nobody may read, or that is gone again, has nothing in it.
                if let Ok(inside) = open_folder(folder, &name) {
                    list_into(&inside, &path, depth - 1, most, found)?;
                }
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// The names in a folder, sorted, without those that are hidden or could not be asked for.
fn names(folder: &OwnedFd) -> Result<Vec<String>, FileFault> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder).map_err(refused)? {
        let entry = entry.map_err(refused)?;
        let name = entry.file_name().to_str().ok().filter(|name| !name.starts_with('.'));
        names.extend(name.filter(|name| parts(name).is_ok()).map(str::to_owned));
        if names.len() > MAX_NAMES {
            return Err(FileFault::Unreadable);
        }
    }
    names.sort();
    Ok(names)
}

/// The parts of a path that stays below its folder whatever system it is read on.
fn parts(path: &str) -> Result<Vec<&str>, FileFault> {
    check_path(path)?;
    Ok(path.split('/').collect())
}

fn refused(errno: Errno) -> FileFault {
    match errno {
        Errno::NOENT => FileFault::Missing,
        Errno::LOOP => FileFault::Link,
        Errno::NOTDIR => FileFault::NoFile,
        _ => FileFault::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["notes", "notes/deep", "notes/.git", "outside"] {
            fs::create_dir(path(folder)).unwrap();
        }
        for file in ["notes/b.md", "notes/a.md", "notes/deep/c.md", "notes/.git/config", "outside/secret"] {
            fs::write(path(file), "12345").unwrap();
        }
        symlink(path("outside/secret"), path("notes/link.md")).unwrap();
        symlink(path("outside"), path("notes/away")).unwrap();
        root
    }

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let root = folder();
        let below = |limit| FolderFiles::new(&root.path().join("notes"), limit);
        assert_eq!(below(5).read("a.md").unwrap(), b"12345");
        assert_eq!(below(5).read("deep/c.md").unwrap(), b"12345");
        assert!(matches!(below(4).read("a.md"), Err(FileFault::TooLarge { limit: 4 })));
        assert!(matches!(below(5).read("none.md"), Err(FileFault::Missing)));
    }

    #[test]
    fn no_name_and_no_link_leads_outside() {
        let root = folder();
        let below = FolderFiles::new(&root.path().join("notes"), 100);
        for path in
            ["../outside/secret", "deep/../a.md", "/etc/passwd", "", "a.md/", ".", "a\\b", "c:a", "a\0"]
        {
            assert!(matches!(below.read(path), Err(FileFault::Outside)), "{path:?}");
        }
        for path in ["link.md", "away/secret"] {
            assert!(matches!(below.read(path), Err(FileFault::Link)), "{path:?}");
        }
        assert!(matches!(below.list("away", 1, 9), Err(FileFault::Link)));
        assert!(matches!(below.list("..", 1, 9), Err(FileFault::Outside)));
    }

    #[test]
    fn a_huge_file_is_refused_before_it_is_read_and_a_pipe_without_waiting() {
        let root = folder();
        let huge = fs::File::create(root.path().join("huge")).unwrap();
        huge.set_len(1 << 30).unwrap();
        let made = std::process::Command::new("mkfifo").arg(root.path().join("pipe")).status().unwrap();
        assert!(made.success());
        let below = FolderFiles::new(root.path(), 1 << 20);
        assert!(matches!(below.read("huge"), Err(FileFault::TooLarge { limit: 1_048_576 })));
        assert!(matches!(below.read("pipe"), Err(FileFault::NoFile)));
        assert!(matches!(below.read("notes"), Err(FileFault::NoFile)));
        assert!(matches!(below.read("notes/a.md/x"), Err(FileFault::NoFile)));
    }

    #[test]
    fn a_list_is_sorted_and_has_neither_links_nor_hidden_names() {
        let root = folder();
        let below = FolderFiles::new(root.path(), 100);
        let paths = |depth, most| -> Vec<String> {
            below.list("notes", depth, most).unwrap().into_iter().map(|entry| entry.path).collect()
        };
        assert_eq!(paths(1, 9), ["notes/a.md", "notes/b.md", "notes/deep"]);
        assert_eq!(paths(2, 9), ["notes/a.md", "notes/b.md", "notes/deep", "notes/deep/c.md"]);
        assert_eq!(paths(2, 2), ["notes/a.md", "notes/b.md"]);
        assert_eq!(below.list("", 1, 9).unwrap().len(), 2);
    }
}

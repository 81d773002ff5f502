//! The texts of files and folders, one after the other.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::request;

/// A NUL this near to its beginning says that a file is no text, as `grep` and `git` judge.
const LOOKED_AT: u64 = 8 << 10;

/// A walk over what was named. Links in folders are not followed, and what is neither a file nor a
/// folder is not opened there.
pub(super) struct ScanFiles {
    /// What is still to be read, the next one last; true where it was named.
    waiting: Vec<(PathBuf, bool)>,
    /// Files of folders that hold no text.
    pub(super) binary: usize,
    /// What could not be read, and why.
    pub(super) unread: Vec<String>,
}

impl ScanFiles {
    pub(super) fn new(named: &[PathBuf]) -> Self {
        let waiting = named.iter().rev().map(|path| (path.clone(), true)).collect();
        Self { waiting, binary: 0, unread: Vec::new() }
    }

    /// Gives the next text with its name.
    pub(super) fn next_text(&mut self) -> Option<(String, Box<dyn Read>)> {
        while let Some((path, named)) = self.waiting.pop() {
            match self.open(&path, named) {
                Ok(Some(text)) => return Some((request::name(Some(&path)), text)),
                Ok(None) => {}
                Err(error) => self.fails(&request::name(Some(&path)), &error),
            }
        }
        None
    }

    /// Notes what cannot be read.
    pub(super) fn fails(&mut self, name: &str, error: &io::Error) {
        self.unread.push(format!("cannot read {name}: {error}"));
    }

    fn open(&mut self, path: &Path, named: bool) -> io::Result<Option<Box<dyn Read>>> {
        if named && path == Path::new("-") {
            return Ok(Some(Box::new(io::stdin().lock())));
        }
        let kind = if named { fs::metadata(path)? } else { fs::symlink_metadata(path)? };
        if kind.is_dir() {
            self.enter(path)?;
            return Ok(None);
        }
        if !named && !kind.is_file() {
            return Ok(None);
        }
        let mut file = File::open(path)?;
        let mut head = Vec::new();
        (&mut file).take(LOOKED_AT).read_to_end(&mut head)?;
        if !named && head.contains(&0) {
            self.binary += 1;
            return Ok(None);
        }
        Ok(Some(Box::new(io::Cursor::new(head).chain(file))))
    }

    /// Puts what a folder holds in front of what waits, in the order of names.
    fn enter(&mut self, folder: &Path) -> io::Result<()> {
        let mut entries =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        entries.retain(|path| path.file_name().is_none_or(|name| name != ".git"));
        entries.sort_unstable_by(|a, b| b.cmp(a));
        self.waiting.extend(entries.into_iter().map(|path| (path, false)));
        Ok(())
    }
}

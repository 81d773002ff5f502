//! The texts of files and folders, one after the other.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A NUL this near to its beginning says that a file is no text, as `grep` and `git` judge.
const LOOKED_AT: usize = 8 << 10;

/// A walk over what was named. Links in folders are not followed, and what is neither a file nor a
/// folder is not opened there.
pub(super) struct Files {
    /// What is still to be read, the next one last; true where it was named.
    waiting: Vec<(PathBuf, bool)>,
    /// Files of folders that hold no text.
    pub(super) binary: usize,
    /// What could not be read, and why.
    pub(super) unread: Vec<String>,
}

impl Files {
    pub(super) fn new(named: &[PathBuf]) -> Self {
        let waiting = named.iter().rev().map(|path| (path.clone(), true)).collect();
        Self { waiting, binary: 0, unread: Vec::new() }
    }

    /// Gives the next text with its name.
    pub(super) fn next_text(&mut self) -> Option<(String, String)> {
        while let Some((path, named)) = self.waiting.pop() {
            match self.read(&path, named) {
                Ok(Some(bytes)) => return Some((name(&path), text(bytes))),
                Ok(None) => {}
                Err(error) => self.unread.push(format!("cannot read {}: {error}", name(&path))),
            }
        }
        None
    }

    fn read(&mut self, path: &Path, named: bool) -> io::Result<Option<Vec<u8>>> {
        if named && is_standard_input(path) {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            return Ok(Some(bytes));
        }
        let kind = if named { fs::metadata(path)? } else { fs::symlink_metadata(path)? };
        if kind.is_dir() {
            self.enter(path)?;
            return Ok(None);
        }
        if !named && !kind.is_file() {
            return Ok(None);
        }
        let bytes = fs::read(path)?;
        if !named && bytes[..bytes.len().min(LOOKED_AT)].contains(&0) {
            self.binary += 1;
            return Ok(None);
        }
        Ok(Some(bytes))
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

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn name(path: &Path) -> String {
    match is_standard_input(path) {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// The bytes as text, with a substitute for each byte that is no UTF-8, so that offsets stay.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let mut text = String::with_capacity(error.as_bytes().len());
        for chunk in error.as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| '\u{1a}'));
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_keeps_its_length() {
        let bytes = b"a\xff\xe2\x82b\xe2\x82\xac".to_vec();
        let text = text(bytes.clone());
        assert_eq!(text, "a\u{1a}\u{1a}\u{1a}b\u{20ac}");
        assert_eq!(text.len(), bytes.len());
    }
}

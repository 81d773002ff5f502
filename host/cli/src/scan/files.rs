//! The texts of files and folders, one after the other.

use std::fs::File;
use std::io::{self, Read};
use std::iter;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::request;

/// A NUL this near to its beginning says that a file is no text, as `grep` and `git` judge.
const LOOKED_AT: u64 = 8 << 10;

/// A file to be read; `None` for one of a folder that holds no text.
pub(super) type ScanText = Option<Box<dyn Read>>;

/// Opens what was named, and what is in folders in the order of names. Links in folders are not followed,
/// and what is neither a file nor a folder is not opened there.
pub(super) fn texts(named: &[PathBuf]) -> impl Iterator<Item = (String, io::Result<ScanText>)> {
    named.iter().flat_map(|path| -> Box<dyn Iterator<Item = _>> {
        if path == Path::new("-") {
            let input: ScanText = Some(Box::new(io::stdin().lock()));
            return Box::new(iter::once((request::name(None), Ok(input))));
        }
        let entries = WalkDir::new(path).sort_by_file_name().into_iter();
        let entries = entries.filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
        Box::new(entries.filter_map(opened))
    })
}

fn opened(entry: walkdir::Result<DirEntry>) -> Option<(String, io::Result<ScanText>)> {
    let name = |path| request::name(Some(path));
    match entry {
        Ok(entry) if entry.depth() == 0 && entry.path().is_dir() => None,
        // As it is now: the folder was listed a while ago.
        Ok(entry) if entry.depth() > 0 && entry.path().symlink_metadata().is_ok_and(|now| !now.is_file()) => {
            None
        }
        Ok(entry) => Some((name(entry.path()), text(entry.path(), entry.depth() == 0))),
        Err(error) => {
            let name = error.path().map(name).unwrap_or_default();
            Some((name, Err(error.into_io_error().unwrap_or_else(|| io::ErrorKind::Other.into()))))
        }
    }
}

/// Opens a file. One that was named is read whatever it holds.
fn text(path: &Path, is_named: bool) -> io::Result<ScanText> {
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    (&mut file).take(LOOKED_AT).read_to_end(&mut head)?;
    let is_text = is_named || !head.contains(&0);
    Ok(is_text.then(|| Box::new(io::Cursor::new(head).chain(file)) as Box<dyn Read>))
}

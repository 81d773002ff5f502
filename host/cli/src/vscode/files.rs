//! A file of the user's, read and replaced whole: what it was is there, or what it becomes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::fs::{Access, access};

use crate::private;

/// What some editors begin a file with.
const BOM: &str = "\u{feff}";

/// Largest file that is read: far more than people write by hand.
const MAX: u64 = 16 * 1024 * 1024;

/// A file as it is now, or that there is none.
pub(super) struct UserFile {
    path: PathBuf,
    bytes: Option<Vec<u8>>,
}

/// Returns where a file really is, so that a symbolic link stays one.
pub(super) fn real_path(path: &Path) -> anyhow::Result<PathBuf> {
    let shown = path.display();
    let found = private::if_there(fs::canonicalize(path));
    if let Some(found) = found.with_context(|| format!("{shown} cannot be looked for"))? {
        return Ok(found);
    }
    if fs::symlink_metadata(path).is_ok() {
        bail!("{shown} is a symbolic link to nothing: make the file, or remove the link");
    }
    let (folder, name) =
        path.parent().zip(path.file_name()).with_context(|| format!("{shown} is no file"))?;
    // A folder that is not there yet is made when the file is.
    Ok(fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()).join(name))
}

impl UserFile {
    /// Reads it.
    pub(super) fn read(path: &Path) -> anyhow::Result<UserFile> {
        let bytes = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Ok(found) if !found.is_file() => bail!("{} is no file", path.display()),
            Ok(found) if found.len() > MAX => bail!("{} is larger than {} MiB", path.display(), MAX >> 20),
            _ => Some(fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?),
        };
        Ok(UserFile { path: path.to_owned(), bytes })
    }

    /// Returns its text without what editors put before it; `None` where there is no file.
    pub(super) fn text(&self) -> anyhow::Result<Option<&str>> {
        let Some(bytes) = &self.bytes else { return Ok(None) };
        let text = std::str::from_utf8(bytes).ok();
        let text = text.with_context(|| format!("{} is no UTF-8", self.path.display()))?;
        Ok(Some(text.strip_prefix(BOM).unwrap_or(text)))
    }

    /// Refuses one that its owner has made read-only, or that is another's.
    pub(super) fn ensure_writable(&self) -> anyhow::Result<()> {
        let Some(_) = self.bytes else { return Ok(()) };
        let is_read_only = fs::metadata(&self.path)?.permissions().readonly();
        if is_read_only || access(&self.path, Access::WRITE_OK).is_err() {
            bail!("{} is read-only: `chmod u+w` on it lets it be changed", self.path.display());
        }
        Ok(())
    }

    /// Replaces it, or removes it for `None`.
    ///
    /// # Errors
    /// When it was changed since it was read: nothing of that is lost.
    pub(super) fn replace(&self, text: Option<&str>) -> anyhow::Result<()> {
        let shown = self.path.display();
        let has_bom = self.bytes.as_ref().is_some_and(|bytes| bytes.starts_with(BOM.as_bytes()));
        let new = text.map(|text| [if has_bom { BOM } else { "" }, text].concat().into_bytes());
        if new == self.bytes {
            return Ok(());
        }
        self.ensure_writable()?;
        if UserFile::read(&self.path)?.bytes != self.bytes {
            bail!("{shown} was changed at this moment: try again");
        }
        match new {
            Some(new) => self.write(&new).with_context(|| format!("{shown} cannot be written")),
            None => fs::remove_file(&self.path).with_context(|| format!("{shown} cannot be removed")),
        }
    }

    fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        fs::create_dir_all(self.path.parent().context("it has no folder")?)?;
        Ok(private::replace(&self.path, bytes)?)
    }
}

//! A file that is read, and replaced by another one in a single step.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use bytes::Bytes;
use leafgate_folder::Stamp;

use crate::{private, request};

/// Largest file. Sessions of long days reach some hundred megabytes.
const LARGEST: u64 = 1 << 30;

/// What a file held when it was read.
pub(super) struct RedactInput {
    /// Where it is; a link was followed, so that it stays one.
    path: PathBuf,
    pub(super) bytes: Bytes,
    /// `None` for standard input, which nothing replaces.
    stamp: Option<Stamp>,
}

impl RedactInput {
    /// Reads a file, or standard input for `-`.
    pub(super) fn read(path: &Path) -> anyhow::Result<RedactInput> {
        if path == Path::new("-") {
            let bytes = request::body(None)?;
            return Ok(RedactInput { path: path.to_owned(), bytes, stamp: None });
        }
        let path = fs::canonicalize(path).context("it cannot be found")?;
        let file = File::open(&path).context("it cannot be read")?;
        let found = file.metadata().context("it cannot be read")?;
        ensure!(found.is_file(), "it is no file");
        ensure!(found.len() <= LARGEST, "it is larger than {LARGEST} bytes");
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes).context("it cannot be read")?;
        Ok(RedactInput { path, bytes: bytes.into(), stamp: Some(Stamp::of(&found)) })
    }

    /// Replaces the file: whoever opens it sees it as it was or as it will be. Its mode stays.
    ///
    /// # Errors
    /// When somebody wrote to it after it was read, as an agent does to a session that goes on.
    pub(super) fn replace(&self, bytes: &[u8]) -> anyhow::Result<()> {
        private::replace_if(&self.path, bytes, || {
            let now = Some(Stamp::of(&fs::metadata(&self.path)?));
            ensure!(now == self.stamp, "it was written to meanwhile: end the agent that uses it first");
            Ok(())
        })
        .context("it cannot be written")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_with_its_mode_and_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.jsonl"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        RedactInput::read(&link).unwrap().replace(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
    }

    #[test]
    fn a_file_that_somebody_writes_to_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        fs::write(&path, "one\n").unwrap();
        let input = RedactInput::read(&path).unwrap();
        fs::write(&path, "one\ntwo\n").unwrap();
        let error = format!("{:#}", input.replace(b"new").unwrap_err());
        assert!(error.contains("written to meanwhile"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
        assert!(RedactInput::read(folder.path()).is_err());
    }
}

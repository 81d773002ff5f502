//! Reads files that may have been put there by others.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system's reason.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A folder, a named pipe, a socket or a device.
    #[error("it is no regular file")]
    NotRegular,
    /// It holds more than may be read.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The bound.
        limit: usize,
    },
    /// It is read as a text, and is none.
    #[error("it is not UTF-8")]
    NotText,
}

/// Opens a regular file, following links; never waits for another process.
///
/// # Errors
/// A path that leads to anything else, or the system's error.
pub fn open(path: &Path) -> Result<File, ReadError> {
    // Looked at before it is opened as well: opening alone has effects on some devices.
    if !path.metadata()?.is_file() {
        return Err(ReadError::NotRegular);
    }
    let file = open_without_waiting(path)?;
    // And after: another file may stand there by now.
    if file.metadata()?.is_file() { Ok(file) } else { Err(ReadError::NotRegular) }
}

fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// Those of [`open`], and a file that holds more. No more than one byte above the limit is read.
pub fn read(path: &Path, limit: usize) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    open(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit { Err(ReadError::TooLarge { limit }) } else { Ok(bytes) }
}

/// Reads a regular file of at most `limit` bytes as a text.
///
/// # Errors
/// Those of [`read`], and a file that is not UTF-8.
pub fn read_text(path: &Path, limit: usize) -> Result<String, ReadError> {
    String::from_utf8(read(path, limit)?).map_err(|_| ReadError::NotText)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_regular_file_is_read_through_links_up_to_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "12345").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!(read(&link, 5).unwrap(), b"12345");
        assert!(matches!(read(&link, 4), Err(ReadError::TooLarge { limit: 4 })));
        assert_eq!(read_text(&link, 5).unwrap(), "12345");
        std::fs::write(&file, b"\xff").unwrap();
        assert!(matches!(read_text(&link, 5), Err(ReadError::NotText)));
    }

    #[test]
    fn a_pipe_a_device_a_folder_and_a_dangling_link_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap();
        assert!(made.success());
        symlink("/dev/zero", path("device")).unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        std::fs::create_dir(path("folder")).unwrap();
        for name in ["pipe", "device", "folder"] {
            assert!(matches!(read(&path(name), 100), Err(ReadError::NotRegular)), "{name}");
        }
        assert!(matches!(read(&path("dangling"), 100), Err(ReadError::Io(_))));
        // A file that became a pipe between the two checks does not block either.
        assert!(!open_without_waiting(&path("pipe")).unwrap().metadata().unwrap().is_file());
    }
}

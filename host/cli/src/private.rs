//! Private files of the data folder that change: each is there whole, as it was before a change or
//! after it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Writes a file of a folder, both for their owner alone. Once this returns, the content is found
/// again whatever happens to process and machine; until then the one before it is.
pub(crate) fn write(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    make_folder(folder)?;
    let draft = folder.join(format!("{name}.{}", std::process::id()));
    let written = write_draft(&draft, content).and_then(|()| fs::rename(&draft, folder.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.and_then(|()| sync(folder))
}

/// Removes a file, if it is there, with the same promise.
pub(crate) fn remove(folder: &Path, name: &str) -> io::Result<()> {
    match fs::remove_file(folder.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync(folder),
    }
}

/// Makes a folder for its owner alone.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn write_draft(draft: &Path, content: &[u8]) -> io::Result<()> {
    // One that a process of the same number left behind when it was killed is overwritten.
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(draft)?;
    file.write_all(content)?;
    file.sync_all()
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

//! Files that are replaced whole: each is there as it was before a change or after it. Those of the data
//! folder are for their owner alone.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use tempfile::NamedTempFile;

/// Returns what was found; `None` where nothing is there.
pub(crate) fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Refuses what others may use in one of these ways, as the bits of its mode say; `to_do` mends that.
pub(crate) fn ensure_mode(found: &Metadata, refused: u32, may: &str, to_do: &str) -> anyhow::Result<()> {
    let mode = found.permissions().mode() & 0o777;
    ensure!(mode & refused == 0, "others may {may} (mode {mode:03o}): {to_do}");
    Ok(())
}

/// Opens a file of a folder that processes lock. It is never removed.
pub(crate) fn lock_file(folder: &Path, name: &str) -> io::Result<File> {
    make_folder(folder)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).open(folder.join(name))
}

/// Writes a file of a folder, both for their owner alone. Once this returns, the content is found
/// again whatever happens to process and machine; until then the one before it is.
pub(crate) fn write(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    make_folder(folder)?;
    draft(folder, name.as_ref(), 0o600, content)?.persist(folder.join(name))?;
    sync(folder)
}

/// The same of a file that others may read: who opens it meanwhile sees the one or the other. It keeps its
/// permissions.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_if(path, content, || Ok(()))
}

/// Replaces a file, if at the last moment it still may be.
pub(crate) fn replace_if<E: From<io::Error>>(
    path: &Path,
    content: &[u8],
    may: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let draft = draft(folder, path.file_name().unwrap_or_default(), 0o666, content)?;
    if let Ok(found) = fs::metadata(path) {
        draft.as_file().set_permissions(found.permissions())?;
    }
    may()?;
    draft.persist(path).map_err(|failed| failed.error)?;
    Ok(sync(folder)?)
}

/// Opens the file that a person named for what is exported; one that is there is kept, unless `force` says
/// otherwise.
pub(crate) fn export_to(path: &Path, force: bool) -> anyhow::Result<File> {
    let shown = path.display();
    let opened = match force {
        true => File::create(path),
        false => File::create_new(path),
    };
    match opened {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!("{shown} is there already, and stays: name another file, or write over it with --force")
        }
        opened => opened.with_context(|| format!("cannot write {shown}")),
    }
}

/// Writes what is to replace a file of this name. It is removed where that fails.
pub(crate) fn draft(folder: &Path, name: &OsStr, mode: u32, content: &[u8]) -> io::Result<NamedTempFile> {
    let name = format!(".{}.{}", name.to_string_lossy(), std::process::id());
    // One that a process of the same number left behind when it was killed.
    if_there(fs::remove_file(folder.join(&name)))?;
    let mode = Permissions::from_mode(mode);
    let mut draft =
        tempfile::Builder::new().prefix(&name).rand_bytes(0).permissions(mode).tempfile_in(folder)?;
    draft.write_all(content)?;
    draft.as_file().sync_all()?;
    Ok(draft)
}

/// Removes a file, if it is there, with the same promise.
pub(crate) fn remove(folder: &Path, name: &str) -> io::Result<()> {
    if_there(fs::remove_file(folder.join(name)))?.map_or(Ok(()), |()| sync(folder))
}

/// Makes a folder for its owner alone.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

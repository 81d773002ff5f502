//! Which processes write a log, so that what one left open can be ended by another.
//!
//! A process that writes holds a lock on a file of its own beside the log. The system takes the lock
//! away however the process ends, and rows name their writer: so the rows of a process that was killed
//! are told from those of one that is at work, and nobody needs a clock or a process id for it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

/// A process that writes. Its file goes when it does.
#[derive(Debug)]
pub(crate) struct Presence {
    folder: PathBuf,
    pub(crate) writer: i64,
    _locked: File,
}

impl Presence {
    /// Begins to write in a folder.
    pub(crate) fn begin(folder: &Path) -> io::Result<Presence> {
        let mut writer = [0; 8];
        getrandom::fill(&mut writer).map_err(|_| io::Error::other("the system gives no random bytes"))?;
        let writer = i64::from_le_bytes(writer);
        let path = path(folder, writer);
        // The file gets its name once it is locked: nobody sees it without its lock.
        let unnamed = path.with_extension("new");
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unnamed)?;
        let locked = file.try_lock().map_err(io::Error::from).and_then(|()| fs::rename(&unnamed, &path));
        if let Err(error) = locked {
            let _ = fs::remove_file(&unnamed);
            return Err(error);
        }
        Ok(Presence { folder: folder.to_owned(), writer, _locked: file })
    }

    /// Ends what processes left open that are gone.
    pub(crate) fn end_what_others_left(&self, database: &Connection) -> rusqlite::Result<()> {
        let mut open = database
            .prepare(&format!("SELECT DISTINCT writer FROM request INDEXED BY request_open WHERE {OPEN}"))?;
        let writers = open.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
        for writer in writers {
            if writer != self.writer && is_gone(&path(&self.folder, writer)) {
                end(database, writer)?;
            }
        }
        self.sweep();
        Ok(())
    }

    /// Ends what this process leaves open.
    pub(crate) fn end(self, database: &Connection) -> rusqlite::Result<()> {
        end(database, self.writer)
    }

    /// Removes the files of processes that left nothing open.
    fn sweep(&self) {
        // Where the folder cannot be read, files of no bytes stay.
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_one = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
            if is_one && entry.path() != path(&self.folder, self.writer) {
                is_gone(&entry.path());
            }
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let _ = fs::remove_file(path(&self.folder, self.writer));
    }
}

/// Rows about which something is still to come, as the index `request_open` has them.
const OPEN: &str = "writer IS NOT NULL AND (answer = 'open' OR ruled = 'held')";

const PREFIX: &str = "log.db-writer-";
const SUFFIX: &str = ".lock";

fn path(folder: &Path, writer: i64) -> PathBuf {
    folder.join(format!("{PREFIX}{writer:016x}{SUFFIX}"))
}

/// Returns whether a process is gone, and removes its file where it is. What cannot be told counts as
/// being there: whoever is there may still write.
fn is_gone(path: &Path) -> bool {
    match File::open(path).map(|file| file.try_lock().map(|()| file)) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(Err(TryLockError::WouldBlock | TryLockError::Error(_))) => false,
        Ok(Ok(_locked)) => fs::remove_file(path).is_ok(),
    }
}

fn end(database: &Connection, writer: i64) -> rusqlite::Result<()> {
    let mut change = database.prepare(&format!(
        "UPDATE request INDEXED BY request_open SET
         answer = CASE answer WHEN 'open' THEN 'broken' ELSE answer END,
         ruled = CASE ruled WHEN 'held' THEN 'abandoned' ELSE ruled END
         WHERE {OPEN} AND writer = ?1"
    ))?;
    change.execute([writer])?;
    Ok(())
}

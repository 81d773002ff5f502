//! The store as a gate sees it: a queue before the one thread that writes.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use leafgate_admin::StoreStatus;
use leafgate_record::{AnswerPart, RecordId, Recorded, Recorder, RequestRecord, RevealRecord};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::fault::StoreFault;
use crate::files::LogFiles;
use crate::keys::StoreKeys;
use crate::presence::Presence;
use crate::queue::{Entrance, OfferError, WriterMessage, WriterTask, queue};
use crate::schema::{self, FILE, OPENING};
use crate::writer::LogWriter;

/// How long the writer waits for another process that writes, while requests wait for it.
const BUSY: Duration = Duration::from_secs(2);

/// What a store is told when it is opened.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// Where its files lie.
    pub folder: PathBuf,
    /// Whether a request must be on disk before it leaves.
    pub required: bool,
    /// Bytes on disk beyond which the oldest requests are removed.
    pub limit: u64,
    /// The age at which requests are removed.
    pub age: Duration,
    /// Bytes of bodies that wait for the writer. What does not fit is left out, or refused where the
    /// store is required.
    pub queue: usize,
}

impl StoreConfig {
    /// Returns the defaults for a folder: a gibibyte, 30 days, and 16 MiB that wait.
    pub fn new(folder: PathBuf) -> Self {
        StoreConfig {
            folder,
            required: false,
            limit: 1 << 30,
            age: Duration::from_secs(30 * 24 * 3600),
            queue: 16 << 20,
        }
    }
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("the log {} cannot be used: {why}", path.display())]
pub struct StoreError {
    path: PathBuf,
    why: StoreFault,
}

/// What the writer tells and everybody reads.
#[derive(Debug)]
pub(crate) struct StoreState(Mutex<StoreStatus>);

impl StoreState {
    /// Returns what is known. Nobody keeps it for longer than a count takes.
    pub(crate) fn get(&self) -> MutexGuard<'_, StoreStatus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes why nothing can be written, or that it can be again.
    pub(crate) fn fails(&self, why: Option<String>) {
        // Requests need the status: nobody keeps it while a line is logged.
        let before = std::mem::replace(&mut self.get().failing, why.clone());
        match (before, why) {
            (None, Some(why)) => tracing::warn!(target: "leafgate::store", why, "the log cannot be written"),
            (Some(_), None) => tracing::info!(target: "leafgate::store", "the log is written again"),
            (None, None) | (Some(_), Some(_)) => {}
        }
    }
}

/// The log of a gate, which writes it.
#[derive(Debug)]
pub struct Store {
    entrance: Entrance,
    state: Arc<StoreState>,
    required: bool,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens a store, makes its files where they are not there, and starts its thread.
    ///
    /// # Errors
    /// When its files cannot be made or read, are open to others, or were written by a newer program.
    pub fn open(config: StoreConfig, keys: StoreKeys) -> Result<Store, StoreError> {
        let path = config.folder.join(FILE);
        let open = || -> Result<Store, StoreFault> {
            make_private(&config.folder, &path)?;
            let database = connect(&path, config.required)?;
            let presence = Presence::begin(&config.folder);
            if let Err(error) = &presence {
                tracing::warn!(
                    target: "leafgate::store",
                    why = %error,
                    "the folder of the log takes no lock: where this process is killed, its last requests stay open"
                );
            }
            let (entrance, exit) = queue(config.queue)?;
            let required = config.required;
            let state = Arc::new(StoreState(Mutex::new(StoreStatus {
                path: path.display().to_string(),
                required,
                limit: config.limit,
                ..StoreStatus::default()
            })));
            let files = LogFiles::at(&path)?;
            let writer =
                LogWriter::new((database, files), presence.ok(), keys, &config, exit, Arc::clone(&state))?;
            let thread = std::thread::Builder::new().name("leafgate-store".to_owned());
            let run = move || {
                // A request that waits for the log must not wait for the whole machine.
                if !required {
                    give_way();
                }
                writer.run();
            };
            let writer = Mutex::new(Some(thread.spawn(run)?));
            Ok(Store { entrance, state, required, writer })
        };
        open().map_err(|why| StoreError { path: path.clone(), why })
    }

    /// Writes all that was told so far, and ends. What is told later is missed.
    pub fn close(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // It waits no more for a writer that has ended.
            let _ = self.entrance.offer(WriterTask::Stop.into());
            let _ = writer.join();
        }
    }

    /// Hands a message over, if there is room; gives whether there was.
    fn offer(&self, message: WriterMessage) -> bool {
        let taken = self.entrance.offer(message);
        if taken.is_err() {
            self.state.get().missed += 1;
        }
        if taken == Err(OfferError::Ended)
            && self.writer.lock().unwrap_or_else(PoisonError::into_inner).is_some()
        {
            self.state.fails(Some("the thread that writes it has ended: restart the gate".to_owned()));
        }
        taken.is_ok()
    }

    /// Hands a message over that must be on disk.
    fn awaited(&self, task: WriterTask) -> Option<oneshot::Receiver<()>> {
        let (sender, receiver) = oneshot::channel();
        self.offer(WriterMessage { task, waits: Some(sender) }).then_some(receiver)
    }
}

impl Recorder for Store {
    fn request(&self, request: Box<RequestRecord>) -> Recorded {
        if self.required {
            return self.awaited(WriterTask::Request(request)).map_or(Recorded::Refused, Recorded::Awaited);
        }
        match self.offer(WriterTask::Request(request).into()) {
            true => Recorded::Taken,
            false => Recorded::Missed,
        }
    }

    fn answer(&self, request: RecordId, part: AnswerPart) {
        self.offer(WriterTask::Answer(request, part).into());
    }

    /// It must be on disk, whether requests must be or not.
    fn reveal(&self, reveal: RevealRecord) -> Recorded {
        self.awaited(WriterTask::Reveal(reveal)).map_or(Recorded::Refused, Recorded::Awaited)
    }

    fn is_required(&self) -> bool {
        self.required
    }

    fn flush(&self) -> Option<oneshot::Receiver<()>> {
        self.awaited(WriterTask::Flush)
    }

    fn status(&self) -> Option<StoreStatus> {
        Some(self.state.get().clone())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}

/// Gives the present thread the time that nobody else needs: masking a body takes as long as judging
/// it, and requests come first.
#[cfg(target_os = "linux")]
fn give_way() {
    // Of Linux' threads each has a niceness of its own. Where it cannot be set, the log costs more.
    let _ = rustix::process::setpriority_process(None, 19);
}

/// Other systems know the niceness of processes alone.
#[cfg(not(target_os = "linux"))]
fn give_way() {}

/// Makes the folder and the file, both for their owner alone. SQLite gives its further files the
/// mode of the first.
fn make_private(folder: &Path, path: &Path) -> Result<(), StoreFault> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(StoreFault::Refused(format!(
            "others may read it (mode {:03o}): run `chmod -R go= ` on its folder",
            mode & 0o777
        )));
    }
    Ok(())
}

fn connect(path: &Path, required: bool) -> Result<Connection, StoreFault> {
    let mut database = Connection::open(path)?;
    database.busy_timeout(OPENING)?;
    if schema::version_of(&database)? == 0 {
        // Removed requests give their bytes back. It has an effect on a new file alone, and takes the
        // lock of a writer on any.
        database.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    database.pragma_update(None, "journal_mode", "WAL")?;
    // What is acknowledged outlives the machine where it must, and the process in any case.
    database.pragma_update(None, "synchronous", if required { "FULL" } else { "NORMAL" })?;
    database.pragma_update(None, "journal_size_limit", 8 << 20)?;
    schema::make(&mut database)?;
    database.busy_timeout(BUSY)?;
    Ok(database)
}

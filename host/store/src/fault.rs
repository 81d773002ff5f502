//! Why a log cannot be written, in words for whoever runs the gate.

use std::io;

use rusqlite::ErrorCode;

/// Why something is not in the log, or the log cannot be opened to write.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreFault {
    #[error("{0}")]
    Refused(String),
    #[error("{}", told(.0))]
    Database(#[from] rusqlite::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Says why the database cannot be written, and what to do.
fn told(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full: make room".to_owned(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program keeps it locked: end that one".to_owned()
        }
        Some(ErrorCode::ReadOnly) => "it may not be written: look at the mode of its files".to_owned(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            "it is damaged: move its files away, and restart the gate".to_owned()
        }
        Some(ErrorCode::SystemIoFailure) => {
            "its file takes no more (a quota, a limit of the process, a broken disk): make room, or look at the disk"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

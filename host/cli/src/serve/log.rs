//! One line a request, on standard error or, where the terminal is another's, in a file.
//!
//! Only our own crates log: the debug output of libraries was not written with the clients' secrets
//! in mind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::Context;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::settings::LogTo;
use crate::{home, print, private};

/// Starts the log of this process.
pub(super) fn start(to: LogTo, level: &str, in_json: bool) -> anyhow::Result<()> {
    let level: tracing::level_filters::LevelFilter =
        level.parse().ok().context("the level of the log is none of off, error, warn, info, debug, trace")?;
    let (writer, may_colour) = match to {
        LogTo::File => (BoxMakeWriter::new(Mutex::new(file()?)), false),
        LogTo::Terminal => (BoxMakeWriter::new(io::stderr), print::may_colour(&io::stderr())),
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(writer).with_ansi(may_colour);
    let ours = Targets::new().with_target("leafgate", level);
    if in_json {
        log.json().flatten_event(true).finish().with(ours).init()
    } else {
        log.finish().with(ours).init()
    }
    Ok(())
}

/// Opens `run.log` in the data folder. It goes on from run to run, because a person may want to look
/// up any request.
fn file() -> anyhow::Result<LogFile> {
    let folder = home::data_folder()?;
    let path = folder.join("run.log");
    let open = || {
        private::make_folder(&folder)?;
        LogFile::open(path.clone(), LARGEST)
    };
    open().with_context(|| {
        format!("cannot write the log {} (LEAFGATE_DATA_DIR names another folder)", path.display())
    })
}

/// Bytes after which a log is begun anew: some hundred thousand requests.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Several gates write to one log, so its size is asked for, each time that so much was written.
const BETWEEN_LOOKS: u64 = 64 * 1024;

/// A log that never has more than two files of a bounded size: `run.log`, and `run.log.1` before it.
struct LogFile {
    path: PathBuf,
    file: File,
    largest: u64,
    /// Bytes written since the last look.
    written: u64,
}

impl LogFile {
    fn open(path: PathBuf, largest: u64) -> io::Result<LogFile> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        Ok(LogFile { path, file, largest, written: largest })
    }

    /// Begins the log anew where it is full, and follows where another gate did.
    fn look(&mut self) -> io::Result<()> {
        self.written = 0;
        let (ours, there) = (self.file.metadata()?, fs::metadata(&self.path));
        let is_ours = there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()));
        if is_ours && ours.len() >= self.largest {
            let mut before = self.path.clone().into_os_string();
            before.push(".1");
            fs::rename(&self.path, before)?;
        } else if is_ours {
            return Ok(());
        }
        let path = self.path.clone();
        *self = LogFile { written: 0, ..LogFile::open(path, self.largest)? };
        Ok(())
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.written >= BETWEEN_LOOKS.min(self.largest) {
            // A log that cannot be turned goes on as it is.
            let _ = self.look();
        }
        let written = self.file.write(line)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_bounded_whoever_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.log");
        let mut logs = [(); 2].map(|()| LogFile::open(path.clone(), 1000).unwrap());
        for number in 0..200 {
            logs[number % 2].write_all(format!("{number:099}\n").as_bytes()).unwrap();
        }
        let files: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert_eq!(files.len(), 2);
        let size: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
        assert!((1000..5000).contains(&size), "{size}");
        let last = fs::read_to_string(&path).unwrap();
        let before = fs::read_to_string(folder.path().join("run.log.1")).unwrap();
        assert!(last.contains("199") || before.contains("199"));
    }
}

//! One line a request, on standard error or, beside the prompt, in a file.
//!
//! Only our own crates log: the debug output of libraries was not written with the clients' secrets
//! in mind.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::Arc;

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::{home, print};

/// Where the log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogTo {
    /// Standard error.
    Terminal,
    /// `run.log` in the data folder, where the terminal is another's.
    File,
}

/// Starts the log of this process.
pub(super) fn start(to: LogTo, level: &str) -> anyhow::Result<()> {
    let level: tracing::level_filters::LevelFilter =
        level.parse().ok().context("the level of the log is none of off, error, warn, info, debug, trace")?;
    let log = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(format!("off,leafgate={level}")));
    match to {
        LogTo::File => log.with_writer(Arc::new(file()?)).with_ansi(false).init(),
        LogTo::Terminal => log.with_writer(io::stderr).with_ansi(print::may_colour(&io::stderr())).init(),
    }
    Ok(())
}

/// Opens `run.log` in the data folder. It grows from run to run, because a person may want to look
/// up any request.
fn file() -> anyhow::Result<File> {
    let folder = home::data_folder()?;
    let path = folder.join("run.log");
    let open = || {
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        OpenOptions::new().append(true).create(true).mode(0o600).open(&path)
    };
    open().with_context(|| {
        format!("cannot write the log {} (LEAFGATE_DATA_DIR names another folder)", path.display())
    })
}

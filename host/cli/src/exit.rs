//! Exit codes of the process.

use std::process::ExitCode;

use crate::print::Printer;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded. For a request: it would be forwarded.
    Done = 0,
    /// The claim that the command checks does not hold: a secret would leave or stands in a file, a
    /// test of a policy fails.
    Unmet = 1,
    /// A bad call, an unreadable input, an unusable policy, or a gate that refuses. clap uses the
    /// same code.
    Bad = 2,
    /// The request would wait for a person.
    Paused = 3,
    /// The request would be blocked.
    Blocked = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Prints why a command failed. A closed output, as of `head`, is no failure to report.
pub(crate) fn report(error: &anyhow::Error, printer: &mut Printer) -> Exit {
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_closed) {
        return Exit::Done;
    }
    printer.error_line(&format!("leafgate: {error:#}"));
    Exit::Bad
}

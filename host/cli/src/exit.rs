//! Exit codes of the process.

use std::process::ExitCode;

use leafgate_admin::ApiError;
use serde_json::json;

use crate::print::Printer;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded. For a request: it would be forwarded.
    Done,
    /// The claim that the command checks does not hold: a secret would leave or stands in a file, a
    /// test of a policy fails, a receipt was changed.
    Unmet,
    /// A bad call, an unreadable input, an unusable policy, or a gate that refuses. clap uses the
    /// same code.
    Bad,
    /// The request would wait for a person.
    Paused,
    /// The request would be blocked.
    Blocked,
    /// A program was run, and ended with this code.
    Program(u8),
}

impl Exit {
    /// Returns the exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Unmet => 1,
            Exit::Bad => 2,
            Exit::Paused => 3,
            Exit::Blocked => 4,
            Exit::Program(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// Ends a command: writes what it has printed, or why it failed. A closed output, as of `head`, is no
/// failure to report.
pub(crate) fn of(ended: anyhow::Result<Exit>, printer: &mut Printer) -> Exit {
    let error = match ended.and_then(|exit| Ok(printer.flush().map(|()| exit)?)) {
        Ok(exit) => return exit,
        Err(error) => error,
    };
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_closed) {
        return Exit::Done;
    }
    let refused = error.downcast_ref::<ApiError>();
    if let (Some(refused), true) = (refused, printer.is_json()) {
        // Programs read why a gate refused a call, or does not answer. Where it cannot be written, the code says enough.
        let _ = printer.json(&json!({ "error": refused }));
        return Exit::Bad;
    }
    let hint = refused.and_then(|refused| refused.hint.as_ref());
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    printer.error_line(&format!("leafgate: {error:#}{hint}"));
    Exit::Bad
}

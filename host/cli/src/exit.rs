//! What the process ends with.

use std::process::ExitCode;

use crate::print::Printer;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what it was asked; of a request: it would be forwarded.
    Done = 0,
    /// What a command was asked to show does not hold: a secret would leave.
    Unmet = 1,
    /// A bad call, an unreadable input, a policy that cannot be used, or a gate that refuses. clap ends with the same code.
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

/// Says why a command failed. Who closed our output, as `head` does, has seen enough and hears nothing.
pub(crate) fn report(error: &anyhow::Error, printer: &mut Printer) -> Exit {
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_closed) {
        return Exit::Done;
    }
    printer.complain(&format!("leafgate: {error:#}"));
    Exit::Bad
}

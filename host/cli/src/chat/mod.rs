//! `chat`: raw messages converted, and VS Code chat exports shown, redacted and checked.
//!
//! Conversions write the content of the file as it is, secrets included: `apply` and `redact`
//! remove them. Output for people is masked first and passes the printer.

mod args;
mod check;
mod convert;
mod show;

pub(crate) use args::ChatCommand;

use crate::exit::Exit;
use crate::print::Printer;
use crate::redact;

pub(crate) fn run(command: &ChatCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        ChatCommand::Wire(args) => convert::wire(args, printer),
        ChatCommand::Raw(args) => convert::raw(args, printer),
        ChatCommand::Messages(args) => convert::messages(args, printer),
        ChatCommand::Show(args) => show::run(args, printer),
        ChatCommand::Redact(args) => redact::run(args, true, printer),
        ChatCommand::Check { file } => check::run(file.as_deref(), printer),
    }
}

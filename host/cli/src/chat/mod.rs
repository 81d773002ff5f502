//! `chat`: raw messages converted, and VS Code chat exports shown, redacted and checked.
//!
//! Conversions write the content of the file as it is, secrets included: `apply` and `redact`
//! remove them. Output for people is masked first and passes the printer.

mod check;
mod convert;
mod show;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use leafgate_assemble::Api;
use leafgate_chat::CONVERTED;

use crate::options::{PolicyArg, RedactArgs, one_of};
use crate::print::{Exit, Printer};
use crate::redact;

#[derive(Subcommand)]
pub(crate) enum ChatCommand {
    /// Convert raw messages to what an API takes, and report what it drops
    Wire(WireArgs),
    /// Write messages as `Raw.ChatMessage[]`, and report what these cannot hold
    Raw(InputArgs),
    /// Write the messages of a chat export, as far as it recorded what the model read
    Messages(MessagesArgs),
    /// Show a chat export as a conversation, secrets masked
    Show(ShowChatArgs),
    /// Redact chat exports, as `leafgate redact` does
    Redact(RedactArgs),
    /// Say which versions of VS Code would import a chat export; exit code 1 where none would
    Check {
        /// The chat export; `-` or nothing reads standard input
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

#[derive(Args)]
pub(crate) struct WireArgs {
    /// The API
    #[arg(long, value_name = "API", value_parser = one_of(CONVERTED, |api| (api.name(), "")))]
    to: Api,
    #[command(flatten)]
    input: InputArgs,
}

/// The source of the messages.
#[derive(Args)]
pub(crate) struct InputArgs {
    /// Raw messages, OpenAI chat messages, a chat replay or a chat export; `-` or nothing reads
    /// standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Which request of a chat replay, from 1; without it the last
    #[arg(long, value_name = "N")]
    request: Option<usize>,
}

#[derive(Args)]
pub(crate) struct MessagesArgs {
    /// The form of the messages
    #[arg(long, value_name = "FORM", default_value = "openai", value_parser = PossibleValuesParser::new(["openai", "raw"]))]
    to: String,
    /// The chat export; `-` or nothing reads standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ShowChatArgs {
    #[command(flatten)]
    policy: PolicyArg,
    /// The chat export; `-` or nothing reads standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

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

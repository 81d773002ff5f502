//! Conversations, and the mode that says which of their turns wait: `mode`, `sessions`.

use std::time::Duration;

use clap::{Args, Subcommand};
use leafgate_admin::TurnMode;

use super::{GateArgs, one_of};
use crate::moments;

#[derive(Args)]
pub(crate) struct ModeArgs {
    /// The mode to choose; without it, the one in force is shown
    #[arg(value_parser = one_of(TurnMode::ALL, |mode| (mode.name(), mode.label())))]
    pub(crate) mode: Option<TurnMode>,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
}

#[derive(Args)]
pub(crate) struct OffArgs {
    /// For how long, an hour at most: 90s, 5m
    #[arg(default_value = "5m", value_name = "TIME", value_parser = moments::span)]
    pub(crate) time: Duration,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
}

#[derive(Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the conversations, newest first
    List,
    /// Look at a conversation and stay with it: modes pause turns of it alone
    Select(SessionArgs),
    /// Have the newest conversation be the active one (on), or stay with the present one (off)
    Follow {
        /// Whether to follow
        #[arg(action = clap::ArgAction::Set, value_parser = one_of(&[true, false], |is_on| (if is_on { "on" } else { "off" }, "")))]
        follow: bool,
    },
    /// Close a conversation: what waits of it is cancelled
    Close(SessionArgs),
}

#[derive(Args)]
pub(crate) struct SessionArgs {
    /// The session, by its id or the end of it that labels show
    pub(crate) id: String,
}

//! Conversations, and the mode that says which of their turns wait: `mode`, `sessions`.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use leafgate_admin::TurnMode;

use super::shared::GateArgs;
use crate::log;

#[derive(Args)]
pub(crate) struct ModeArgs {
    /// The mode to choose; without it, the one in force is shown
    #[arg(value_parser = modes())]
    pub(crate) mode: Option<TurnMode>,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
}

#[derive(Args)]
pub(crate) struct OffArgs {
    /// For how long, an hour at most: 90s, 5m
    #[arg(default_value = "5m", value_name = "TIME", value_parser = log::span)]
    pub(crate) time: Duration,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
}

/// Every mode by its name, told by its label.
fn modes() -> impl TypedValueParser<Value = TurnMode> {
    let value = |mode: &TurnMode| PossibleValue::new(mode.name()).help(mode.label());
    PossibleValuesParser::new(TurnMode::ALL.iter().map(value))
        .map(|name| TurnMode::from_name(&name).expect("only names of modes are possible"))
}

#[derive(Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the conversations, newest first
    List(GateArgs),
    /// Look at a conversation and stay with it: modes pause turns of it alone
    Select(SessionArgs),
    /// Have the newest conversation be the active one (on), or stay with the present one (off)
    Follow(FollowArgs),
    /// Close a conversation: what waits of it is cancelled
    Close(SessionArgs),
}

impl SessionsCommand {
    pub(crate) fn gate(&self) -> &GateArgs {
        match self {
            SessionsCommand::List(gate) => gate,
            SessionsCommand::Select(session) | SessionsCommand::Close(session) => &session.gate,
            SessionsCommand::Follow(follow) => &follow.gate,
        }
    }
}

#[derive(Args)]
pub(crate) struct SessionArgs {
    /// The session, by its id or the end of it that labels show
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
}

#[derive(Args)]
pub(crate) struct FollowArgs {
    /// Whether to follow
    pub(crate) follow: Switch,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

impl Switch {
    pub(crate) fn is_on(self) -> bool {
        matches!(self, Switch::On)
    }
}

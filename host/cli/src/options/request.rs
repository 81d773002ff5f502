//! Requests and sessions on disk, judged without a gate: `apply`, `compose`, `redact`, `tree`.

use std::path::PathBuf;

use clap::Args;

use super::{ConfigArgs, PolicyArg, RequestArgs};

#[derive(Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Make recorded edits, as `--ops` wrote them, in the place of the rewriting rules; redactions
    /// are made anew. An edit that no longer fits is told and holds the request
    #[arg(long, value_name = "FILE")]
    pub(crate) ops_in: Option<PathBuf>,
    /// Make the saved edits of the present folder and those for all too, as a gate does whose mode
    /// is autoOverride. One that does not fit is told
    #[arg(long, conflicts_with = "ops_in")]
    pub(crate) saved: bool,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) output: ApplyOutput,
}

/// The output in the place of the bytes that would leave.
#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct ApplyOutput {
    /// Show each changed leaf, with redacted values masked
    #[arg(long, conflicts_with = "json")]
    pub(crate) diff: bool,
    /// Write the edits as JSON, one a line
    #[arg(long, conflicts_with = "json")]
    pub(crate) ops: bool,
}

#[derive(Args)]
pub(crate) struct ComposeArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
}

#[derive(Args)]
pub(crate) struct RedactArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    /// Write nothing, name what would be redacted line by line, and end with 1 where there is any:
    /// for a hook before a commit
    #[arg(long, conflicts_with = "in_place")]
    pub(crate) check: bool,
    /// Replace each file in a single step, where it is not written to meanwhile
    #[arg(long)]
    pub(crate) in_place: bool,
    /// Write what is redacted here instead of to standard output
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["check", "in_place"])]
    pub(crate) output: Option<PathBuf>,
    /// Chat exports, and files with one JSON value a line; `-` reads standard input
    #[arg(default_value = "-", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Args)]
pub(crate) struct TreeArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
}

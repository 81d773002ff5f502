//! Saved edits, and the projects whose own count: `saved`, `trust`.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use leafgate_admin::{OnDrift, SavedScope};

use super::{GateArgs, one_of};

#[derive(Subcommand)]
pub(crate) enum SavedCommand {
    /// List the saved edits, those that win first
    List,
    /// Show a saved edit: where it is made, what it replaces, what it writes
    Show {
        /// The edit, as `saved list` names it
        id: String,
    },
    /// Show what it replaced the last time, and what it writes
    Diff {
        /// The edit, as `saved list` names it
        id: String,
    },
    /// Remove a saved edit, or all of a scope
    Remove(RemoveArgs),
    /// Save the edits of a turn that waits; without a turn, have the next one pause for that
    Capture(CaptureArgs),
    /// Choose how edits are saved
    Set(SetSavedArgs),
}

/// Whose saved edits: those of a running gate, or those on disk.
#[derive(Args)]
pub(crate) struct SavedGateArgs {
    #[command(flatten)]
    pub(crate) gate: GateArgs,
    /// Look at the files for this folder, and ask no gate
    #[arg(long, value_name = "DIR", conflicts_with = "name", global = true)]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct RemoveArgs {
    /// The edit, as `saved list` names it: it is removed wherever it is saved
    #[arg(required_unless_present_any = ["all", "scope"], conflicts_with_all = ["all", "scope"])]
    pub(crate) id: Option<String>,
    /// Remove all of the scope in which edits are saved
    #[arg(long)]
    pub(crate) all: bool,
    /// Remove all of this scope
    #[arg(long, value_parser = scopes())]
    pub(crate) scope: Option<SavedScope>,
    /// Ask nothing before all of a scope goes
    #[arg(long, conflicts_with = "id")]
    pub(crate) yes: bool,
}

#[derive(Args)]
pub(crate) struct CaptureArgs {
    /// The turn, as `pending list` names it
    pub(crate) turn: Option<String>,
    /// Where to save; without it, where `saved set` says
    #[arg(long, requires = "turn", value_parser = scopes())]
    pub(crate) scope: Option<SavedScope>,
    /// What happens to a turn in which such an edit does not fit
    #[arg(long, requires = "turn", value_parser = drifts())]
    pub(crate) on_drift: Option<OnDrift>,
    /// Write them to a new file that can be shared, as `.leafgate/saved.toml` of a project
    #[arg(long, value_name = "FILE", requires = "turn", conflicts_with = "scope")]
    pub(crate) export: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct SetSavedArgs {
    /// Where captured edits are saved
    #[arg(long, value_parser = scopes())]
    pub(crate) scope: Option<SavedScope>,
    /// How many sections a capture shows first, 1 to 10
    #[arg(long, value_name = "N")]
    pub(crate) preview_limit: Option<usize>,
    /// What happens to a turn in which an edit does not fit that is saved from now on
    #[arg(long, value_parser = drifts())]
    pub(crate) on_drift: Option<OnDrift>,
}

/// Parses a scope that can be chosen: the file of a project is its own.
fn scopes() -> impl TypedValueParser<Value = SavedScope> {
    one_of(&[SavedScope::Session, SavedScope::Workspace, SavedScope::Global], |scope| {
        (scope.name(), scope.label())
    })
}

fn drifts() -> impl TypedValueParser<Value = OnDrift> {
    one_of(OnDrift::ALL, |on_drift| (on_drift.name(), on_drift.label()))
}

#[derive(Args)]
pub(crate) struct TrustArgs {
    /// The folder whose `.leafgate/saved.toml` is to count
    #[arg(value_name = "DIR", required_unless_present = "list", conflicts_with = "list")]
    pub(crate) folder: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long, conflicts_with = "list")]
    pub(crate) remove: bool,
    /// List the folders that are trusted
    #[arg(long)]
    pub(crate) list: bool,
}

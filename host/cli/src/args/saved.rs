//! Saved edits, and the projects whose own count: `saved`, `trust`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use leafgate_admin::{OnDrift, SavedScope};

use super::shared::GateArgs;

#[derive(Subcommand)]
pub(crate) enum SavedCommand {
    /// List the saved edits, those that win first
    List(SavedGateArgs),
    /// Show a saved edit: where it is made, what it replaces, what it writes
    Show(SavedEditArgs),
    /// Show what it replaced the last time, and what it writes
    Diff(SavedEditArgs),
    /// Remove a saved edit, or all of a scope
    Remove(RemoveArgs),
    /// Save the edits of a turn that waits; without a turn, have the next one pause for that
    Capture(CaptureArgs),
    /// Choose how edits are saved
    Set(SetSavedArgs),
}

impl SavedCommand {
    pub(crate) fn gate(&self) -> &SavedGateArgs {
        match self {
            SavedCommand::List(gate) => gate,
            SavedCommand::Show(edit) | SavedCommand::Diff(edit) => &edit.gate,
            SavedCommand::Remove(remove) => &remove.gate,
            SavedCommand::Capture(capture) => &capture.gate,
            SavedCommand::Set(set) => &set.gate,
        }
    }
}

/// Whose saved edits: those of a running gate, or those on disk.
#[derive(Args)]
pub(crate) struct SavedGateArgs {
    #[command(flatten)]
    pub(crate) gate: GateArgs,
    /// Look at the files for this folder, and ask no gate
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct SavedEditArgs {
    /// The edit, as `saved list` names it
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) gate: SavedGateArgs,
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
    #[arg(long)]
    pub(crate) scope: Option<ScopeArg>,
    #[command(flatten)]
    pub(crate) gate: SavedGateArgs,
}

#[derive(Args)]
pub(crate) struct CaptureArgs {
    /// The turn, as `pending list` names it
    pub(crate) turn: Option<String>,
    /// Where to save; without it, where `saved set` says
    #[arg(long, requires = "turn")]
    pub(crate) scope: Option<ScopeArg>,
    /// What happens to a turn in which such an edit does not fit
    #[arg(long, requires = "turn")]
    pub(crate) on_drift: Option<OnDriftArg>,
    /// Write them to a new file that can be shared, as `.leafgate/saved.toml` of a project
    #[arg(long, value_name = "FILE", requires = "turn", conflicts_with = "scope")]
    pub(crate) export: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) gate: SavedGateArgs,
}

#[derive(Args)]
pub(crate) struct SetSavedArgs {
    /// Where captured edits are saved
    #[arg(long)]
    pub(crate) scope: Option<ScopeArg>,
    /// How many sections a capture shows first, 1 to 10
    #[arg(long, value_name = "N")]
    pub(crate) preview_limit: Option<usize>,
    /// What happens to a turn in which an edit does not fit that is saved from now on
    #[arg(long)]
    pub(crate) on_drift: Option<OnDriftArg>,
    #[command(flatten)]
    pub(crate) gate: SavedGateArgs,
}

/// A scope that can be chosen.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ScopeArg {
    /// The conversation, as long as the gate knows it
    Session,
    /// The folder that the gate runs for
    Workspace,
    /// Everything
    Global,
}

impl From<ScopeArg> for SavedScope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Session => SavedScope::Session,
            ScopeArg::Workspace => SavedScope::Workspace,
            ScopeArg::Global => SavedScope::Global,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum OnDriftArg {
    /// The turn is sent without the edit, and that is told
    Skip,
    /// The turn waits for a person
    Pause,
}

impl From<OnDriftArg> for OnDrift {
    fn from(on_drift: OnDriftArg) -> Self {
        match on_drift {
            OnDriftArg::Skip => OnDrift::Skip,
            OnDriftArg::Pause => OnDrift::Pause,
        }
    }
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
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

//! Turns that wait for a person: `review`, `pending`.

use clap::{Args, Subcommand};
use leafgate_admin::MetadataField;

use super::{GateArgs, one_of};

#[derive(Args)]
pub(crate) struct ReviewArgs {
    /// The turn to look at; without it, all that wait
    pub(crate) id: Option<String>,
    /// Work line by line, for pipes and screen readers
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
}

#[derive(Subcommand)]
pub(crate) enum PendingCommand {
    /// List the turns that wait, oldest first
    List,
    /// Show a turn: why it waits, its sections and leaves with the names that edits go by, its
    /// digest
    Show {
        /// The turn, as `pending list` names it
        id: String,
    },
    /// Show what came against what would leave
    Diff {
        /// The turn, as `pending list` names it
        id: String,
    },
    /// Change a turn
    Edit(EditArgs),
    /// Let a turn go
    Resume(ResumeArgs),
    /// Show what people see of requests beside what they say, or choose it until the gate ends
    Fields {
        /// The fields in their order
        #[arg(value_name = "FIELD", value_delimiter = ',',
            value_parser = one_of(&MetadataField::ALL, |field| (field.name(), "")))]
        fields: Vec<MetadataField>,
        /// None of them: the budget alone
        #[arg(long, conflicts_with = "fields")]
        none: bool,
    },
    /// Give a turn up; its client gets an error
    Cancel {
        /// The turn, as `pending list` names it
        id: String,
    },
}

#[derive(Args)]
pub(crate) struct EditArgs {
    /// The turn, as `pending list` names it
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) change: EditChange,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct EditChange {
    /// Give a leaf another text; for a number, boolean or null its JSON spelling
    #[arg(long, num_args = 2, value_names = ["POINTER", "TEXT"], allow_hyphen_values = true)]
    pub(crate) set: Option<Vec<String>>,
    /// Give a leaf the text of a file, to the last newline; `-` reads standard input
    #[arg(long, num_args = 2, value_names = ["POINTER", "FILE"])]
    pub(crate) set_file: Option<Vec<String>>,
    /// Leave a section out, with what must go with it
    #[arg(long, value_name = "KEY")]
    pub(crate) delete: Option<String>,
    /// Put a section back
    #[arg(long, value_name = "KEY")]
    pub(crate) restore: Option<String>,
    /// Put a message of the user directly before another one
    #[arg(long, num_args = 2, value_names = ["KEY", "TEXT"], allow_hyphen_values = true)]
    pub(crate) insert_before: Option<Vec<String>>,
    /// Take a redaction back, by the number that `pending show` prints, where its rule lets you: the
    /// value leaves, with this request alone
    #[arg(long, value_name = "NUMBER")]
    pub(crate) release: Option<usize>,
    /// Take the last edit back
    #[arg(long)]
    pub(crate) undo: bool,
    /// Make it again
    #[arg(long)]
    pub(crate) redo: bool,
    /// Take all edits back
    #[arg(long)]
    pub(crate) reset: bool,
}

#[derive(Args)]
pub(crate) struct ResumeArgs {
    /// The turn, as `pending list` names it
    pub(crate) id: String,
    /// The digest of what was looked at: anything else is refused. Without it, what stands now is
    /// sent
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<String>,
}

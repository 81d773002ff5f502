//! What the program says of itself: `detectors`, `policy`, `config`, `schema`.

use std::path::PathBuf;

use clap::Subcommand;

use super::ConfigArgs;

#[derive(Subcommand)]
pub(crate) enum DetectorsCommand {
    /// List all detectors with their labels
    List,
    /// Say what a detector looks for
    Explain {
        /// The detector, as `detectors list` names it
        #[arg(value_name = "PACK/NAME")]
        id: String,
    },
    /// Write the rules of a gitleaks or betterleaks file as detectors of a policy
    ///
    /// `leafgate detectors import gitleaks.toml > policy/imported.toml`. What a rule asks beyond its pattern is named, rule by rule.
    Import {
        /// The file
        file: PathBuf,
    },
}

#[derive(Subcommand)]
pub(crate) enum PolicyCommand {
    /// Make a folder with a first rule file, which gates serve that were started without `--policy`
    New {
        /// The folder; without it `policy` beside your configuration, which a running gate follows
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting, and where its value comes from
    Show(ConfigArgs),
}

#[derive(Clone, Copy, Subcommand)]
pub(crate) enum SchemaCommand {
    /// The admin API as a JSON Schema: its calls, and the types of their bodies and answers
    Admin {
        /// As an OpenAPI 3.1 document, which generators of clients read
        #[arg(long)]
        openapi: bool,
    },
    /// The configuration file as a JSON Schema
    Config,
    /// Rule files as a JSON Schema, for editors: their keys, types, words and what they mean
    Rules,
}

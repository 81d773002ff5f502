//! The arguments of `leafgate plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use leafgate_author::project::Language;
use leafgate_contract::{Signer, World};

use crate::options::{GateArgs, RequestArgs, one_of};

#[derive(Subcommand)]
pub(crate) enum PluginCommand {
    /// Begin a plugin: a project that passes its tests as it is
    New(NewArgs),
    /// Build a project, and say where the plugin is
    Build(BuildArgs),
    /// Build a project whenever it is saved, and ask it its cases
    Dev(DevArgs),
    /// Show what a plugin file is, imports and describes, without configuring it
    Inspect(InspectArgs),
    /// Load a plugin with a configuration as the gate does, and ask it its cases
    Check(CheckArgs),
    /// Ask a plugin its cases, in the gate's sandbox and under its limits; a project is built first
    Test(TestArgs),
    /// Run a plugin on a request, and show what it would change. Exit codes as of `apply`
    Run(RunPluginArgs),
    /// Measure what loading and calling a plugin takes
    Bench(BenchArgs),
    /// End the quarantine of a plugin of a running gate, and forget its faults
    Release(ReleaseArgs),
    /// Make a key that signs plugins, and print its public half
    Key(KeyArgs),
    /// Sign a plugin file or a policy folder: the signature stands beside it in `….sig`
    Sign(SignArgs),
    /// Say who has signed a plugin file; exit code 1 where none of the keys has
    Verify(VerifySignatureArgs),
}

#[derive(Args)]
pub(crate) struct NewArgs {
    /// Its name, as `trim-results`
    pub(super) name: String,
    /// What it is: a detector finds, a transformer edits
    #[arg(long, default_value = "detector", value_parser = one_of(World::ALL, |world| (world.name(), "")))]
    pub(super) world: World,
    /// What it is written in: a script in JavaScript needs nothing else, a project in Rust is
    /// fastest, one in Python is slowest and may use its libraries
    #[arg(long, default_value = "rust", value_parser = one_of(Language::ALL, |language| (language.name(), "")))]
    pub(super) lang: Language,
    /// The folder, which must be new or empty; without it, one of the plugin's name
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct BuildArgs {
    /// The folder of the project
    #[arg(value_name = "DIR", default_value = ".")]
    pub(super) folder: PathBuf,
    /// The profile of cargo, in Rust; without it `plugin` where the project has it, else `release`
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
}

#[derive(Args)]
pub(crate) struct DevArgs {
    /// The folder of the project, or a script
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    pub(super) folder: PathBuf,
    /// Where the plugin goes once all its cases are fulfilled: a file that a policy declares is live
    /// on the next request
    #[arg(long, value_name = "FILE")]
    pub(super) to: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct InspectArgs {
    /// The plugin: a core module, a component or a script
    pub(super) file: PathBuf,
}

/// The plugin itself, and what it is configured with.
#[derive(Args)]
pub(crate) struct SourceArgs {
    /// The plugin: a file, or the folder of a project, which is built where it is no script
    #[arg(value_name = "FILE|DIR", default_value = ".")]
    pub(super) plugin: PathBuf,
}

#[derive(Args)]
pub(crate) struct PluginConfigArgs {
    /// Its configuration, as it would stand in a rule file: 'names = ["Ada"]'
    #[arg(long, value_name = "TOML")]
    pub(super) config: Option<String>,
    /// A TOML file that is its configuration
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub(super) config_file: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    #[command(flatten)]
    pub(super) config: PluginConfigArgs,
    /// The digest that the file must have
    #[arg(long, value_name = "HEX")]
    pub(super) sha256: Option<String>,
}

#[derive(Args)]
pub(crate) struct TestArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// The cases; without it `cases.toml` of the project, or beside the file
    #[arg(long, value_name = "FILE")]
    pub(super) cases: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct RunPluginArgs {
    /// The plugin: a file, or the folder of a project, which is built where it is no script
    #[arg(value_name = "FILE|DIR")]
    pub(super) plugin: PathBuf,
    #[command(flatten)]
    pub(super) config: PluginConfigArgs,
    /// Which leaves it is shown, as `match` of a rule: 'role = "user"'; without it all
    #[arg(long = "match", value_name = "TOML")]
    pub(super) matches: Option<String>,
    #[command(flatten)]
    pub(super) request: RequestArgs,
}

#[derive(Args)]
pub(crate) struct ReleaseArgs {
    /// The name under which the policy declares it
    #[arg(value_name = "NAME")]
    pub(super) plugin: String,
    #[command(flatten)]
    pub(super) gate: GateArgs,
}

#[derive(Args)]
pub(crate) struct KeyArgs {
    /// The new file of the key, which only its owner can read
    pub(super) file: PathBuf,
}

#[derive(Args)]
pub(crate) struct SignArgs {
    /// The plugin, or the policy folder of an operator
    pub(super) plugin: PathBuf,
    /// The file of the key, as `plugin key` made it
    #[arg(long, value_name = "FILE")]
    pub(super) key: PathBuf,
}

#[derive(Args)]
pub(crate) struct VerifySignatureArgs {
    /// The plugin, or the policy folder
    pub(super) plugin: PathBuf,
    /// A public key of which one must have signed it; without any, everybody's signature counts
    #[arg(long = "key", value_name = "KEY")]
    pub(super) keys: Vec<Signer>,
}

#[derive(Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    #[command(flatten)]
    pub(super) config: PluginConfigArgs,
    /// A file whose text the leaves are cut from; without it, a page of English
    #[arg(long, value_name = "FILE")]
    pub(super) text: Option<PathBuf>,
}

//! The command line, exactly as it was typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use leafgate_gate::UpstreamTarget;
use leafgate_policy::PolicySource;

/// A gate for LLM requests: shows, edits and holds what leaves for a model.
#[derive(Parser)]
#[command(name = "leafgate", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, or the request is forwarded · 2 a bad call, input or policy · 3 the request waits for a person · \
4 the request is blocked.
Environment: LEAFGATE_DATA_DIR (where the installation's key lies), LEAFGATE_LOG (what `run` logs: error, warn, info, debug), \
NO_COLOR.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the gate before an upstream
    Run(RunArgs),
    /// Apply the policy to one request and write the bytes that would leave
    Apply(ApplyArgs),
    /// Show a request as sections and leaves, secrets masked
    Tree(TreeArgs),
    /// Say what a policy does, phase by phase
    Explain(PolicyArgs),
    /// Check a policy and say everything that is wrong with it
    Check(PolicyArgs),
    /// Work with WebAssembly plugins
    Plugin {
        #[command(subcommand)]
        command: PluginCommand,
    },
    /// Work with the built-in detectors
    Detectors {
        #[command(subcommand)]
        command: DetectorsCommand,
    },
    /// Write a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual page
    Man,
}

#[derive(Subcommand)]
pub(crate) enum PluginCommand {
    /// Show what a plugin file is, imports and describes, without configuring it
    Inspect(InspectArgs),
}

#[derive(Subcommand)]
pub(crate) enum DetectorsCommand {
    /// List all detectors with their labels
    List(JsonArgs),
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// The loopback address to listen on; port 0 takes a free one. The first line of output is the gate's URL
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4141")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    /// Where requests go: https://host, http://host, or echo: for a built-in endpoint that answers with the request it got
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: UpstreamTarget,
}

#[derive(Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) output: ApplyOutput,
}

/// What to write instead of the bytes that would leave.
#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct ApplyOutput {
    /// Show each changed leaf, with redacted values masked
    #[arg(long)]
    pub(crate) diff: bool,
    /// Write the edits as JSON, one a line
    #[arg(long)]
    pub(crate) ops: bool,
    /// Write verdict, edits and what each rule did as JSON, blocked requests included
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct TreeArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Args)]
pub(crate) struct PolicyArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Args)]
pub(crate) struct InspectArgs {
    /// The plugin: a core module or a component
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Args)]
pub(crate) struct JsonArgs {
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct PolicyArg {
    /// A folder of rule files, `default` for the built-in policy, or `none`
    #[arg(long = "policy", value_name = "DIR|default|none", default_value = "default", value_parser = policy_source)]
    pub(crate) source: PolicySource,
}

/// Where a request comes from and how it is read.
#[derive(Args)]
pub(crate) struct RequestArgs {
    /// The wire format of the request; other JSON is `generic`
    #[arg(long, value_name = "FORMAT", default_value = "openai-chat",
          value_parser = PossibleValuesParser::new(["openai-chat", "generic"]))]
    pub(crate) format: String,
    /// The request body; `-` or nothing reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

fn policy_source(text: &str) -> Result<PolicySource, String> {
    Ok(match text {
        "default" => PolicySource::Default,
        "none" => PolicySource::None,
        "" => return Err("name a folder, `default` or `none`".to_owned()),
        folder => PolicySource::Folder(folder.into()),
    })
}

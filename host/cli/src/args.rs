//! The command line, exactly as it was typed.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use leafgate_admin::{OnDrift, RuntimeFile, SavedScope, TurnMode};
use leafgate_config::Layer;
use leafgate_gate::{UpstreamTarget, listen_address};
use leafgate_policy::PolicySource;
use leafgate_tree::Format;

use crate::agents::AgentsCommand;
use crate::chat::ChatCommand;
use crate::doctor;
use crate::except::{BaselineArgs, ExceptCommand};
use crate::explain::ExplainArgs;
use crate::known::KnownCommand;
use crate::log::cache::CacheArgs;
use crate::log::{KeepArgs, LogArgs};
use crate::plan::PlanArgs;
use crate::plugin::PluginCommand;
use crate::promote::PromoteArgs;
use crate::receipt::ReceiptCommand;
use crate::reveal::RevealArgs;
use crate::rule_tests::TestArgs;
use crate::runtime::{self, GateName};
use crate::scan::ScanArgs;
use crate::verify::VerifyArgs;

/// A gate for LLM requests: shows, edits and holds what leaves for a model.
#[derive(Parser)]
#[command(name = "leafgate", version, max_term_width = 100, after_help = EXIT_CODES)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, or the request is forwarded · 1 a check found what it looks for, or a test failed · 2 a bad call, input or policy, or a running gate that refuses or does not answer · \
3 the request waits for a person · 4 the request is blocked. `exec` ends with the code of its program.
Environment: LEAFGATE_DATA_DIR (where the installation's key and the log lie), LEAFGATE_RUNTIME_DIR (where running gates are found), \
LEAFGATE_<KEY> for every key of the configuration (LEAFGATE_LOG, LEAFGATE_LIMITS_BODY), NO_COLOR, VISUAL and EDITOR.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the gate before an upstream
    Run(RunArgs),
    /// Start a client behind a gate: Claude Code, Codex, or any program
    Exec(ExecArgs),
    /// Write what leads clients to a running gate: eval "$(leafgate env)"
    Env(EnvArgs),
    /// See whether clients really ask through a gate, and gates reach their upstreams
    Doctor(DoctorArgs),
    /// Show how a running gate is, and why its newest policy does not serve
    Status(GateArgs),
    /// Show which turns pause although no rule asks, or choose that
    Mode(ModeArgs),
    /// List the conversations, and choose the one to look at
    Sessions {
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// List what agents asked that others started
    Subagents(GateArgs),
    /// Show and choose the edits that are made in later turns too
    Saved {
        #[command(subcommand)]
        command: SavedCommand,
    },
    /// Have the saved edits of a project's own file count, as it is now
    Trust(TrustArgs),
    /// Look at the requests that wait for a person, and decide about them
    Review(ReviewArgs),
    /// Do the same call by call, for scripts
    Pending {
        #[command(subcommand)]
        command: PendingCommand,
    },
    /// Show what was redacted, and look into the log of requests and answers
    Log(LogArgs),
    /// Show what a provider could have read from its cache turn by turn, and what broke it
    Cache(CacheArgs),
    /// Write the signed receipts of the log, and check them
    Receipt {
        #[command(subcommand)]
        command: ReceiptCommand,
    },
    /// Show the value of a token that a running gate remembers; it is logged who asked
    Reveal(RevealArgs),
    /// Say what another policy would do with requests that were logged, or with given ones
    Plan(PlanArgs),
    /// Apply the policy to one request and write the bytes that would leave
    Apply(ApplyArgs),
    /// Check, show and export a team of agents, and give it a task
    Agents {
        #[command(subcommand)]
        command: AgentsCommand,
    },
    /// Make a request as a profile of the policy says, before any rule looks at it
    Compose(ComposeArgs),
    /// Show a request as sections and leaves, secrets masked
    Tree(TreeArgs),
    /// Plant secrets everywhere in some requests, and show that the policy lets none of them leave
    Verify(VerifyArgs),
    /// Find secrets and personal data in files
    Scan(ScanArgs),
    /// Say what a policy does, phase by phase; of a request, what each rule made of it and why
    Explain(ExplainArgs),
    /// Check a policy and say everything that is wrong with it
    Check(PolicyArgs),
    /// Write exceptions into a policy
    Except {
        #[command(subcommand)]
        command: ExceptCommand,
    },
    /// Allow what a policy finds in some requests today, so that it acts on what is new
    Baseline(BaselineArgs),
    /// Have a rule act that only counted, where the log says that it was not wrong
    Promote(PromoteArgs),
    /// Run the tests of a policy, and say what is noisy, missing or wrong
    Test(TestArgs),
    /// Begin, build, check, try and measure WebAssembly plugins
    Plugin {
        #[command(subcommand)]
        command: PluginCommand,
    },
    /// Work with the built-in detectors
    Detectors {
        #[command(subcommand)]
        command: DetectorsCommand,
    },
    /// Have your own secrets found wherever they stand
    Known {
        #[command(subcommand)]
        command: KnownCommand,
    },
    /// Redact sessions of Claude Code and Codex on disk (JSONL)
    Redact(RedactArgs),
    /// Convert raw messages, and show, redact and check VS Code chat exports
    Chat {
        #[command(subcommand)]
        command: ChatCommand,
    },
    /// Show the settings
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Write the schemas of what other programs read
    Schema {
        #[command(subcommand)]
        command: SchemaCommand,
    },
    /// Write a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual page
    Man,
    /// Print this message or the help of the given subcommand(s); `help rules`: the reference of rule
    /// files
    Help {
        /// The subcommand, or `rules`
        words: Vec<String>,
    },
}

#[derive(Subcommand)]
pub(crate) enum DetectorsCommand {
    /// List all detectors with their labels
    List(JsonArgs),
    /// Say what a detector looks for
    Explain(ExplainDetectorArgs),
}

#[derive(Args)]
pub(crate) struct ExplainDetectorArgs {
    /// The detector, as `detectors list` names it
    #[arg(value_name = "PACK/NAME")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Clone, Copy, Subcommand)]
pub(crate) enum SchemaCommand {
    /// The admin API as a JSON Schema: its calls, and the types of their bodies and answers
    Admin,
    /// The configuration file as a JSON Schema
    Config,
    /// Rule files as a JSON Schema, for editors: their keys, types, words and what they mean
    Rules,
}

/// Where settings come from beside the environment and the flags that have names of their own.
#[derive(Args, Default)]
pub(crate) struct ConfigArgs {
    /// A configuration file that wins against that of the user, or `none` for neither
    #[arg(long, value_name = "FILE|none")]
    pub(crate) config: Option<PathBuf>,
    /// Set any key of the configuration, as `limits.body=64MiB`; `leafgate config show` lists them
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Args)]
pub(crate) struct ConfigShowArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting, and where its value comes from
    Show(ConfigShowArgs),
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// The loopback address to listen on; port 0 takes a free one. The first line of output is the
    /// gate's URL [default: 127.0.0.1:4141]
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// A folder of rule files, `default` for the built-in policy, or `none` [default: default]
    #[arg(long, value_name = "DIR|default|none", value_parser = policy_source)]
    policy: Option<PolicySource>,
    /// Serve a policy only where it passes the tests in its folder: at the start, and at each change
    #[arg(long)]
    require_tests: bool,
    /// Where requests go: https://host, http://host, echo: for a built-in endpoint that answers with
    /// the request it got, or the name of an upstream of the configuration
    #[arg(long, value_name = "URL|NAME")]
    upstream: Option<String>,
    /// The file of the team that serves /agents/v1; without it, `agents.json` of the policy folder
    #[arg(long, value_name = "FILE")]
    agents: Option<PathBuf>,
    /// The folder whose saved edits of the workspace are used; without it, the present one
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The loopback address of the admin API, which `status`, `pending` and `review` ask [default:
    /// 127.0.0.1:0]
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    admin_listen: Option<SocketAddr>,
    /// Serve no admin API: paused requests then wait for nothing but their deadline
    #[arg(long, conflicts_with = "admin_listen")]
    no_admin: bool,
    /// Show the approval prompt in this terminal; the log goes to `run.log` in the data folder
    #[arg(long, conflicts_with = "no_admin")]
    pub(crate) review: bool,
    /// A command for `sh -c` when a request begins to wait. It reads LEAFGATE_TURN,
    /// LEAFGATE_SESSION, LEAFGATE_RULES and LEAFGATE_REASON, and nothing of what the request says
    #[arg(long, value_name = "CMD", conflicts_with = "no_admin")]
    notify_command: Option<String>,
    /// Answer the client of a cancelled request with the reason as the model's words, instead of an
    /// error
    #[arg(long)]
    answer_cancelled: bool,
    #[command(flatten)]
    keep: KeepArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    waiting: WaitingArgs,
}

impl RunArgs {
    /// Returns what the flags set.
    pub(crate) fn layer(&self) -> anyhow::Result<Layer> {
        let path = |path: &PathBuf| path.display().to_string();
        let WaitingArgs { pause_silence, pause_keepalive } = &self.waiting;
        let mut layer = Layer::default();
        for (flag, key, value) in [
            ("--listen", "listen", self.listen.map(|address| address.to_string())),
            ("--policy", "policy", self.policy.as_ref().map(policy_name)),
            ("--require-tests", "require-tests", self.require_tests.then(|| true.to_string())),
            ("--upstream", "upstream", self.upstream.clone()),
            ("--workspace", "workspace", self.workspace.as_ref().map(path)),
            ("--admin-listen", "admin.listen", self.admin_listen.map(|address| address.to_string())),
            ("--no-admin", "admin.enabled", self.no_admin.then(|| false.to_string())),
            ("--notify-command", "notify-command", self.notify_command.clone()),
            ("--agents", "agents", self.agents.as_ref().map(path)),
            ("--answer-cancelled", "answer-cancelled", self.answer_cancelled.then(|| true.to_string())),
            ("--pause-silence", "limits.silence", pause_silence.map(milliseconds)),
            ("--pause-keepalive", "limits.keepalive", pause_keepalive.map(milliseconds)),
        ] {
            if let Some(value) = value {
                layer.set_flag(flag, key, &value).map_err(anyhow::Error::msg)?;
            }
        }
        self.keep.add_to(&mut layer)?;
        Ok(layer)
    }
}

/// Returns a policy as settings name it.
pub(crate) fn policy_name(source: &PolicySource) -> String {
    match source {
        PolicySource::Default => "default".to_owned(),
        PolicySource::None => "none".to_owned(),
        PolicySource::Folder(folder) => folder.display().to_string(),
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

#[derive(Args)]
pub(crate) struct ExecArgs {
    /// The gate to use, where one runs: the port of its URL, or its runtime file. Without it, one
    /// that leads to the same place, or a new one that ends with the program
    #[arg(long, value_name = "PORT|FILE")]
    pub(crate) gate: Option<GateName>,
    /// A folder of rule files, `default` for the built-in policy, or `none`; without it, that of the
    /// gate that runs, or the built-in one
    #[arg(long, value_name = "DIR|default|none", value_parser = policy_source)]
    pub(crate) policy: Option<PolicySource>,
    /// Where requests go; without it, where the program would send them by itself
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<UpstreamTarget>,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// The client to try; without it, those that are installed
    pub(crate) client: Option<doctor::Known>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Args)]
pub(crate) struct EnvArgs {
    #[command(flatten)]
    pub(crate) gate: GateArgs,
}

/// How long clients of paused requests hear nothing; for tests, and for clients and proxies with
/// short timeouts.
#[derive(Args)]
pub(crate) struct WaitingArgs {
    /// How long a paused client that asked for a stream hears nothing
    #[arg(long, value_name = "SECONDS", hide = true, value_parser = seconds)]
    pub(crate) pause_silence: Option<Duration>,
    /// How long a begun stream is silent before a comment keeps it alive
    #[arg(long, value_name = "SECONDS", hide = true, value_parser = seconds)]
    pub(crate) pause_keepalive: Option<Duration>,
}

/// Which gate to ask, and how to print its answer.
#[derive(Args)]
pub(crate) struct GateArgs {
    /// The gate to ask, where several run: the port of its URL, or its runtime file
    #[arg(long = "gate", value_name = "PORT|FILE")]
    name: Option<GateName>,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl GateArgs {
    /// Finds the gate.
    pub(crate) fn find(&self) -> anyhow::Result<RuntimeFile> {
        runtime::find(&runtime::folder()?, self.name.as_ref())
    }

    /// The name that was given.
    pub(crate) fn name(&self) -> Option<&GateName> {
        self.name.as_ref()
    }

    /// Finds the gate that is named, or all that run.
    pub(crate) fn find_all(&self) -> anyhow::Result<Vec<RuntimeFile>> {
        runtime::find_all(&runtime::folder()?, self.name.as_ref())
    }
}

#[derive(Args)]
pub(crate) struct ModeArgs {
    /// The mode to choose; without it, the one in force is shown
    #[arg(value_parser = modes())]
    pub(crate) mode: Option<TurnMode>,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
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

#[derive(Args)]
pub(crate) struct ReviewArgs {
    /// The turn to look at; without it, all that wait
    pub(crate) id: Option<String>,
    /// Work line by line, for pipes and screen readers
    #[arg(long)]
    pub(crate) plain: bool,
    /// The gate to ask, where several run: the port of its URL, or its runtime file
    #[arg(long, value_name = "PORT|FILE")]
    pub(crate) gate: Option<GateName>,
}

#[derive(Subcommand)]
pub(crate) enum PendingCommand {
    /// List the turns that wait, oldest first
    List(GateArgs),
    /// Show a turn: why it waits, its sections and leaves with the names that edits go by, its
    /// digest
    Show(TurnArgs),
    /// Show what came against what would leave
    Diff(TurnArgs),
    /// Change a turn
    Edit(EditArgs),
    /// Let a turn go
    Resume(ResumeArgs),
    /// Give a turn up; its client gets an error
    Cancel(TurnArgs),
}

#[derive(Args)]
pub(crate) struct TurnArgs {
    /// The turn, as `pending list` names it
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
}

#[derive(Args)]
pub(crate) struct EditArgs {
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
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
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
    /// The digest of what was looked at: anything else is refused. Without it, what stands now is
    /// sent
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<String>,
}

#[derive(Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
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

#[derive(Args)]
pub(crate) struct ComposeArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    /// The profile; without it, the first one that is for the request
    #[arg(long, value_name = "ID")]
    pub(crate) profile: Option<String>,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Write JSON: the body, and each step with its source, size and digest
    #[arg(long)]
    pub(crate) json: bool,
}

/// The output in the place of the bytes that would leave.
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
    /// Write what was found as JSON, and no file to standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Files with one JSON value a line
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
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
    /// The format of the request; without it, the one whose shape it has, and what is no JSON is
    /// one raw text
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: Option<Format>,
    /// The request body; `-` or nothing reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Every mode by its name, told by its label.
fn modes() -> impl TypedValueParser<Value = TurnMode> {
    let value = |mode: &TurnMode| PossibleValue::new(mode.name()).help(mode.label());
    PossibleValuesParser::new(TurnMode::ALL.iter().map(value)).map(|name| {
        let mut modes = TurnMode::ALL.into_iter();
        modes.find(|mode| mode.name() == name).expect("only names of modes are possible")
    })
}

/// Parses a format by its name.
pub(crate) fn formats() -> impl TypedValueParser<Value = Format> {
    let value = |format: &Format| PossibleValue::new(format.name()).aliases(format.aliases());
    PossibleValuesParser::new(Format::ALL.iter().map(value))
        .map(|name| Format::from_name(&name).expect("only names of formats are possible"))
}

pub(crate) fn policy_source(text: &str) -> Result<PolicySource, String> {
    Ok(match text {
        "default" => PolicySource::Default,
        "none" => PolicySource::None,
        "" => return Err("name a folder, `default` or `none`".to_owned()),
        folder => PolicySource::Folder(folder.into()),
    })
}

/// Longest time of an option: no client waits for a day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

fn seconds(text: &str) -> Result<Duration, String> {
    let duration = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let usable = duration.filter(|time| (Duration::from_millis(1)..=LONGEST).contains(time));
    usable.ok_or_else(|| "give seconds, from 0.001 to 86400".to_owned())
}

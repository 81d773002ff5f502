//! The command line, exactly as it was typed. The commands stand here, in the order of the help;
//! their arguments in `options`, or beside the code of a command that has a module of its own.

mod meant;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::agents::AgentsCommand;
use crate::chat::ChatCommand;
use crate::doctor::DoctorArgs;
use crate::except::{BaselineArgs, ExceptCommand};
use crate::explain::ExplainArgs;
use crate::known::KnownCommand;
use crate::log::LogArgs;
use crate::log::cache::CacheArgs;
use crate::options::*;
use crate::parcel::SelfCommand;
use crate::plan::PlanArgs;
use crate::plugin::PluginCommand;
use crate::promote::PromoteArgs;
use crate::receipt::ReceiptCommand;
use crate::reveal::RevealArgs;
use crate::rule_tests::TestArgs;
use crate::scan::ScanArgs;
use crate::service::ServiceCommand;
use crate::verify::VerifyArgs;
use crate::vscode::VscodeCommand;

/// A gate for LLM requests: shows, edits and holds what leaves for a model.
#[derive(Parser)]
#[command(name = "leafgate", version, long_version = LONG_VERSION, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    // Without one, what runs is shown, and what to do next.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The commands as help lists them: each in one group, those of every day first.
const GROUPS: [(&str, &str); 5] = [
    ("Every day", "exec vscode status log except policy review mode off on doctor"),
    ("Policy", "check explain test apply plan baseline promote known detectors tree compose verify"),
    ("Record and files", "receipt reveal cache scan redact chat"),
    ("Authors and scripts", "plugin agents pending sessions subagents saved trust"),
    ("Operations", "start stop service run env config self schema completions man help"),
];

/// What the last of them does, which clap adds to the others.
const HELP: &str = "Print the help of a command; `help rules`: the reference of rule files";

/// The commands that write no JSON: they serve, start programs, write files or what others read as it is.
const WITHOUT_JSON: &str = "run, exec, start, stop, review, service install, service status, service remove, \
    service run, vscode on, vscode off, log export, receipt export, agents show, agents export, plugin new, \
    plugin dev, detectors import, schema admin, schema config, schema rules, completions, man";

/// What `--json` writes where that is more than what people see, or something else.
const JSON: [(&str, &str); 9] = [
    ("apply", "Write verdict, edits and what each rule did as JSON, blocked requests included"),
    ("plugin run", "Write verdict, edits and report as JSON"),
    ("compose", "Write JSON: the body, and each step with its source, size and digest"),
    ("redact", "Write what was found as JSON, and no file to standard output"),
    ("chat redact", "Write what was found as JSON, and no file to standard output"),
    ("chat wire", "Write `{\"wire\": …, \"dropped\": [{\"pointer\": …, \"reason\": …}]}`"),
    ("chat raw", "Write `{\"raw\": …, \"dropped\": [{\"pointer\": …, \"reason\": …}]}`"),
    ("chat messages", "Write `{\"messages\": …, \"dropped\": [{\"pointer\": …, \"reason\": …}]}`"),
    ("log tail", "Write a line of JSON for each"),
];

/// Returns the command line: its help in groups, and `--json` where commands take it.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command().mut_subcommands(|command| {
        let path = command.get_name().to_owned();
        with_json(command, &path)
    });
    let mut listed = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(listed, "{group}:");
        for name in names.split(' ') {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let _ = writeln!(
                listed,
                "  {name:11}  {}",
                about.map_or_else(|| HELP.to_owned(), ToString::to_string)
            );
        }
        listed.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}Options:\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// Adds `--json` to a command, or to those below it.
fn with_json(command: clap::Command, path: &str) -> clap::Command {
    let is_group = command.has_subcommands();
    let command = command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        with_json(below, &path)
    });
    // `log` shows something by itself.
    if is_group && path != "log" || WITHOUT_JSON.split(", ").any(|name| name == path) {
        return command;
    }
    let help = JSON.iter().find(|(name, _)| *name == path).map_or("Write JSON", |(_, help)| *help);
    command.arg(clap::Arg::new("json").long("json").action(clap::ArgAction::SetTrue).help(help))
}

/// A call of the program.
pub(crate) struct CommandLine {
    pub(crate) cli: Cli,
    /// Whether `--json` was said.
    pub(crate) is_json: bool,
}

/// Parses the call of this process.
pub(crate) fn parse() -> Result<CommandLine, clap::Error> {
    let matches = command().try_get_matches().map_err(meant::suggested)?;
    let mut called = &matches;
    while let Some((_, below)) = called.subcommand() {
        called = below;
    }
    let is_json = called.try_get_one::<bool>("json").ok().flatten().copied().unwrap_or(false);
    Ok(CommandLine { cli: Cli::from_arg_matches(&matches)?, is_json })
}

/// The version, and what it was built of: packages and source archives know no commit unless they say it.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit ",
    env!("BUILD_COMMIT"),
    "\nbuilt for ",
    env!("BUILD_TARGET"),
    ", ",
    env!("BUILD_PROFILE"),
);

const EXIT_CODES: &str = "\
Exit codes: 0 done, or the request is forwarded · 1 a check found what it looks for, or a test failed · 2 a bad call, input or policy, or a running gate that refuses or does not answer · \
3 the request waits for a person · 4 the request is blocked. `exec` ends with the code of its program.
Environment: LEAFGATE_DATA_DIR (where the installation's key and the log lie), LEAFGATE_RUNTIME_DIR (where running gates are found), \
LEAFGATE_<KEY> for every key of the configuration (LEAFGATE_LOG, LEAFGATE_LIMITS_BODY), NO_COLOR, VISUAL and EDITOR.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the gate before an upstream
    Run(RunArgs),
    /// Start a client behind a gate: claude, codex, copilot, gemini, code, or `-- PROGRAM`
    Exec(ExecArgs),
    /// Have VS Code and its kin ask models through the gate, and give their settings back
    #[command(subcommand)]
    Vscode(VscodeCommand),
    /// Have the gate of the user stand, which `exec` and editors share, until it is ended
    Start,
    /// End the gate that stands
    Stop(StopArgs),
    /// Have the system keep the gate running that stands: systemd, or launchd on macOS
    #[command(subcommand)]
    Service(ServiceCommand),
    /// Write what leads clients to a running gate: eval "$(leafgate env)"
    Env(GateArgs),
    /// See whether clients really ask through a gate, and gates reach their upstreams
    Doctor(DoctorArgs),
    /// Show how a running gate is, and why its newest policy does not serve
    Status(GateArgs),
    /// Show which turns pause although no rule asks, or choose that
    Mode(ModeArgs),
    /// Let everything pass as it comes for a while, five minutes where nothing is said
    Off(OffArgs),
    /// Have the policy look again before that while is over
    On(GateArgs),
    /// List the conversations, and choose the one to look at
    Sessions {
        #[command(flatten)]
        gate: GateArgs,
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// List what agents asked that others started
    Subagents(GateArgs),
    /// Show and choose the edits that are made in later turns too
    Saved {
        #[command(flatten)]
        source: SavedGateArgs,
        #[command(subcommand)]
        command: SavedCommand,
    },
    /// Have the saved edits of a project's own file count, as it is now
    Trust(TrustArgs),
    /// Look at the requests that wait for you, and approve, edit or cancel them
    Review(ReviewArgs),
    /// Decide about requests that wait call by call, for scripts
    Pending {
        #[command(flatten)]
        gate: GateArgs,
        #[command(subcommand)]
        command: PendingCommand,
    },
    /// Show what was redacted, and look into the log of requests and answers
    Log(LogArgs),
    /// Show what a provider could have read from its cache turn by turn, and what broke it
    Cache(CacheArgs),
    /// Write the signed receipts of the log, and check them
    #[command(subcommand)]
    Receipt(ReceiptCommand),
    /// Show the value of a token that a running gate remembers; it is logged who asked
    Reveal(RevealArgs),
    /// Say what another policy would do with requests that were logged, or with given ones
    Plan(PlanArgs),
    /// Apply the policy to one request and write the bytes that would leave
    Apply(ApplyArgs),
    /// Check, show and export a team of agents, and give it a task
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Make a request as a profile of the policy says, before any rule looks at it
    Compose(ComposeArgs),
    /// Show a request as sections and leaves, secrets masked
    Tree(TreeArgs),
    /// Plant secrets everywhere in some requests, and show that none of them leaves
    Verify(VerifyArgs),
    /// Find secrets and personal data in files
    Scan(ScanArgs),
    /// Say what a policy does, phase by phase, or what each rule made of a request
    Explain(ExplainArgs),
    /// Begin rules of your own, above the built-in ones
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Check a policy and say everything that is wrong with it
    Check(CheckArgs),
    /// Let a value pass that is a false alarm: an exception in your policy
    #[command(subcommand)]
    Except(ExceptCommand),
    /// Allow what a policy finds in some requests today, so that it acts on what is new
    Baseline(BaselineArgs),
    /// Have a rule act that only counted, where the log says that it was not wrong
    Promote(PromoteArgs),
    /// Run the tests of a policy, and say what is noisy, missing or wrong
    Test(TestArgs),
    /// Begin, build, check, try and measure WebAssembly plugins
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Work with the built-in detectors
    #[command(subcommand)]
    Detectors(DetectorsCommand),
    /// Have your own secrets found wherever they stand
    #[command(subcommand)]
    Known(KnownCommand),
    /// Redact sessions of Claude Code and Codex on disk (JSONL), and chat exports
    Redact(RedactArgs),
    /// Convert raw messages, and show, redact and check VS Code chat exports
    #[command(subcommand)]
    Chat(ChatCommand),
    /// Show the settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// See whether a file of a release is whole, and who signed it
    #[command(name = "self", subcommand)]
    Own(SelfCommand),
    /// Write the schemas of what other programs read
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Write a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual page
    Man {
        /// A folder that gets a page for each command instead
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group_of_the_help_and_in_one_line() {
        let program = command();
        let mut named: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.split(' ')).collect();
        let own = program.get_subcommands().map(clap::Command::get_name);
        let mut commands: Vec<&str> = own.chain(["help"]).collect();
        named.sort_unstable();
        commands.sort_unstable();
        assert_eq!(named, commands);
        let help = command().render_help().to_string();
        let listed = help.split("Options:").next().unwrap_or_default();
        assert!(listed.lines().all(|line| line.chars().count() <= 100), "{listed}");
    }

    /// Returns the names of all commands that do something.
    fn paths(command: &clap::Command, above: &str) -> Vec<String> {
        command
            .get_subcommands()
            .flat_map(|below| {
                let path = format!("{above} {}", below.get_name()).trim().to_owned();
                let mut paths = paths(below, &path);
                paths.extend((!below.has_subcommands()).then_some(path));
                paths
            })
            .collect()
    }

    #[test]
    fn what_is_said_of_json_is_about_commands() {
        command().debug_assert();
        let paths = paths(&command(), "");
        for name in WITHOUT_JSON.split(", ").chain(JSON.map(|(name, _)| name)) {
            assert!(paths.iter().any(|path| path == name), "{name}");
        }
        let with = |words: &[&str]| {
            let call = [&["leafgate"], words].concat();
            command().try_get_matches_from(call).is_ok()
        };
        assert!(with(&["log", "--json"]) && with(&["log", "diff", "--json"]));
        assert!(!with(&["start", "--json"]) && !with(&["log", "show", "1", "--body", "--json"]));
    }
}

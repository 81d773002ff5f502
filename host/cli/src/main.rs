//! `leafgate`: parses arguments, wires the crates together, prints, and maps outcomes to exit
//! codes. The decisions are made in the libraries.
//!
//! A command is a file, and its arguments stand in `args` or beside it. Whatever a person sees passes
//! `print`; what no rule redacted passes `masking` first.

mod admin;
mod agents;
mod apply;
mod args;
mod chat;
mod child;
mod client;
mod compose;
mod confine;
mod detectors;
mod doctor;
mod except;
mod exchange;
mod exit;
mod explain;
mod extract;
mod home;
mod inspect;
mod kept;
mod known;
mod log;
mod managed;
mod masking;
mod mode;
mod moments;
mod notify;
mod options;
mod overview;
mod parcel;
mod pending;
mod plan;
mod plugin;
mod policy;
mod print;
mod private;
mod promote;
mod providers;
mod receipt;
mod redact;
mod reload;
mod request;
mod reveal;
mod review;
mod rule_tests;
mod runtime;
mod saved;
mod scan;
mod serve;
mod service;
mod settings;
mod standing;
mod status;
mod stop;
mod team;
mod tree;
mod verify;
mod vscode;

use std::time::Duration;

use leafgate_admin::ApiError;
use serde_json::json;

use args::{Cli, Command, CommandLine};
use child::NotStarted;
use options::{ConfigCommand, PolicyCommand};
use print::{Exit, Printer};

fn main() -> std::process::ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let exit = match &arguments[..] {
        // What this program starts itself once more for.
        [word] if word == policy::COMPILE => policy::compile(),
        [word] if word == extract::EXTRACT => extract::serve(),
        #[cfg(target_os = "linux")]
        [word, rest @ ..] if word == confine::CONFINE => confine::run(rest),
        words => {
            let is_of_rules = words.get(..2).is_some_and(|words| words.iter().eq(["help", "rules"]));
            let mut printer = Printer::for_terminal();
            let ending =
                if is_of_rules { inspect::rules(&words[2..], &mut printer) } else { call(&mut printer) };
            ended(ending, &mut printer)
        }
    };
    exit.code().into()
}

/// Does what the call of this process says.
fn call(printer: &mut Printer) -> anyhow::Result<Exit> {
    let CommandLine { cli, is_json } = args::parse().unwrap_or_else(|error| refuse_call(&error));
    printer.is_json = is_json;
    run(cli, printer)
}

/// Ends a call that is none, or prints the help that was asked for. A word of the call may be a secret
/// that somebody pasted into the wrong place: what would repeat it masks it.
fn refuse_call(error: &clap::Error) -> ! {
    let said = error.to_string();
    let shown = if error.use_stderr() { masking::masked(&said) } else { said.clone() };
    if shown == said {
        error.exit();
    }
    Printer::for_terminal().error_line(shown.trim_end());
    std::process::exit(error.exit_code());
}

/// Ends a command: writes what it has printed, or why it failed. A closed output, as of `head`, is no
/// failure to report.
fn ended(ended: anyhow::Result<Exit>, printer: &mut Printer) -> Exit {
    let error = match ended.and_then(|exit| Ok(printer.flush().map(|()| exit)?)) {
        Ok(exit) => return exit,
        Err(error) => error,
    };
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_closed) {
        return Exit::Done;
    }
    let refused = error.downcast_ref::<ApiError>();
    if let (Some(refused), true) = (refused, printer.is_json) {
        // Programs read why a gate refused a call, or does not answer. Where it cannot be written, the code says enough.
        let _ = printer.json(&json!({ "error": refused }));
        return Exit::Bad;
    }
    let hint = refused.and_then(|refused| refused.hint.as_ref());
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    printer.error_line(&format!("leafgate: {error:#}{hint}"));
    error.downcast_ref::<NotStarted>().map_or(Exit::Bad, |program| program.exit)
}

fn run(cli: Cli, printer: &mut Printer) -> anyhow::Result<Exit> {
    let Some(command) = cli.command else { return overview::run(printer) };
    match command {
        Command::Run(args) => serve::run(&args, printer),
        Command::Exec(args) => client::exec::run(&args, printer),
        Command::Env(gate) => client::env::run(&gate, printer),
        Command::Start => standing::start(printer),
        Command::Stop(args) => standing::stop(&args, printer),
        Command::Service(command) => service::run(&command, printer),
        Command::Vscode(command) => vscode::run(&command, printer),
        Command::Doctor(args) => doctor::run(&args, printer),
        Command::Status(gate) => status::run(&gate, printer),
        Command::Mode(args) => mode::run(&args, printer),
        Command::Off(args) => mode::switch_off(&args.gate, args.time, printer),
        Command::On(gate) => mode::switch_off(&gate, Duration::ZERO, printer),
        Command::Sessions { gate, command } => mode::sessions(&gate, &command, printer),
        Command::Subagents(gate) => mode::subagents(&gate, printer),
        Command::Saved { source, command } => saved::run(&source, &command, printer),
        Command::Trust(args) => saved::trust::run(&args, printer),
        Command::Review(args) => review::run(&args, printer),
        Command::Log(args) => log::run(&args, printer),
        Command::Reveal(args) => reveal::run(&args, printer),
        Command::Plan(args) => plan::run(&args, printer),
        Command::Cache(args) => log::cache::run(&args, printer),
        Command::Receipt(command) => receipt::run(&command, printer),
        Command::Pending { gate, command } => pending::run(&gate, &command, printer),
        Command::Apply(args) => apply::run(&args, printer),
        Command::Agents(command) => agents::run(&command, printer),
        Command::Compose(args) => compose::run(&args, printer),
        Command::Tree(args) => tree::run(&args, printer),
        Command::Verify(args) => verify::run(&args, printer),
        Command::Scan(args) => scan::run(&args, printer),
        Command::Explain(args) => explain::run(&args, printer),
        Command::Policy(PolicyCommand::New { folder }) => policy::begin(folder, printer),
        Command::Check(args) => policy::check(&args, printer),
        Command::Except(command) => except::run(&command, printer),
        Command::Baseline(args) => except::baseline(&args, printer),
        Command::Promote(args) => promote::run(&args, printer),
        Command::Test(args) => rule_tests::run(&args, printer),
        Command::Plugin(command) => plugin::run(&command, printer),
        Command::Detectors(command) => detectors::run(&command, printer),
        Command::Known(command) => known::run(&command, printer),
        Command::Redact(args) => redact::run(&args, false, printer),
        Command::Chat(command) => chat::run(&command, printer),
        Command::Config(ConfigCommand::Show(config)) => settings::run(&config, printer),
        Command::Own(command) => parcel::run(&command, printer),
        Command::Schema(command) => inspect::schema(command, printer),
        Command::Completions { shell } => inspect::completions(shell, printer),
        Command::Man { folder } => inspect::man(folder.as_deref(), printer),
    }
}

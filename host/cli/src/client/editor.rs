//! VS Code and its kin. Their settings hold for all windows, and a window that runs keeps its
//! environment, so an editor is behind the one gate that stands, and only where its settings lead there.
//!
//! What is started in its terminals, and agents in it that are Copilot CLI, are led by the environment.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use leafgate_admin::Status;
use leafgate_config::Layer;

use super::PROVIDERS;
use super::choice::RunningGate;
use super::exec::past_proxies;
use crate::child::Program;
use crate::options::ExecArgs;
use crate::print::{Exit, Printer};
use crate::settings;
use crate::standing::{Need, Standing};
use crate::vscode::{self, Edition, EditorReport, SettingsFolder, not_seen};

/// Returns the edition that a program is.
pub(super) fn named(program: &OsStr) -> Option<&'static Edition> {
    Edition::of(Path::new(program).file_name()?.to_str()?)
}

/// Starts an editor behind the gate that stands.
pub(super) fn run(args: &ExecArgs, edition: &'static Edition, printer: &mut Printer) -> anyhow::Result<Exit> {
    if args.gate.is_some() || args.wants_own_gate() {
        bail!(
            "{} is behind the gate that stands, by its settings: options that name another gate are for other programs",
            edition.name
        );
    }
    let folders = match user_data_dir(&args.command) {
        Some(folder) => vec![SettingsFolder::at(&folder)],
        None => vscode::installed(Some(edition)),
    };
    let gate = Standing::lock()?.gate(Need::Standing, printer)?;
    let report = EditorReport::of(&folders)?;
    if let Some(problem) = report.problem() {
        bail!("{} is not started: {problem}", edition.name);
    }
    for beyond in report.beyond() {
        printer.error_line(&format!("leafgate: WARNING: {beyond}"));
    }
    let variables = variables(args, &gate, printer)?;
    printer.error_line(&format!(
        "leafgate: {} is behind {}, which looks with policy {}. {}",
        edition.name,
        gate.listen,
        gate.policy.source,
        not_seen()
    ));
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads that wait")?;
    runtime.block_on(async { Program::start(&args.command, &variables)?.ended().await })
}

/// Returns what leads programs in the editor to the gate.
fn variables(
    args: &ExecArgs,
    status: &Status,
    printer: &mut Printer,
) -> anyhow::Result<Vec<(&'static str, OsString)>> {
    let (running, settings) = (RunningGate::find()?, settings::load(&args.config, Layer::default())?);
    let mut variables = past_proxies().to_vec();
    for provider in &PROVIDERS {
        match provider.origin(&running, &settings)?.and_then(|origin| origin.through(status)) {
            Some(way) => variables.push((provider.variable, way.url.into())),
            None => printer.error_line(&format!(
                "leafgate: WARNING: {} leads past the gate, for programs in the editor's terminals",
                provider.variable
            )),
        }
    }
    Ok(variables)
}

/// Returns the folder that an editor is started with, where its settings are then.
fn user_data_dir(command: &[OsString]) -> Option<PathBuf> {
    const OPTION: &str = "--user-data-dir";
    let mut words = command.iter();
    while let Some(word) = words.next() {
        if word == OPTION {
            return words.next().map(PathBuf::from);
        }
        let named = word.to_str().and_then(|word| word.strip_prefix(OPTION)?.strip_prefix('='));
        if let Some(folder) = named {
            return Some(folder.into());
        }
    }
    None
}

//! `service`: the standing gate, kept running by the system: systemd of the user, or launchd on macOS.
//!
//! The manager starts `service run`, which waits until no other gate stands, serves in its place, and
//! reports that it does. What the manager reads is written from what the command was called with, so the
//! gate is the one that a person would have started.

mod files;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use clap::Subcommand;

use self::files::Manager;
use crate::client::exec::{NO_PROXY, PROXIES};
use crate::print::{Exit, Printer};
use crate::standing::{Standing, StandingRecord};
use crate::stop::Stop;
use crate::{home, private, serve, settings, standing};

#[derive(Subcommand)]
pub(crate) enum ServiceCommand {
    /// Have systemd or launchd keep the gate running, from each login on
    Install,
    /// Say whether it is kept running; exit code 1 where it is not
    Status,
    /// Take that back, and end the gate. Your data stay
    Remove,
    /// What the service runs
    #[command(hide = true)]
    Run,
}

pub(crate) fn run(command: &ServiceCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        ServiceCommand::Install => install(&Manager::of_system()?, printer),
        ServiceCommand::Status => status(&Manager::of_system()?, printer),
        ServiceCommand::Remove => remove(&Manager::of_system()?, printer),
        ServiceCommand::Run => stand(&Manager::of_system()?, printer),
    }
}

fn install(manager: &Manager, printer: &mut Printer) -> anyhow::Result<Exit> {
    // Whatever would keep it from starting is said here, and not in a journal.
    let settings = settings::of_user()?;
    standing::setup(&settings)?;
    let program = std::env::current_exe().context("this program cannot be found")?;
    let variables = variables(std::env::vars_os())?;
    let text = manager.text(&program, &variables)?;
    let (folder, name) = (manager.file.parent().context("no folder")?, manager.name);
    private::write(folder, name, text.as_bytes())
        .with_context(|| format!("{} cannot be written", manager.file.display()))?;
    printer.line(&format!("{} is written", manager.file.display()))?;
    let goes_on = Standing::lock()?.give_way()?;
    for command in if goes_on.is_some() { &manager.start_later } else { &manager.start } {
        call(command).with_context(|| {
            format!(
                "{} is written, and the gate is not started: `leafgate service remove` removes it",
                manager.file.display()
            )
        })?;
    }
    printer.line(&match goes_on {
        Some(listen) => {
            format!("The gate at {listen} is in use: the service takes its place once it has ended")
        }
        None => "The gate is kept running: `leafgate service status` shows it".to_owned(),
    })?;
    Ok(Exit::Done)
}

fn status(manager: &Manager, printer: &mut Printer) -> anyhow::Result<Exit> {
    let Some(file) = manager.read() else {
        printer.line("no service is installed: `leafgate service install` does it")?;
        return Ok(Exit::Unmet);
    };
    let (gate, shown) = (standing::running()?, file.display());
    let is_kept = gate.is_some() && StandingRecord::of_user()?.service.is_some();
    printer.line(&match gate {
        Some(gate) if is_kept => format!("{} is kept running by {shown}", gate.listen),
        _ if file != manager.file => format!("{shown} keeps no gate running: `{}`", manager.enable()),
        Some(gate) => {
            format!("{} was not started by the service, which waits for its end ({shown})", gate.listen)
        }
        None => format!("{shown} is written, and no gate runs: `{}`", manager.restart()),
    })?;
    Ok(if is_kept { Exit::Done } else { Exit::Unmet })
}

fn remove(manager: &Manager, printer: &mut Printer) -> anyhow::Result<Exit> {
    let Some(file) = manager.read() else {
        printer.error_line("leafgate: no service is installed");
        return Ok(Exit::Done);
    };
    let mut exit = Exit::Done;
    let mut done = |command: &[String], printer: &mut Printer| {
        if let Err(error) = call(command) {
            printer.error_line(&format!("leafgate: {error:#}"));
            exit = Exit::Bad;
        }
    };
    done(&manager.end, printer);
    let (shown, is_own) = (file.display(), file == manager.file);
    if is_own {
        private::remove(file.parent().context("no folder")?, manager.name)
            .with_context(|| format!("{shown} cannot be removed"))?;
    }
    if let Some(forget) = &manager.forget {
        done(forget, printer);
    }
    Standing::lock()?.leave_service()?;
    let removed = if is_own { "is removed" } else { "is a package's, and is removed with it" };
    printer.line(&format!("{shown} {removed}"))?;
    let own = home::own_file().and_then(|file| Some(file.parent()?.display().to_string()));
    printer.line(&format!(
        "Your data stay in {}, your settings and policy in {}",
        home::data_folder()?.display(),
        own.unwrap_or_else(|| "no folder, as HOME is not set".to_owned())
    ))?;
    Ok(exit)
}

/// Serves as the gate that stands, once no other one does.
fn stand(manager: &Manager, printer: &mut Printer) -> anyhow::Result<Exit> {
    let standing = Standing::alone(printer)?;
    let data = home::data_folder()?;
    std::env::set_current_dir(&data).with_context(|| format!("{} cannot be entered", data.display()))?;
    let settings = settings::of_user()?;
    let mut setup = standing::setup(&settings)?;
    setup.listen = standing.place(&settings, printer)?;
    let restart = manager.restart();
    let ready = move |gate: &serve::OpenGate, _: &Stop| {
        standing::serves(&gate.status().listen, Some(restart))?;
        standing.stay(true)
    };
    serve::until_stopped(setup, &settings, false, ready, printer)
}

/// What a gate reads of the environment beside its settings and the names of proxies.
const READ: [&str; 5] =
    ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Returns the variables that the gate would read here, folders of its own made absolute.
fn variables(all: impl Iterator<Item = (OsString, OsString)>) -> anyhow::Result<Vec<(String, String)>> {
    let mut variables = Vec::new();
    for (name, value) in all {
        let Ok(name) = name.into_string() else { continue };
        let mut read = READ.iter().chain(&PROXIES).chain(&NO_PROXY);
        if !name.starts_with("LEAFGATE_") && !read.any(|known| *known == name) {
            continue;
        }
        let is_folder = name.starts_with("LEAFGATE_") && name.ends_with("_DIR");
        let value = if is_folder { std::path::absolute(PathBuf::from(value))?.into() } else { value };
        match value.into_string() {
            Ok(value) if !value.contains(|c: char| c.is_control()) => variables.push((name, value)),
            _ => bail!(
                "the variable {name} cannot be handed to a service: it has other characters than those of a line"
            ),
        }
    }
    variables.sort();
    Ok(variables)
}

/// Runs a command of the manager.
fn call(command: &[String]) -> anyhow::Result<()> {
    let shown = command.join(" ");
    let output = Command::new(&command[0]).args(&command[1..]).output();
    let output = output.with_context(|| format!("`{shown}` cannot be run"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` failed ({}): {}", output.status, said.trim_end());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_reads_what_its_person_would() {
        let all = [
            ("HOME", "/home/ann"),
            ("LEAFGATE_LOG", "warn"),
            ("NO_PROXY", "x"),
            ("LEAFGATE_DATA_DIR", "data"),
        ];
        let read = variables(all.map(|(name, value)| (name.into(), value.into())).into_iter()).unwrap();
        let names: Vec<&str> = read.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["LEAFGATE_DATA_DIR", "LEAFGATE_LOG", "NO_PROXY"]);
        assert!(PathBuf::from(&read[0].1).is_absolute());
        let line = [("LEAFGATE_LOG".into(), "warn\nExecStart=x".into())];
        assert!(variables(line.into_iter()).is_err());
    }
}

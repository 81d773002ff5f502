//! Running other programs from the root of the repository.

use std::io::{IsTerminal as _, stderr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::paths;

/// A line that says what happens next.
pub(crate) fn step(what: &str) {
    println!("xtask: {what}");
}

/// The cargo that runs this program, as from a shell: what it told this program of its own package would have build scripts that
/// look at it run again, and all that stands on them built again. Nothing is kept for incremental builds, which takes 3 GB where all is
/// built once; a developer's own `cargo test -p` keeps it, beside what this builds.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let shown = name.to_string_lossy();
        if shown.starts_with("CARGO_PKG_") || shown.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    if std::env::var_os("CARGO_INCREMENTAL").is_none() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command.current_dir(paths::root());
    command
}

/// Installs a program from crates.io where this version of it is not there, unoptimised: it has little to do. Returns its folder.
pub(crate) fn installed(name: &str, version: &str, features: &[&str]) -> Result<PathBuf> {
    let folder = paths::target().join("tools").join(format!("{name}-{version}"));
    if !folder.join("bin").join(name).is_file() {
        step(&format!("installing {name} (minutes on two cores)"));
        let which = ["install", name, "--version", version, "--locked", "--debug", "--quiet"];
        let mut install = cargo();
        install.args(which).args(features).arg("--root").arg(&folder);
        run(install.arg("--target-dir").arg(folder.join("build")))?;
        // The program alone is used again.
        std::fs::remove_dir_all(folder.join("build")).with_context(|| format!("the build of {name}"))?;
    }
    Ok(folder.join("bin"))
}

/// Runs a program to its end, with this one's output.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("`{shown}` cannot be run"))?;
    ensure!(status.success(), "`{shown}` failed ({status})");
    Ok(())
}

/// The command at the lowest priority: it takes what others leave idle. It cannot be run where there is no `nice`.
pub(crate) fn idle(command: &Command) -> Command {
    let mut idle = Command::new("nice");
    idle.args(["-n", "19"]).arg(command.get_program()).args(command.get_args()).current_dir(paths::root());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => idle.env(name, value),
            None => idle.env_remove(name),
        };
    }
    idle
}

/// Runs a long build, and says every 15 seconds that it goes on; on a terminal cargo's own bar does so.
pub(crate) fn build(command: &mut Command) -> Result<()> {
    let start = Instant::now();
    let (ended, end) = channel::<()>();
    thread::scope(|scope| {
        if !stderr().is_terminal() {
            scope.spawn(move || {
                while end.recv_timeout(Duration::from_secs(15)) == Err(RecvTimeoutError::Timeout) {
                    step(&format!("still building, {} s", start.elapsed().as_secs()));
                }
            });
        }
        let built = run(command);
        drop(ended);
        built
    })
}

/// A command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let program = words[0].rsplit('/').next().unwrap_or_default();
    [&[program], &words[1..].iter().map(AsRef::as_ref).collect::<Vec<_>>()[..]].concat().join(" ")
}

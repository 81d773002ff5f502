//! The official npm packages, and coding agents, pinned by the lockfiles in `tests/clients/node` and `tests/clients/agents`, installed
//! below `target/`.
//!
//! Node looks for packages beside the script that imports them, so the scripts are copied to where the packages are; nothing is
//! installed into the work tree.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use leafgate_tests::{gate, paths};

use crate::run::{run, step};

/// The first version whose test runner can be told to run one file after the other.
const OLDEST: u32 = 20;

const LOCKFILE: &str = "package-lock.json";

/// The libraries.
pub(super) fn tests() -> Result<Command> {
    tests_in("node", |_| Ok(())).map(|(tests, _)| tests)
}

/// The agents, which are told where they are and what they are put behind.
pub(super) fn agents() -> Result<Command> {
    let (mut tests, folder) = tests_in("agents", |_| Ok(()))?;
    tests.env("LEAFGATE_AGENTS", folder.join("node_modules"));
    tests.env("LEAFGATE_BIN", gate::binary()?);
    tests.env("LEAFGATE_README", paths::root().join("README.md"));
    Ok(tests)
}

/// Prepares the tests of a folder, with what else is to be installed there; also returns where its packages are.
pub(super) fn tests_in(name: &str, further: impl FnOnce(&Path) -> Result<()>) -> Result<(Command, PathBuf)> {
    check_version()?;
    let (scripts, folder) = (paths::root().join("tests/clients").join(name), paths::target().join(name));
    fill(&scripts, &folder, further)?;
    let mut tests = Command::new("node");
    tests.args(["--test", "--test-concurrency=1", "--test-reporter=spec"]);
    tests.args(copy(&scripts, &folder)?).current_dir(&folder);
    Ok((tests, folder))
}

fn check_version() -> Result<()> {
    let output = Command::new("node").arg("--version").output().context("there is no node")?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    if major.is_none_or(|major: u32| major < OLDEST) {
        bail!("node is {version}, and the packages need {OLDEST} or newer");
    }
    Ok(())
}

/// Installs the packages where they are not up to date.
fn fill(scripts: &Path, folder: &Path, further: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let wanted = std::fs::read_to_string(scripts.join(LOCKFILE)).context("there is no lockfile")?;
    let installed = folder.join("installed-lock.json");
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let npm = Command::new("npm").arg("--version").stdin(Stdio::null()).output();
    npm.context("there is no npm")?;
    step("installing the npm packages");
    std::fs::create_dir_all(folder)?;
    for pinned in ["package.json", LOCKFILE] {
        std::fs::copy(scripts.join(pinned), folder.join(pinned))?;
    }
    install(folder, &["ci"])?;
    further(folder)?;
    Ok(std::fs::write(&installed, wanted)?)
}

/// Installs what the lockfile of a folder says. What packages do on installation is not needed, and so not run.
pub(super) fn install(folder: &Path, how: &[&str]) -> Result<()> {
    run(Command::new("npm")
        .args(how)
        .args(["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(folder))
}

/// Copies the scripts to the packages, and returns those that hold tests.
fn copy(scripts: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut tests = Vec::new();
    for entry in std::fs::read_dir(scripts)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".mjs") {
            std::fs::copy(&path, folder.join(&name))?;
        }
        if name.ends_with(".test.mjs") {
            tests.push(PathBuf::from(name));
        }
    }
    tests.sort();
    Ok(tests)
}

//! The official Python packages, pinned in `tests/clients/python/requirements.txt`, in a virtual environment of their own.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use leafgate_tests::paths;

use crate::run::{run, step};

/// All tests in one process: importing the packages takes longer than most tests.
pub(super) fn tests() -> Result<Command> {
    let environment = paths::target().join("venv");
    fill(&environment)?;
    // unittest reports on standard error; joined to standard output, where it is counted, with the name of each test.
    let mut tests = Command::new("sh");
    tests
        .args(["-c", "exec \"$0\" -m unittest discover --verbose 2>&1"])
        .arg(environment.join("bin/python"))
        .current_dir(folder())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(tests)
}

fn folder() -> std::path::PathBuf {
    paths::root().join("tests/clients/python")
}

/// Makes the environment where it is not up to date.
fn fill(environment: &Path) -> Result<()> {
    let pins = folder().join("requirements.txt");
    let wanted = std::fs::read_to_string(&pins).with_context(|| format!("cannot read {}", pins.display()))?;
    let installed = environment.join("installed-requirements.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    make(environment)?;
    step("installing the Python packages");
    run(Command::new(environment.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(&pins))?;
    Ok(std::fs::write(&installed, wanted)?)
}

fn make(environment: &Path) -> Result<()> {
    let output = Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(environment)
        .stdin(Stdio::null())
        .output()
        .context("there is no python3")?;
    if !output.status.success() {
        bail!("`python3 -m venv` does not work; the package python3-venv is probably missing");
    }
    Ok(())
}

//! Tests with real client libraries, in a Python environment of their own below `target/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use leafgate_tests::{in_ci, paths};

use crate::counts::{Counts, counted};
use crate::run::{run, step};

/// Each script is one client library against the gate; pinned versions stand in `requirements.txt` beside them.
const SCRIPTS: [&str; 2] = ["openai_chat.py", "held.py"];

/// For how many seconds a request is held in the soak: as long as a person may well take.
const SOAK_HOLD: &str = "60";

/// Runs the client tests; `None`, and a line that says why, where Python is missing. In CI they must run.
pub(crate) fn test(binary: &Path, long: bool) -> Result<Option<Counts>> {
    let Some(python) = environment()? else {
        return Ok(None);
    };
    let folder = paths::root().join("tests/clients");
    let mut counts = Counts::default();
    for script in SCRIPTS {
        step(&format!("running tests/clients/{script}"));
        // unittest reports on standard error; joined to standard output, where it is counted.
        let line = format!("exec '{}' '{script}' 2>&1", python.display());
        let mut command = Command::new("sh");
        command
            .args(["-c", &line])
            .current_dir(&folder)
            .env("LEAFGATE_BIN", binary)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        if long {
            command.env("LEAFGATE_HOLD", SOAK_HOLD);
        }
        counts.passed += counted(&mut command)?.passed;
    }
    Ok(Some(counts))
}

/// The interpreter of the environment, made and filled where it is not up to date.
fn environment() -> Result<Option<PathBuf>> {
    let folder = paths::target().join("venv");
    let python = folder.join("bin/python");
    let pins = paths::root().join("tests/clients/requirements.txt");
    let wanted = std::fs::read_to_string(&pins).with_context(|| format!("cannot read {}", pins.display()))?;
    let installed = folder.join("installed-requirements.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Ok(Some(python));
    }
    if let Err(why) = make(&folder) {
        if in_ci() {
            bail!("the client tests must run in CI: {why:#}");
        }
        step(&format!("skipped the client tests: {why:#}"));
        return Ok(None);
    }
    step("installing the client libraries");
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(&pins))?;
    std::fs::write(&installed, wanted)?;
    Ok(Some(python))
}

fn make(folder: &Path) -> Result<()> {
    let output = Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(folder)
        .stdin(Stdio::null())
        .output()
        .context("there is no python3")?;
    if !output.status.success() {
        bail!("`python3 -m venv` does not work; the package python3-venv is probably missing");
    }
    Ok(())
}
